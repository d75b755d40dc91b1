"""Peer review with further voters: it may accept more owners, and chooses which voters to hear.

A rule of one's own rows says nothing of far regions, which others know. So it accepts few owners there.
Owners may then be accepted, too, against whom nothing speaks:

1. Its labels are not worse than in a random order (z > -1), by rows of others that are as near as its own.
2. It is on the judge's side, where owners of more than ten participants fall into two sides (``panel``).
3. With all of these the rows accepted before are not much less likely, each left out in turn.

A further voter, or a pair of them, is heard if rows that its rule had not seen are likelier by half a
standard error.
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
# By how much less likely known rows may be, as a share of the log of the number of classes, or by a standard
# error if that is more: what is known of far regions blurs what is known of one's own. With .25 some of those
# with seven classes by region lose the others (-.03); without a limit three liars of five are let in (-.3).
_WORSE: Final = 0.35
# Standard errors by which unseen rows must be likelier with a further voter.
_BETTER: Final = 0.5
_DOUBT: Final = 0.05  # of every forecast, so that no single row decides


def widened(panel: Panel, accepted: Bools, allowed: Bools) -> tuple[Bools, tuple[str, ...]]:
    """The owners accepted in the end, of those on the judge's side, and the voters heard."""
    nearby = panel.voters.get(NEARBY)
    if isinstance(nearby, Nearby):
        # Among few owners chance cuts honest regions in two sides (-.1).
        more = accepted | (_uncontradicted(nearby) & (allowed | panel.few))
        if _borne_out(nearby, accepted, more):
            heard = _heard(panel, more)
            # Sites that are alike need nobody from afar, and false labels would join many true ones.
            if heard:
                return more, heard
    return accepted, _heard(panel, accepted)


def _uncontradicted(nearby: Nearby) -> Bools:
    """(participant,): whose labels rows of others nearby do not contradict."""
    many = nearby.votes.shape[1]
    accepted = np.ones(many, dtype=np.bool_)
    part = np.where(nearby.beside_others, nearby.owner, PUBLIC)
    for _ in range(_ROUNDS):
        z = permutation_z(nearby.by_others(accepted), nearby.truth, part, many)
        before, accepted = accepted, z > _CONTRADICTED
        if (before == accepted).all():
            break
    return accepted


def _borne_out(nearby: Nearby, before: Bools, after: Bools) -> bool:
    """Whether the rows that a judge accepted allow for accepting more."""
    known = _rows_of(nearby, before)
    if len(known) < 2:
        return False
    chances, were = (
        _log_chances(nearby.on_rows(each)[known].astype(np.float64), nearby.truth[known])
        for each in (after, before)
    )
    change = chances - were
    worse = max(_WORSE * np.log(nearby.votes.shape[2]), float(change.std() / np.sqrt(len(known))))
    return bool(change.mean() >= -worse)


def _rows_of(nearby: Nearby, accepted: Bools) -> Ints:
    return np.flatnonzero((nearby.owner == PUBLIC) | accepted[nearby.owner])


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
