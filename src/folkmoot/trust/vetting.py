"""Whose checked answers to learn from: tests of what a publisher claims against what a rule expects.

A publisher may claim wrong labels. A rule learnt from one's own rows predicts the labels of its rows; if its
claims are no nearer to the predictions than they would be in any other order, they teach nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Bools, Floats, Ints, Singles

BELIEVED: Final = 1.5  # standard deviations that claims must be nearer to the predictions than by chance
BELIEVED_OF_FEW: Final = 1.0  # the same of fewer than FEW rows
FEW: Final = 15
_SURE: Final = 2.5  # standard deviations from which a publisher counts as surely known
_CHANCE: Final = 0.067  # of a normal deviate above BELIEVED
_CHANCE_OF_FEW: Final = 0.159  # above BELIEVED_OF_FEW
_CHANCE_OF_SURE: Final = 0.006  # above _SURE
_BEYOND_CHANCE: Final = 3.5  # standard deviations
_SIDES: Final = 3  # directions in which publishers are told apart
_LEAST: Final = 3  # publishers on a side
_SHUFFLES: Final = 3
_GAP: Final = 4.5  # between the sides, in deviations within them
_STRUCTURE: Final = 1.3  # times the singular value of shuffles, for a direction to be looked at


def permutation_z(scores: Singles, claims: Ints) -> float:
    """How much better the claims go with the scores than in a random order, in standard deviations.

    The sum of ``scores[r, claims[r]]`` over all orders of the claims has a mean and a variance that are known
    exactly (Hoeffding): with d the matrix ``scores[r, claims[s]]``, doubly centred, the sum of its diagonal
    over the root of ``sum d^2 / (m - 1)``.
    """
    m = len(claims)
    if m < 2:
        return 0.0
    table = scores[:, claims].astype(np.float64)
    table = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
    variance = float((table**2).sum()) / (m - 1)
    return float(np.trace(table)) / np.sqrt(variance) if variance > 1e-12 else 0.0


def attainable(bound: npt.ArrayLike, rows: npt.ArrayLike) -> Floats:
    """The bound, or what so few rows can exceed: the z of m rows is at most sqrt(m - 1)."""
    return np.asarray(np.minimum(bound, 0.99 * np.sqrt(np.maximum(np.asarray(rows) - 1, 0))))


def believed(z: Floats, rows: Ints) -> Bools:
    """Which publishers pass, by their z and their number of rows."""
    bound = attainable(np.where(rows < FEW, BELIEVED_OF_FEW, BELIEVED), rows)
    return np.asarray((rows > 1) & (z > bound))


def more_than_chance(z: Floats, accepted: Bools, rows: Ints) -> bool:
    """Whether more publishers were accepted, or are surely known, than if no claim had to do with the rule.

    One's own rows lead the vetting, so a rule that knows them proves little by itself; but chance accepts
    only so many. ``z`` is by rules that had not seen the publisher, -inf for those not accepted.
    """
    there = rows > 1
    by_chance = np.where(rows < FEW, _CHANCE_OF_FEW, _CHANCE)
    by_chance = np.where(rows < 4, 1 / np.maximum(rows, 1), by_chance)[there]  # the best of few orders
    return _beyond(int(accepted[there].sum()), by_chance) or _beyond(
        int((z[there] > _SURE).sum()), np.full(int(there.sum()), _CHANCE_OF_SURE)
    )


def _beyond(count: int, chances: Floats) -> bool:
    return bool(count > chances.sum() + _BEYOND_CHANCE * np.sqrt((chances * (1 - chances)).sum()))


def sides(blocks: Singles, truth: Ints, rows_of: Sequence[Ints], voice: Floats) -> list[Bools]:
    """Ways to tell publishers apart by whom their rows prove right: (participant,) bools, at most three.

    Peer j hits a row if its vote is what the publisher claims. Hits less j's rate for the claimed colour,
    less the mean of the row, are summed per publisher over their binomial deviation. Along each of the first
    singular vectors the best cut in two is a way to tell publishers apart, if the gap is wide. Whether the
    two sides contradict each other is another question.
    """
    _, n, classes = blocks.shape
    cast: Bools = np.asarray(blocks.any(axis=2))
    hit = (blocks.argmax(axis=2) == truth[:, None]) & cast
    rate = np.zeros((n, classes), dtype=np.float32)
    for colour in range(classes):
        these = truth == colour
        rate[:, colour] = (hit[these].sum(axis=0) + 0.5) / (cast[these].sum(axis=0) + 1)
    expected = rate[:, truth].T
    residual = np.where(cast, hit - expected, 0)
    level = residual.sum(axis=1) / np.maximum(cast.sum(axis=1), 1)
    residual = np.where(cast, residual - level[:, None], 0)
    variance = np.where(cast, expected * (1 - expected), 0)
    who = [q for q in range(n) if len(rows_of[q])]
    if len(who) < 2 * _LEAST:
        return []
    sums, spread = (np.stack([part[rows_of[q]].sum(axis=0) for q in who]) for part in (residual, variance))
    table = sums / np.sqrt(np.maximum(spread, 0.25))
    table = (table - table.mean(axis=0)) * np.sqrt(voice).astype(np.float32)
    left, size, _ = np.linalg.svd(table, full_matrices=False)
    rng = np.random.default_rng(0)
    shuffled = [
        np.linalg.svd(rng.permuted(table, axis=0), compute_uv=False)[:_SIDES] for _ in range(_SHUFFLES)
    ]
    reference = np.mean(shuffled, axis=0)
    found = []
    for place in range(min(_SIDES, len(size))):
        above, gap = best_cut(left[:, place])
        if size[place] > _STRUCTURE * reference[place] and gap > _GAP:
            side = np.zeros(n, dtype=bool)
            side[who] = above
            found.append(side)
    return found


def best_cut(values: Floats) -> tuple[Bools, float]:
    """The best two means on a line, neither side of fewer than three: who is above, and the gap.

    The gap between the means is in standard deviations within the sides.
    """
    ordered = np.sort(values)
    n = len(ordered)
    count = np.arange(1, n)
    below = np.cumsum(ordered)[:-1]
    gaps = (ordered.sum() - below) / (n - count) - below / count
    between = gaps**2 * count * (n - count) / n
    between[: _LEAST - 1] = between[n - _LEAST :] = -1
    place = int(between.argmax())
    within = float(((ordered - ordered.mean()) ** 2).sum()) - float(between[place])
    gap = float(gaps[place]) / np.sqrt(max(within / n, 1e-18))
    return np.asarray(values > (ordered[place] + ordered[place + 1]) / 2), gap
