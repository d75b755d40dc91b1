"""Participants split in two groups along the direction in which they differ most."""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.arrays import Bools, Features, Floats, Ints

# A side has at least so many: two that differ from the rest are no group, and chance makes such pairs.
_LEAST: Final = 3
# Gap between the sides, in deviations within them. Less would part honest participants whose data differ, and
# their rows would be lost to each other; more would leave liars with right labels for each other undetected.
_GAP: Final = 4.5
# The same for changes of agreement, of which there are few causes; honest pairs differ by chance alone.
_CHANGE_GAP: Final = 6.0
# By how much agreement within one side must have changed more than within the other.
_CHANGE: Final = 0.05
# By how much more than the median participant's the agreement of a few with all others must fall from rows to
# inputs, also in standard errors, with so many participants, and rows and inputs: honest ones of unlike sites
# fall by less.
_FALL: Final = 0.1
_FALL_ERRORS: Final = 3.0
_FEWEST: Final = 5
_ENOUGH: Final = 20
# Inputs on which two copies have both voted: fewer make copies of two that are often right, more miss copies
# that vote on a third of the inputs each.
_COMMON: Final = 20
# Inputs below which honest agreement differs too much from that on rows to tell anything.
LEAST_BATCH: Final = 500


def copies(named: Ints, share: float = 0.97) -> Ints:
    """(participant,): the number of each group of copies, who name the same class on 97 of 100 inputs.

    Of the inputs on which both voted, which must be all of either or at least ``_COMMON``. A few honest
    models can agree that often on easy inputs; they then share one voice and lose little.
    """
    n = len(named)
    same = agreements(named)
    cast = (named >= 0).astype(np.float32)
    both = cast @ cast.T
    enough = np.minimum(_COMMON, np.maximum(np.diag(both)[:, None], np.diag(both)))
    group = np.full(n, -1)
    for j in range(n):
        if group[j] < 0:
            alike = (group < 0) & (both[j] >= enough[j]) & (same[j] >= share * both[j])
            group[alike] = j
            group[j] = j
    return np.unique(group, return_inverse=True)[1]


def agreements(named: Ints) -> Floats:
    """(participant, participant): on how many inputs two name the same class; -1 is none."""
    result = np.zeros((len(named), len(named)))
    for label in np.unique(named[named >= 0]).tolist():
        hot = (named == label).astype(np.float32)
        result += hot @ hot.T
    return result


def best_cut(values: Floats) -> tuple[Bools, float]:
    """The best two means on a line: a mask of those above, and the gap in standard deviations within."""
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


def sides(hits: Features, expected: Features, owner: Ints, voice: Floats) -> Bools | None:
    """(participant,): one of two sides of owners, by whom their rows prove right; None if there is one side.

    ``hits`` (row, participant) says how much more often than ``expected`` each is right by the owner's label.
    They are summed per owner over their binomial deviation; a side is cut along the first singular vector.
    """
    n = hits.shape[1]
    who = np.unique(owner[owner >= 0])
    if len(who) < 2 * _LEAST:
        return None
    places = np.searchsorted(who, owner)
    member = np.zeros((len(who), len(owner)), dtype=np.float32)
    member[places[owner >= 0], np.flatnonzero(owner >= 0)] = 1
    table = member @ hits / np.sqrt(np.maximum(member @ (expected * (1 - expected)), 0.25))
    table = (table - table.mean(axis=0)) * np.sqrt(voice)
    above, gap = best_cut(np.linalg.svd(table, full_matrices=False)[0][:, 0])
    if gap <= _GAP:
        return None
    side = np.zeros(n, dtype=np.bool_)
    side[who] = above
    return side


def changed(on_rows: Ints, on_inputs: Ints) -> Bools | None:
    """(participant,): who agree with each other on inputs as they do not on rows; None if nobody stands out.

    Liars that recognise shown rows can answer these well and lie elsewhere. Honest pairs agree on inputs
    about as often as on rows. So the change of agreement, doubly centred, has one direction that stands out,
    and on the side on which it is larger are those who answer inputs unlike rows.
    """
    n = len(on_rows)
    if n < 2 * _LEAST or on_inputs.shape[1] <= LEAST_BATCH:
        return _fallen(on_rows, on_inputs)
    change = _rates(on_inputs) - _rates(on_rows)
    np.fill_diagonal(change, 0.0)
    level = change.sum(axis=1) / (n - 1)
    centred = change - level[:, None] - level[None, :] + level.mean()
    np.fill_diagonal(centred, 0.0)
    values, vectors = np.linalg.eigh(centred)
    order = np.argsort(-np.abs(values))
    side, gap = best_cut(vectors[:, order[0]])
    if gap <= _CHANGE_GAP or abs(values[order[0]]) <= 2 * abs(values[order[1]]):
        return None
    one, other = (
        abs(change[np.ix_(part, part)].sum() / (part.sum() * (part.sum() - 1))) for part in (side, ~side)
    )
    if abs(one - other) <= _CHANGE:
        return None
    return side if one > other else ~side


def _fallen(on_rows: Ints, on_inputs: Ints) -> Bools | None:
    """(participant,): fewer than a third, whose agreement with the others falls far more than is usual.

    So a few liars among few participants are told, or with few inputs, if they lie on most of these.
    """
    if len(on_rows) < _FEWEST or min(on_rows.shape[1], on_inputs.shape[1]) < _ENOUGH:
        return None
    shares, errors = [], np.zeros(len(on_rows))
    for named in (on_rows, on_inputs):
        with_others = _rates(named)
        np.fill_diagonal(with_others, np.nan)
        share = np.nanmedian(with_others, axis=1)  # which fewer than half cannot move far
        shares.append(share)
        errors += np.maximum(share * (1 - share), 1 / named.shape[1]) / named.shape[1]
    fall = shares[0] - shares[1]
    fall = fall - np.median(fall)
    odd = (fall > _FALL) & (fall > _FALL_ERRORS * np.sqrt(errors))
    return np.asarray(odd) if 0 < 3 * odd.sum() < len(odd) else None


def _rates(named: Ints) -> Floats:
    cast = (named >= 0).astype(np.float32)
    return np.asarray(agreements(named) / np.maximum(cast @ cast.T, 1))
