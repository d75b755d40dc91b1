"""Peer review of fitted models: whose rows are shown, what all vote on them, and truths that come later.

``ConsensusClassifier(trust="peer-review")`` learns from these whom to believe on what (docs/peer-review.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.learning.check_rows import ShownRows, label_kept, own_answers, published, shown_places
from folkmoot.learning.consensus_estimator import ConsensusEstimator
from folkmoot.learning.labels import as_colours, check_labels
from folkmoot.learning.participants import Task
from folkmoot.learning.probabilities import chances_of, soft_ballot_of
from folkmoot.learning.tables import rows_of
from folkmoot.old.ballot import ballot_of
from folkmoot.old.expert import ExpertModel
from folkmoot.trust import PUBLIC, CheckedAnswers, check_answers
from folkmoot.trust.panel import FEW_PARTICIPANTS
from folkmoot.votes import UNCOLOURED, Votes

PEER_REVIEW: Final = "peer-review"
PROBABILITIES: Final = "probabilities"


class PeerReviewing(ConsensusEstimator):
    """Base that shows rows, where that is asked for by name, and keeps what everybody voted on them."""

    trust: Literal["self-anchored", "peer-review"] | None
    voting: Literal["labels", "probabilities"]
    check_rows: int | Literal["all"]
    privacy: float | None
    expert: Any

    classes_: Array
    shown_: ShownRows | None

    @property
    def checked_(self) -> CheckedAnswers:
        """What everybody has been shown: votes on checked rows, their labels as published, and by whom."""
        check_is_fitted(self, "participants_")
        if self.shown_ is None:
            raise AttributeError(f"no rows were shown: fit with trust={PEER_REVIEW!r}")
        return self.shown_.checked

    def learn_truth(self, X: Any, y: Any) -> Self:
        """Learn from inputs whose truth became known: everybody can check it from now on.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs, which everybody votes on again.
        y : array-like, shape (input,)
            Their right labels, of ``classes_``.

        Returns
        -------
        ConsensusClassifier
            Itself, wiser.

        Raises
        ------
        ValueError
            If ``trust`` was not "peer-review" in ``fit``, or a label is none of ``classes_``.
        """
        check_is_fitted(self, "participants_")
        if self.shown_ is None:
            raise ValueError(f"learn_truth needs peer review: fit with trust={PEER_REVIEW!r}")
        X = self._check_again(X)
        self._add_public(X, y)
        return self

    @property
    def _reviewed(self) -> bool:
        """Whether peers are reviewed."""
        return isinstance(self.trust, str) and self.trust == PEER_REVIEW

    def _check_reference(self, reference: Any) -> None:
        self.shown_ = None
        if reference is None:
            return
        if not self._reviewed:
            raise ValueError(f"reference is for peer review: set trust={PEER_REVIEW!r}")
        if not (isinstance(reference, (tuple, list)) and len(reference) == 2):
            raise TypeError(
                f"reference must be (X, y), rows and their labels: got {type(reference).__name__}"
            )

    def _refer(self, reference: Any) -> None:
        """Add the public rows; complain if nothing was shown at all."""
        if reference is not None:
            self._add_public(self._check_again(reference[0]), reference[1])
        if self._reviewed and self.shown_ is None:
            raise ValueError(
                f"trust={PEER_REVIEW!r} needs rows that are shown: check_rows of at least 2, or a reference"
            )

    def _show(self, X: Any, y: Array, tasks: Sequence[Task], draw: np.random.Generator) -> None:
        """Let everybody show some of its rows, and all vote on them."""
        shown = [shown_places(task.y, self.check_rows, draw) for task in tasks]
        whole = [np.arange(len(y)) if task.places is None else task.places for task in tasks]
        rows = np.concatenate([places[own] for places, own in zip(whole, shown, strict=True)])
        publisher = np.repeat(np.arange(len(tasks)), [len(own) for own in shown])
        few = len(tasks) <= FEW_PARTICIPANTS
        answers = (
            self._everybody(
                own_answers,
                [
                    (task, participant, own, self.classes_, self._hands_in_probabilities)
                    for task, participant, own in zip(tasks, self.participants_, shown, strict=True)
                ],
                None,
            )
            if few
            else None
        )
        self._publish(rows_of(X, rows), y[rows], publisher, draw, answers)

    def _publish(
        self,
        X: Any,
        y: Array,
        publisher: Ints,
        draw: np.random.Generator,
        own: Sequence[Votes | Floats | None] | None = None,
    ) -> None:
        """Everybody's votes on rows with known publishers; ``own`` replaces those of the publishers."""
        if not len(y):
            return
        truth, classes = as_colours(y, self.classes_), len(self.classes_)
        votes = self._votes_on(X)
        for q, said in enumerate(own or ()):
            mine = publisher == q
            votes[q, mine] = said if said is not None else (0 if votes.ndim == 3 else UNCOLOURED)
        told = np.where(publisher == PUBLIC, truth, published(truth, self.privacy, classes, draw))
        kept = label_kept(self.privacy, classes)
        checked = check_answers(votes, told, publisher, classes=classes, kept=kept)
        self.shown_ = ShownRows(X, checked)

    def _add_public(self, X: Any, y: Any) -> None:
        labels = check_labels(y)
        check_consistent_length(X, labels)
        truth = as_colours(labels, self.classes_)
        if (truth == UNCOLOURED).any():
            stranger = labels[int(np.flatnonzero(truth == UNCOLOURED)[0])]
            raise ValueError(
                f"y must hold classes of the moot: got {str(stranger)!r}, which nobody has learnt"
            )
        public = np.full(len(truth), PUBLIC)
        checked = check_answers(self._votes_on(X), truth, public, classes=len(self.classes_))
        self.shown_ = ShownRows(X, checked) if self.shown_ is None else self.shown_.and_also(X, checked)

    def _check_expert(self) -> None:
        if self.expert is None:
            return
        if not self._reviewed:
            raise ValueError(f"expert is for peer review: set trust={PEER_REVIEW!r}, or expert=None")
        if isinstance(self.expert, type) or not (
            hasattr(self.expert, "fit") and hasattr(self.expert, "predict")
        ):
            raise TypeError(
                "expert must be a model to fit to the rows that are shown, such as RandomForestClassifier(): "
                f"got {self.expert!r}"
            )

    def _expert(self, new: Any, checked: CheckedAnswers) -> ExpertModel:
        """The expert that learns from these checked answers, and answers new inputs."""
        if self.shown_ is None:
            raise ValueError(f"expert needs rows that are shown: fit with trust={PEER_REVIEW!r}")
        return ExpertModel(self.expert, self.shown_.X, checked, new, self.seed_, self.shown_.fitted)

    @property
    def _hands_in_probabilities(self) -> bool:
        return isinstance(self.voting, str) and self.voting == PROBABILITIES

    def _votes_on(self, X: Any) -> Any:
        """(participant, row) colours, or (participant, row, class) probabilities; none where one fails."""
        names = [participant.name for participant in self.participants_]
        if not self._hands_in_probabilities:
            return ballot_of(self._ask(X), self.classes_, names).votes
        soft = soft_ballot_of(self._ask(X, chances_of, self.classes_), self.classes_, names)
        chances = np.zeros((len(names), *soft.chances.shape[1:]), dtype=np.float32)
        chances[soft.there] = soft.chances
        return chances
