"""Metrics: accuracy of classes, or the error of numbers; all else is the same for both.

Everything is over all inputs whose truth is known. No answer is not right. For classes it scores 0. For
numbers it counts as far off as the mean of the truth, which explains nothing of it (R2 is 0). Classes that
are tied share: a tie of two, one of them right, scores one half.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.outcome import wilson_bound
from folkmoot.votes import NO_VOTE

_DEVIATIONS: Final = 1.959963984540054  # of a two-sided interval of 95%


@dataclass(frozen=True)
class Metric:
    """A score of answers, and its format.

    Parameters
    ----------
    name : str
        The name of the score: "accuracy" or "error".
    higher_is_better : bool
        Whether a larger score is better.
    each : callable
        Scores (..., input) answers by the truth, input by input: right or not, or the squared error.
    score : callable
        Makes one score of those of all inputs.
    also : callable
        Makes further scores of these and the truth, by name: "balanced_accuracy" or "r2".
    show : callable
        Prints a score.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparing.metric import ACCURACY, ERROR
    >>> truth = np.array([0, 1, 1, 0])
    >>> ACCURACY.score(ACCURACY.each(np.array([0, 1, 0, -1]), truth))
    0.5
    >>> truth = np.array([1.0, 2.0, 3.0])
    >>> ERROR.score(ERROR.each(np.array([1.0, 2.0, 6.0]), truth))
    1.732...
    """

    name: str
    higher_is_better: bool
    each: Callable[[Array, Array], Floats]
    score: Callable[[Floats], float]
    also: Callable[[Floats, Array], dict[str, float]]
    show: Callable[[float], str]

    def better(self, score: float, other: float) -> bool:
        """Whether the first score is better than the second."""
        return score > other if self.higher_is_better else score < other

    def standard_error(self, each: Floats) -> float | None:
        """The standard error of the score over the inputs; None where there is one input only."""
        if each.size < 2:
            return None
        of_mean = float(each.std(ddof=1)) / math.sqrt(each.size)
        if self.higher_is_better:
            return of_mean
        error = self.score(each)  # the square root of a mean: its derivative is 1 / (2 error)
        return of_mean / (2 * error) if error else 0.0

    def interval(self, each: Floats) -> tuple[float, float]:
        """An interval of 95% of the score: Wilson's, or by the standard error."""
        if self.higher_is_better:
            return tuple(  # type: ignore[return-value]
                float(wilson_bound(each.sum(), each.size, sign * _DEVIATIONS)) for sign in (1, -1)
            )
        score, around = self.score(each), _DEVIATIONS * (self.standard_error(each) or 0.0)
        return max(0.0, score - around), score + around


def is_there(values: Array) -> Bools:
    """Whether there is a class or a number; of several outputs, whether all are there."""
    if values.dtype.kind != "f":
        return np.asarray(values != NO_VOTE)
    return np.asarray(~np.isnan(values))


def _right(answers: Array, truth: Array) -> Floats:
    return np.asarray(answers == truth, dtype=np.float64)


def _balanced(each: Floats, truth: Ints) -> dict[str, float]:
    """The mean over the classes of how much of their inputs is right."""
    _, place, counts = np.unique(truth, return_inverse=True, return_counts=True)
    return {"balanced_accuracy": float((np.bincount(place, weights=each) / counts).mean())}


def _squared(answers: Array, truth: Array) -> Floats:
    """(..., input): squared errors, of several outputs their mean."""
    filled = np.where(np.isnan(answers), truth.mean(axis=0), answers)
    squares = (filled - truth) ** 2
    return np.asarray(squares.mean(axis=-1) if truth.ndim == 2 else squares)


def _explained(each: Floats, truth: Floats) -> dict[str, float]:
    around = float(((truth - truth.mean(axis=0)) ** 2).mean())
    return {"r2": 1 - float(each.mean()) / around} if around else {}


ACCURACY: Final = Metric(
    "accuracy", True, _right, lambda each: float(each.mean()), _balanced, lambda score: f"{score:.4f}"
)
ERROR: Final = Metric(
    "error",
    False,
    _squared,
    lambda each: float(np.sqrt(each.mean())),
    _explained,
    lambda score: f"{score:.4g}",
)
