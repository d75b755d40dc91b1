"""REVEALING in a motion with a review: check rows are opened, and a node learns from them whom to believe.

What each node makes of them is the rule of ``folkmoot.trust.review``, in ``judge_by_review``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.network.session.comparing import Comparing
from folkmoot.network.session.judgement import Judgement, heard_inputs, most_heard
from folkmoot.network.session.minutes import CheckRows, Minutes
from folkmoot.network.session.opening import Opening
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.revealing import Revealing
from folkmoot.network.session.stance import Stance
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.review import OwnerMap
from folkmoot.trust import CheckedAnswers, check_answers, review_all
from folkmoot.trust.review import leads
from folkmoot.votes import UNCOLOURED


class Reviewing(Revealing):
    """The first votes of all, the map of owners, and the labels of check rows."""

    def __init__(
        self, minutes: Minutes, patience: Patience, stance: Stance, comparing: Comparing, opening: Opening
    ) -> None:
        super().__init__(minutes, patience, stance, comparing)
        self._opening = opening

    def begin(self, now: float) -> None:
        """The votes are fixed: the asker opens its map, and who has it the labels of its rows."""
        super().begin(now)
        self._opening.open_map()
        self._opening.open_labels()

    def _own_first(self) -> Colours:
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
    votes: Colours,
    motion: Motion,
    checked: CheckRows | None,
    owners: OwnerMap | None,
    before: CheckedAnswers | None,
) -> Judgement:
    """Learn from check rows, and say what to begin the talk with.

    ``votes`` (participant, row) are the first votes on all rows; ``before`` are those on inputs of former
    motions whose truth this node was told. A node that finds no anchor trusts nobody and is silent.

    In the talk it asks by the weights of its rule. They say little of whom to go with in the end: liars that
    are always wrong are read backwards, and then honest peers may weigh nothing. So it decides what those
    hold as well whose rows it has learnt from (``believed``); of truths alone, those who know these.
    """
    everybody, classes = votes.astype(np.int64), motion.classes
    if owners is None and motion.review is not None and motion.review.asked:
        return _nobody(len(votes), motion.asked, "not anchored: the asker has not opened its check rows")
    batch = everybody if owners is None else everybody[:, owners.asked]
    parts: list[CheckedAnswers] = []
    if checked is not None and checked.rows.size:
        said = everybody[:, checked.rows]
        parts.append(check_answers(said, checked.truth, checked.publisher, classes=classes))
    if before is not None:
        parts.append(before)
    if not parts:
        return _nobody(len(votes), motion.asked, "not anchored: there are no rows whose truth is known")
    known = _joined(parts)
    if not (batch[place] != UNCOLOURED).any():
        return _nobody(len(votes), motion.asked, "not anchored: its model has no vote on any input")
    most = most_heard(len(votes), classes)
    (review,) = review_all(known, judges=[place], batch=batch[:, heard_inputs(batch.shape[1], most)])
    if not review.anchored:
        return _nobody(len(votes), motion.asked, review.why)
    blocks = [batch[:, i : i + most] for i in range(0, batch.shape[1], most)]
    start = np.concatenate([review.decide(block) for block in blocks]).astype(np.int8)
    sure = np.concatenate([leads(review.scores(block)) for block in blocks]).astype(np.float32)
    voted = (batch != UNCOLOURED).any(axis=1)
    weights = np.where(voted, review.weight, 0.0)  # nobody asks who has nothing to tell
    believed = np.where(np.arange(len(votes)) == place, False, review.accepted).astype(np.float64)
    if not believed.any():  # taught by truths alone: then those who are right more often than a guess
        right = (known.votes == known.truth).sum(axis=1) * classes > (known.votes != UNCOLOURED).sum(axis=1)
        believed = np.where(np.arange(len(votes)) == place, False, right).astype(np.float64)
    return Judgement(weights, start, sure, review.anchored, review.why, believed)


def _joined(parts: Sequence[CheckedAnswers]) -> CheckedAnswers:
    known = parts[0]
    for more in parts[1:]:
        known = known.and_also(more)
    return known


def _nobody(participants: int, inputs: int, why: str) -> Judgement:
    nothing = np.full(inputs, UNCOLOURED, dtype=np.int8)
    return Judgement(np.zeros(participants), nothing, np.zeros(inputs, dtype=np.float32), False, why)
