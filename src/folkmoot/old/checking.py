"""Rows that participants show each other: how far everybody is off on everybody's, by its owner's numbers.

A participant is measured on its own rows by models that had not seen them. With ``weights="holdout"`` owners
keep their numbers to themselves and only the mean errors are kept; with ``"peer-review"`` they publish them,
and all answers are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from folkmoot.adversaries import NumberAdversary
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.learning.composition import has_names
from folkmoot.learning.consensus_estimator import ConsensusEstimator, rows_by_group
from folkmoot.learning.participants import numbers_like
from folkmoot.learning.tables import check_inputs, stacked
from folkmoot.simulation.checked_numbers import open_by_reviews, open_by_weights
from folkmoot.trust import PUBLIC, CheckedNumbers, NumberReview, review_numbers
from folkmoot.trust.number_review import weights_by_errors

PEER_REVIEW: Final = "peer-review"
WEIGHTS: Final = ("holdout", PEER_REVIEW)


@dataclass(frozen=True, eq=False)
class Checked:
    """What each participant has seen of all."""

    squares: Floats
    """(participant, peer): the mean squared error of each on the rows of each; nan where it failed."""
    rows: Ints
    """(participant,): how many rows it showed."""
    answers: Floats | None = None
    """(participant, row, output): with peer review, what everybody answered; nan where one failed."""
    truth: Floats | None = None
    """(row, output): with peer review, the numbers that their owners publish."""
    publisher: Ints | None = None
    """(row,): whose they are; -1 where all rows are everybody's."""
    learnt: dict[tuple[int, ...], list[NumberReview]] = field(default_factory=dict, init=False, repr=False)
    """What reviews have learnt from these rows so far, by who was there and how many may lie."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"learnt": {}}


class CheckingEstimator(ConsensusEstimator):
    """Base of ``ConsensusRegressor``: participants that weigh each other's numbers by rows that they show."""

    rule: str
    weights: Literal["holdout", "peer-review"] | None

    checked_: Checked

    def _check_weights(self) -> None:
        if self.weights is None:
            return
        if not (isinstance(self.weights, str) and self.weights in WEIGHTS):
            raise ValueError(
                f"weights must be {' or '.join(map(repr, WEIGHTS))} or None: got {self.weights!r}"
            )
        if self.rule != "trimmed-mean":
            raise ValueError(f"weights={self.weights!r} needs rule='trimmed-mean': got rule={self.rule!r}")

    def _check_rows(self, X: Any, y: Any) -> tuple[Any, Floats]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "fit(X, y), or prefit=True for models that are fitted already"
            )
        X = check_inputs(self, X, reset=True)
        values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
        if values.ndim == 2 and values.shape[1] == 1:
            values = column_or_1d(values, warn=True)
        check_consistent_length(X, values)
        return X, values

    def _opened(
        self, values: Floats, there: list[int], adversaries: Mapping[int, NumberAdversary], trim: int
    ) -> Floats:
        """What those who are there open with, by what they have seen of each other."""
        if not hasattr(self, "checked_"):
            raise ValueError(f"weights={self.weights!r} must be given before fit, which measures them")
        squares, rows = self.checked_.squares, self.checked_.rows
        weights = np.stack([weights_by_errors(squares[i, there], int(rows[i])) for i in there])
        if self.weights != PEER_REVIEW:
            return open_by_weights(values, weights, adversaries, trim)
        return open_by_reviews(values, self._reviews_among(there, trim), weights, adversaries)

    def reviews(self) -> list[NumberReview]:
        """Tell what each participant has learnt of everybody's numbers, by peer review.

        Returns
        -------
        list of NumberReview
            The rule of each participant; ``why`` says what it rests on.

        Raises
        ------
        ValueError
            If ``weights`` is not "peer-review", or was not in ``fit``.
        """
        check_is_fitted(self, "participants_")
        if self.weights != PEER_REVIEW:
            raise ValueError(f"there are reviews only with peer review: set weights={PEER_REVIEW!r}")
        n = len(self.participants_)
        return self._reviews_among(list(range(n)), self._trimmed(n))

    def _reviews_among(self, there: list[int], trim: int) -> list[NumberReview]:
        """The rules of those who are there, learnt from all rows that they have answered and published."""
        seen = self.checked_
        answers, truth, publisher = seen.answers, seen.truth, seen.publisher
        if answers is None or truth is None or publisher is None:
            raise ValueError(f"weights={PEER_REVIEW!r} must be given before fit, which shows rows")
        key = (*there, trim)
        if key not in seen.learnt:
            place = np.full(len(answers) + 1, PUBLIC)  # the last is that of public rows
            place[there] = np.arange(len(there))
            kept = (publisher == PUBLIC) | np.isin(publisher, there)
            kept &= np.isfinite(answers[there]).all(axis=(0, 2))
            checked = CheckedNumbers(answers[there][:, kept], truth[kept], place[publisher[kept]], trim)
            seen.learnt[key] = review_numbers(checked)
        return list(seen.learnt[key])

    def _rows_of_prefit(self, y: Array, groups: Any) -> list[Ints]:
        """The rows of each of the models that came fitted: everybody's, or by ``groups`` its own."""
        names = [participant.name for participant in self.participants_]
        if groups is None:
            return [np.arange(len(y))] * len(names)
        return rows_by_group(groups, names, len(y), has_names(self.estimators))

    def _check_each_other(self, shown: Sequence[tuple[Any, Array]], *, public: bool = False) -> None:
        """Have everybody answer the rows (X, y) that each shows, which are the same if ``public``."""
        participants = self.participants_
        rows = np.array([len(y) for _, y in shown])
        X, y = stacked([each for each, _ in shown]), np.concatenate([each for _, each in shown])
        whose = np.repeat(np.arange(len(rows)), rows)
        squares = np.full((len(rows), len(participants)), np.nan)
        numbers = np.full((len(participants), len(y), y[:1].size), np.nan)
        for j, said in enumerate(
            self._everybody(numbers_like, [(each, X, y) for each in participants], None)
        ):
            if not isinstance(said, str):
                numbers[j] = said.reshape(len(y), -1)
                errors = ((numbers[j] - y.reshape(len(y), -1)) ** 2).sum(axis=1)
                total = np.bincount(whose, weights=errors, minlength=len(rows))
                squares[:, j] = np.where(rows > 0, total / np.maximum(rows, 1), np.nan)
        for i, participant in enumerate(participants):
            if participant.held_out:  # else it came fitted, and these rows are new to it, too
                squares[i, i] = participant.squared_error
        self.checked_ = Checked(squares, rows)
        if self.weights == PEER_REVIEW:
            some = slice(0, rows[0]) if public else slice(None)
            publisher = np.full(rows[0], PUBLIC) if public else whose
            truth = y.reshape(len(y), -1)[some].astype(np.float64)
            self.checked_ = Checked(squares, rows, numbers[:, some], truth, publisher)
