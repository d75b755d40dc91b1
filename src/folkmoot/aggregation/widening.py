"""Peer review with further voters: it may accept more owners, and chooses which voters to hear.

A rule of one's own rows says nothing of far regions, which others know. So it accepts few owners there.
Labels that nobody contradicts may then be accepted, too:

1. Uncontradicted labels are not worse than in a random order (z > -1) by what other owners' nearest rows say.
2. Together they must go with each other, and not against the judge's own rows (z > 0).
3. They must predict the rows that it accepted before no worse than these alone.

So a majority that lies is not let in: it contradicts the judge's rows, or rows that these bear out. A further
voter, or a pair of them, is heard if rows that its rule had not seen are likelier by half a standard error.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np

from folkmoot.aggregation.nearby import Nearby
from folkmoot.aggregation.panel import PUBLIC, Panel, Review, log_chances, permutation_z
from folkmoot.arrays import Bools, Floats, Ints

NEARBY: Final = "nearby"
# Deviations below chance from which labels are contradicted. At -.5 honest regions are lost (-.03).
_CONTRADICTED: Final = -1.0
_ROUNDS: Final = 3
# How much better than in a random order all uncontradicted labels must go with each other, in deviations per
# root of a row. Without, false labels of unlike sites are let in (-.04).
_TOGETHER: Final = 0.2
# Standard errors by which the judge's rows must be predicted worse for others to be left out.
_WORSE: Final = 1.0
# Standard errors by which unseen rows must be likelier with a further voter.
_BETTER: Final = 0.5
_DOUBT: Final = 0.05  # of every forecast, so that no single row decides


def widened(panel: Panel, judge: int, accepted: Bools, allowed: Bools) -> tuple[Bools, tuple[str, ...], bool]:
    """The owners that a judge accepts, the voters that it hears, and whether its rows bear that out."""
    nearby = panel.voters.get(NEARBY)
    if isinstance(nearby, Nearby):
        more = accepted | _uncontradicted(nearby, allowed)
        if _borne_out(nearby, judge, accepted, more):
            heard = _heard(panel, more)
            # Sites that are alike need nobody from afar, and false labels would join many true ones (-.14).
            if NEARBY in heard:
                return more, heard, True
    return accepted, _heard(panel, accepted), False


def _uncontradicted(nearby: Nearby, allowed: Bools) -> Bools:
    accepted = allowed
    for _ in range(_ROUNDS):
        z = permutation_z(nearby.by_others(accepted), nearby.truth, nearby.owner, len(allowed))
        before, accepted = accepted, allowed & (z > _CONTRADICTED)
        if (before == accepted).all():
            break
    return accepted


def _borne_out(nearby: Nearby, judge: int, before: Bools, after: Bools) -> bool:
    """Whether the judge's rows, and those that it accepted, speak for accepting more."""
    owner, truth = nearby.owner, nearby.truth
    own = (owner == judge) | (owner == PUBLIC)
    said = nearby.by_others(after)
    there = (owner == PUBLIC) | after[owner]
    together = permutation_z(said, truth, np.where(there, 0, -1), 1)[0]
    if together <= _TOGETHER * np.sqrt(there.sum()) or not _goes_with(said[own], truth[own]):
        return False
    known = np.flatnonzero((owner == PUBLIC) | before[owner])
    change = _log_chances(said[known], truth[known]) - _log_chances(
        nearby.by_others(before)[known], truth[known]
    )
    return bool(change.mean() > -_WORSE * change.std() / np.sqrt(len(known)))


def _goes_with(said: Floats, truth: Ints) -> bool:
    """Whether labels are likelier than in a random order; of one class, than by chance."""
    if len(np.unique(truth)) > 1:
        return bool(permutation_z(said, truth, np.zeros(len(truth), dtype=np.int64), 1)[0] > 0)
    return bool(_log_chances(said, truth).mean() > -np.log(said.shape[1]))


def _heard(panel: Panel, accepted: Bools) -> tuple[str, ...]:
    """The voters with which rows that a rule had not seen are likeliest; the fewest that chance allows."""
    best: tuple[str, ...] = ()
    chances = _unseen(panel, accepted, best)
    names = tuple(panel.voters)
    for some in (each for many in range(1, len(names) + 1) for each in combinations(names, many)):
        likelier = _unseen(panel, accepted, some)
        change = likelier - chances
        if len(change) > 1 and change.mean() > _BETTER * change.std() / np.sqrt(len(change)):
            best, chances = some, likelier
    return best


def _unseen(panel: Panel, accepted: Bools, heard: tuple[str, ...]) -> Floats:
    """The log of how likely each accepted row's label is by a rule that had not seen it."""
    linear, rows = panel.rule(accepted, heard)
    review = Review(accepted, linear, rows, None, heard)
    chances = log_chances(panel.unseen(review), panel.truth[rows], panel.sharpness(review), panel.told(rows))
    # No row may decide alone: what is all but ruled out counts as a twentieth of chance.
    return np.maximum(chances, np.log(_DOUBT / panel.classes))


def _log_chances(said: Floats, truth: Ints) -> Floats:
    classes = said.shape[1]
    likely = said[np.arange(len(truth)), truth] + 1 / classes
    return np.asarray(np.log((1 - _DOUBT) * np.maximum(likely, 0.0) + _DOUBT / classes))
