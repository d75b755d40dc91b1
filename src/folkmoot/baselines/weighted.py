"""Votes that count for more or less; ``accuracy.log_odds`` are the best weights for known accuracies.

S. Nitzan and J. Paroush, "Optimal decision rules in uncertain dichotomous choice situations",
International Economic Review 23 (1982): independent participants are best added up by log-odds.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.baselines.majority import tally
from folkmoot.outcome import Answer, most
from folkmoot.votes import UNCOLOURED, Votes, check_votes, class_count


def weighted_majority(votes: npt.ArrayLike, weights: npt.ArrayLike, classes: int | None = None) -> Ints:
    """Take the colour with the largest sum of its voters' weights on each input.

    A negative weight is a vote against the colour. A colour without votes has the sum 0, so it wins
    where all others are below.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Colours, -1 for no vote.
    weights : array-like of float, shape (participant,)
        What a vote of each participant counts. ``folkmoot.accuracy.log_odds`` are the best weights for known
        accuracies.
    classes : int, optional
        The number of colours. Default: one more than the largest vote, and at least 2.

    Returns
    -------
    ndarray of int, shape (input,)
        The colours; -1 on an exact tie or where nobody voted.

    Raises
    ------
    ValueError
        If there is not one finite weight per participant.

    Examples
    --------
    >>> from folkmoot.accuracy import log_odds
    >>> from folkmoot.baselines import weighted_majority
    >>> votes = [[0, 1], [1, 1], [1, 0]]
    >>> weighted_majority(votes, log_odds([0.9, 0.6, 0.6]))  # the first knows more than the others together
    array([0, 1])
    >>> weighted_majority(votes, [1, 1, 1])
    array([1, 1])
    """
    return weighted_answer(votes, weights, classes).decision


def weighted_answer(votes: npt.ArrayLike, weights: npt.ArrayLike, classes: int | None = None) -> Answer:
    """The same with its ties."""
    cast = check_votes(votes, classes)
    classes = class_count(cast, classes)
    each = _check_weights(weights, len(cast))
    scaled = np.ldexp(each, -int(np.frexp(each)[1].max()))  # so that no sum overflows
    sums = tally(cast, classes, scaled)
    # Rounding depends on the order of the sum: it can break a tie or make one. Where the best two are
    # closer than the error of both sums, they are added again without rounding.
    error = len(cast) * np.finfo(np.float64).eps * np.abs(scaled).sum()
    second, best = np.partition(sums, classes - 2, axis=1)[:, -2:].T
    close = np.flatnonzero(best - second <= 2 * error)
    heard = (cast != UNCOLOURED).any(axis=0)
    decision, level = most(sums, heard)
    exact = most(_exact_tally(cast[:, close], classes, each), heard[close])
    decision[close] = exact.decision
    if level is not None and exact.level is not None:
        level[close] = exact.level
    return Answer(decision, level)


def _exact_tally(votes: Votes, classes: int, weights: Floats) -> Array:
    """The sums of weights as Python integers, in a unit small enough for every weight."""
    exact = [Fraction(weight) for weight in weights.tolist()]
    unit = max(weight.denominator for weight in exact)  # all are powers of two
    sums = np.zeros((votes.shape[1], classes), dtype=object)
    for row, weight in zip(votes, exact, strict=True):
        places = np.flatnonzero(row != UNCOLOURED)
        sums[places, row[places]] += int(weight * unit)
    return sums


def _check_weights(weights: npt.ArrayLike, participants: int) -> Floats:
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights must be a sequence of numbers: got {weights!r}") from None
    if values.shape != (participants,):
        raise ValueError(
            f"weights must hold one number per participant ({participants}): got the shape {values.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"weights must be finite: got weights[{bad[0]}]={values[bad[0]]}")
    return values
