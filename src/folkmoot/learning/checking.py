"""Rows that participants show each other: how far everybody is off on everybody's, by its owner's numbers.

Only the means are kept. A participant is measured on its own rows by models that had not seen them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.learning.composition import has_names
from folkmoot.learning.consensus_estimator import ConsensusEstimator, rows_by_group
from folkmoot.learning.participants import squared_errors
from folkmoot.learning.tables import rows_of, stacked
from folkmoot.simulation.checked_numbers import weights_by_errors


class Checked(NamedTuple):
    """What each participant has seen of all."""

    squares: Floats
    """(participant, peer): the mean squared error of each on the rows of each; nan where it failed."""
    rows: Ints
    """(participant,): how many rows it showed."""


class CheckingEstimator(ConsensusEstimator):
    """Base of ``ConsensusRegressor``: participants that weigh each other's numbers by rows that they show."""

    rule: str
    weights: Literal["holdout"] | None

    checked_: Checked

    def _check_weights(self) -> None:
        if self.weights is None:
            return
        if not (isinstance(self.weights, str) and self.weights == "holdout"):
            raise ValueError(f"weights must be 'holdout' or None: got {self.weights!r}")
        if self.rule != "trimmed-mean":
            raise ValueError(f"weights='holdout' needs rule='trimmed-mean': got rule={self.rule!r}")

    def _weights_among(self, there: list[int]) -> Floats:
        """(participant, peer): what the numbers of those who are there count for to each of them."""
        if not hasattr(self, "checked_"):
            raise ValueError("weights='holdout' must be given before fit, which measures them")
        squares, rows = self.checked_
        return np.stack([weights_by_errors(squares[i, there], int(rows[i])) for i in there])

    def _check_prefit(self, X: Any, y: Array, groups: Any) -> None:
        """Measure models that came fitted on these rows: everybody's, or each one's own."""
        names = [participant.name for participant in self.participants_]
        each = (
            [np.arange(len(y))] * len(names)
            if groups is None
            else rows_by_group(groups, names, len(y), has_names(self.estimators))
        )
        self._check_each_other([(rows_of(X, own), y[own]) for own in each])

    def _check_each_other(self, shown: Sequence[tuple[Any, Array]]) -> None:
        """Have everybody answer the rows (X, y) that each participant shows."""
        participants = self.participants_
        rows = np.array([len(y) for _, y in shown])
        X, y = stacked([each for each, _ in shown]), np.concatenate([each for _, each in shown])
        whose = np.repeat(np.arange(len(rows)), rows)
        squares = np.full((len(rows), len(participants)), np.nan)
        for j, errors in enumerate(
            self._everybody(squared_errors, [(each, X, y) for each in participants], None)
        ):
            if not isinstance(errors, str):
                total = np.bincount(whose, weights=errors, minlength=len(rows))
                squares[:, j] = np.where(rows > 0, total / np.maximum(rows, 1), np.nan)
        for i, participant in enumerate(participants):
            if participant.held_out:  # else it came fitted, and these rows are new to it, too
                squares[i, i] = participant.squared_error
        self.checked_ = Checked(squares, rows)
