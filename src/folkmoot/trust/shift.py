"""Liars that spare check rows: peers who agree with each other on the batch as they do not on checked rows.

Who recognises check rows can answer them well and lie elsewhere. Honest models agree on the batch about as
they agree on checked rows, pair by pair; liars that tell one story agree more there than they used to (or
less, if each tells its own), and less with everybody else. So the differences of the two tables of agreement,
doubly centred, have one direction that stands out; on the side on which agreement has changed more are those
who answer the batch unlike checked rows.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.arrays import Bools, Floats, Ints, Singles
from folkmoot.trust.vetting import best_cut

LEAST_BATCH: Final = 500  # inputs: below that honest agreement differs too much by chance
_OUTSTANDING: Final = 2.0  # times the second eigenvalue
_GAP: Final = 6.0  # between the sides, in deviations within them
_CHANGE: Final = 0.05  # by which agreement on one side must have changed more than on the other


def agreement(blocks: Singles) -> Floats:
    """(participant, participant): the share of rows on which two that voted name the same colour."""
    _, n, classes = blocks.shape
    cast: Bools = np.asarray(blocks.any(axis=2))
    named = blocks.argmax(axis=2)
    same = np.zeros((n, n))
    for colour in range(classes):
        hot = ((named == colour) & cast).astype(np.float32)
        same += hot.T @ hot
    there = np.asarray(cast, dtype=np.float32)
    both = there.T @ there
    return np.asarray(same / np.maximum(both, 1), dtype=np.float64)


def shifted(checked: Floats, batch: Floats) -> Bools | None:
    """(participant,): who agree with each other on the batch as they do not on checked rows, or None."""
    n = len(checked)
    change = batch - checked
    np.fill_diagonal(change, 0.0)
    level = change.sum(axis=1) / max(n - 1, 1)
    change = change - level[:, None] - level[None, :] + level.mean()
    np.fill_diagonal(change, 0.0)
    values, vectors = np.linalg.eigh(change)
    order = np.argsort(-np.abs(values))
    if n < 6 or values[order[0]] <= _OUTSTANDING * np.abs(values[order[1]]):
        return None
    along = vectors[:, order[0]]
    side, gap = best_cut(along)
    if gap <= _GAP:
        return None
    one, other = (abs(_inside(batch - checked, part)) for part in (side, ~side))
    if abs(one - other) <= _CHANGE:
        return None
    return side if one > other else ~side


def _inside(change: Floats, part: Bools) -> float:
    places: Ints = np.flatnonzero(part)
    block = change[np.ix_(places, places)]
    return float(block[~np.eye(len(places), dtype=bool)].mean())
