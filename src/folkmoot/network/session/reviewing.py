"""REVEALING in a motion with a review: check rows are opened, and a node learns from them whom to believe.

What each node makes of them is the rule of ``folkmoot.trust.review``, in ``judge_by_review``; of numbers see
``reviewing_numbers.py``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from folkmoot.arrays import Array, Bools, Ints, Singles
from folkmoot.network.session.comparing import Comparing
from folkmoot.network.session.judgement import Judgement, heard_inputs, judge, most_heard
from folkmoot.network.session.minutes import CheckRows, Minutes
from folkmoot.network.session.opening import Opening
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.revealing import Revealing
from folkmoot.network.session.stance import Shown
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.review import OwnerMap
from folkmoot.trust import Anchor, CheckedAnswers, check_answers, review_all
from folkmoot.trust.checked import labels_of
from folkmoot.trust.review import leads
from folkmoot.votes import UNCOLOURED, from_levels


class Reviewing(Revealing):
    """The first votes of all, the map of owners, and the labels of check rows."""

    def __init__(
        self, minutes: Minutes, patience: Patience, stance: Shown, comparing: Comparing, opening: Opening
    ) -> None:
        super().__init__(minutes, patience, stance, comparing)
        self._opening = opening

    def begin(self, now: float) -> None:
        """The votes are fixed: the asker opens its map, and who has it the labels of its rows."""
        super().begin(now)
        self._opening.open_map()
        self._opening.open_labels()

    def _own_first(self) -> Array:
        minutes = self._minutes
        return minutes.motion.form.unpack_first(minutes.own.first)

    def _lacking(self, live: list[int]) -> set[int]:
        return self._opening.lacking(live) if self._has_rows else set()

    def _remind(self, peer: int) -> None:
        self._opening.ask(peer)

    def _prepare_study(self) -> None:
        minutes = self._minutes
        if self._has_rows:
            minutes.late |= self._comparing.late_at(minutes.motion.asker) - {minutes.seat.place}
            minutes.checked = self._opening.checked()

    @property
    def _has_rows(self) -> bool:
        review = self._minutes.motion.review
        return review is not None and review.asked > 0


def judge_by_review(
    place: int,
    votes: Array,
    motion: Motion,
    checked: CheckRows | None,
    owners: OwnerMap | None,
    before: CheckedAnswers | None,
    anchor: Anchor | None,
) -> Judgement:
    """Learn from check rows, and say what to begin the talk with.

    ``votes`` are the first votes on all rows: colours (participant, row) or levels of probabilities
    (participant, row, colour); ``before`` are those on inputs of former motions whose truth this node was
    told. A node that finds no anchor there, such as one that shows no rows,
    listens as in a motion with trust, if its own holdout (``anchor``) is enough for that. Else it trusts
    nobody and is silent.
    """
    if owners is None and motion.review is not None and motion.review.asked:
        return _nobody(len(votes), motion, "not anchored: the asker has not opened its check rows")
    everybody = ballots_of(votes)
    batch = everybody if owners is None else everybody[:, owners.asked]
    if not _voted(batch)[place].any():
        return _nobody(len(votes), motion, "not anchored: its model has no vote on any input")
    found = _reviewed(place, batch, _known(everybody, checked, before, motion.classes), motion)
    if found.anchored or anchor is None:
        return found
    heard = judge(place, labels_of(batch).astype(np.int8), anchor, motion.classes)
    if not heard.anchored:
        return found
    return replace(heard, why=f"{found.why}; so it has listened: {heard.why}")


def _known(
    everybody: Ints | Singles, checked: CheckRows | None, before: CheckedAnswers | None, classes: int
) -> CheckedAnswers | None:
    """All rows whose truth is known, with everybody's votes on them; None if there are none."""
    if checked is None or not checked.rows.size:
        return before
    truth = checked.truth.astype(np.int64)
    said = check_answers(everybody[:, checked.rows], truth, checked.publisher, classes=classes)
    return said if before is None else said.and_also(before)


def _reviewed(place: int, batch: Ints | Singles, known: CheckedAnswers | None, motion: Motion) -> Judgement:
    """What the rule of peer review makes of checked answers.

    In the talk a node asks by the weights of its rule. They say little of whom to go with in the end: liars
    that are always wrong are read backwards, and then honest peers may weigh nothing. So it decides what
    those hold as well whose rows it has learnt from (``believed``); of truths alone, those who know these.
    """
    if known is None:
        return _nobody(len(batch), motion, "not anchored: there are no rows whose truth is known")
    most = most_heard(len(batch), motion.classes)
    (review,) = review_all(known, judges=[place], batch=batch[:, heard_inputs(batch.shape[1], most)])
    if not review.anchored:
        return _nobody(len(batch), motion, review.why)
    blocks = [batch[:, i : i + most] for i in range(0, batch.shape[1], most)]
    start = np.concatenate([review.decide(block) for block in blocks]).astype(np.int8)
    sure = np.concatenate([leads(review.scores(block)) for block in blocks]).astype(np.float32)
    voted = _voted(batch).any(axis=1)
    weights = np.where(voted, review.weight, 0.0)  # nobody asks who has nothing to tell
    others = np.arange(len(batch)) != place
    believed = others & review.accepted
    if not believed.any():
        said = labels_of(known.votes)
        right, told = (said == known.truth).sum(axis=1), (said != UNCOLOURED).sum(axis=1)
        believed = others & (right * motion.classes > told)
    return Judgement(weights, start, sure, review.anchored, review.why, believed.astype(np.float64))


def ballots_of(votes: Array) -> Ints | Singles:
    """First votes as the rule of peer review takes them: colours, or probabilities that are 0 for none."""
    if votes.ndim == 2:
        return votes.astype(np.int64)
    there = (votes >= 0).all(axis=2, keepdims=True)
    return np.where(there, from_levels(np.maximum(votes, 0)), 0.0).astype(np.float32)


def _voted(ballots: Ints | Singles) -> Bools:
    return np.asarray(labels_of(ballots) != UNCOLOURED)


def _nobody(participants: int, motion: Motion, why: str) -> Judgement:
    nothing = np.full(motion.asked, UNCOLOURED, dtype=np.int8)
    return Judgement(np.zeros(participants), nothing, np.zeros(motion.asked, dtype=np.float32), False, why)
