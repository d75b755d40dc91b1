"""Weighted plurality: votes that count for more or less.

S. Nitzan and J. Paroush, "Optimal decision rules in uncertain dichotomous choice situations", International
Economic Review 23 (1982). For independent participants the best weights are the log-odds of their accuracies,
which ``folkmoot.outcome.log_odds`` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from folkmoot.aggregation.interface import NOTHING, Aggregation, Answers, Known, ballots, counted, decided
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.votes import NO_VOTE


@dataclass(frozen=True)
class Weighted(Aggregation):
    """The class with the largest sum of its voters' weights.

    Parameters
    ----------
    weights : sequence of float, one per participant
        The weight of each participant's vote: 0 or more. ``folkmoot.outcome.log_odds`` are the best weights
        for known accuracies.

    Examples
    --------
    >>> from folkmoot import aggregate
    >>> from folkmoot.outcome import log_odds
    >>> from folkmoot.aggregation import Weighted
    >>> votes = [[0, 1], [1, 1], [1, 0]]
    >>> aggregate(votes, Weighted(log_odds([0.9, 0.6, 0.6]))).decision  # the first knows more
    array([0, 1])
    >>> aggregate(votes, Weighted([1, 1, 1])).decision
    array([1, 1])
    """

    weights: Sequence[float]

    def __post_init__(self) -> None:
        try:
            each = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"weights must be a sequence of numbers: got {self.weights!r}") from None
        if each.ndim != 1 or not each.size:
            raise ValueError(f"weights must hold one number per participant: got the shape {each.shape}")
        bad = np.flatnonzero(~(np.isfinite(each) & (each >= 0)))
        if bad.size:
            raise ValueError(
                f"weights must be finite and 0 or more: got weights[{bad[0]}]={each[bad[0]]}; a participant "
                "that is worse than chance counts for 0"
            )
        object.__setattr__(self, "weights", tuple(each.tolist()))

    def aggregate(self, table: Array, known: Known = NOTHING) -> Answers:  # noqa: ARG002
        """Add up the weights."""
        if len(self.weights) != len(table):
            raise ValueError(
                f"weights must hold one number per participant ({len(table)}): got {len(self.weights)}"
            )
        each = np.array(self.weights)
        choices, places = ballots(table)
        cast = np.where(places != NO_VOTE, each[:, None], 0.0)
        cast = np.ldexp(cast, -np.frexp(cast.max(axis=0))[1])  # no sum overflows, no input underflows
        sums = counted(places, choices.shape[1], cast)
        total = sums.sum(axis=1, keepdims=True)
        shares = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
        return decided(choices, self._ranked(places, choices, sums, each), shares, total[:, 0] > 0)

    @staticmethod
    def _ranked(places: Ints, choices: Ints, sums: Floats, weights: Floats) -> Floats:
        """(input, choice): the order of the sums, exactly.

        Rounding depends on the order of a sum, and can break a tie or make one. Where the best two sums are
        closer than their error, they are added again as fractions.
        """
        if choices.shape[1] < 2:
            return sums
        ranked = sums.copy()
        second, best = np.partition(sums, choices.shape[1] - 2, axis=1)[:, -2:].T
        error = len(weights) * np.finfo(np.float64).eps * best
        exact = [Fraction(weight) for weight in weights.tolist()]
        for i in np.flatnonzero(best - second <= 2 * error).tolist():
            true = [Fraction(0)] * choices.shape[1]
            for participant in np.flatnonzero(places[:, i] != NO_VOTE).tolist():
                true[places[participant, i]] += exact[participant]
            order = sorted(set(true))
            ranked[i] = [order.index(each) for each in true]
        return ranked
