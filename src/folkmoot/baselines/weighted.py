"""Votes that count for more or less, and the weights that are best when the accuracies are known.

S. Nitzan and J. Paroush, "Optimal decision rules in uncertain dichotomous choice situations",
International Economic Review 23 (1982): independent participants are best added up by log-odds.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.baselines.majority import tally, unique_best
from folkmoot.votes import UNCOLOURED, Votes, check_votes, class_count

_LEAST_DOUBT = 1e-6  # nobody is trusted, or distrusted, more than this: p = 1 would outvote all others


def weighted_majority(votes: npt.ArrayLike, weights: npt.ArrayLike, classes: int | None = None) -> Ints:
    """The colour with the largest sum of its voters' weights on each input; -1 on an exact tie.

    A negative weight is a vote against the colour. A colour without votes has the sum 0, so it wins
    where all others are below.
    """
    cast = check_votes(votes, classes)
    colours = class_count(cast, classes)
    each = _check_weights(weights, len(cast))
    scaled = np.ldexp(each, -int(np.frexp(each)[1].max()))  # so that no sum overflows
    sums = tally(cast, colours, scaled)
    labels = unique_best(sums)

    # Rounding depends on the order of the sum: it can break a tie or make one. Where the best two are
    # closer than the error of both sums, they are added again without rounding.
    error = len(cast) * np.finfo(np.float64).eps * np.abs(scaled).sum()
    second, best = np.partition(sums, colours - 2, axis=1)[:, -2:].T
    close = np.flatnonzero(best - second <= 2 * error)
    labels[close] = unique_best(_exact_tally(cast[:, close], colours, each))
    return labels


def log_odds(accuracies: npt.ArrayLike, classes: int) -> Floats:
    """The best weight for each accuracy p: log((C-1) p / (1-p)), with p kept within [1e-6, 1 - 1e-6].

    Best if participants err independently, no colour is likelier than another beforehand, and a
    wrong vote is equally likely to be any of the C-1 wrong colours. Below p = 1/C it is negative.
    """
    colours = checks.integer("classes", classes, least=2)
    p = np.clip(checks.accuracies(accuracies), _LEAST_DOUBT, 1 - _LEAST_DOUBT)
    return np.log((colours - 1) * p / (1 - p))


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
