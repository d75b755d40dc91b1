"""How often answers are right, and what that makes a vote worth.

Accuracies are over the inputs whose truth is known (not -1). An undecided input is not right. Where labels
are level, the input counts as the share of right ones among them: a tie of two labels as one half.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.votes import UNCOLOURED, Votes, check_truth, known_inputs

__all__ = [
    "LEAST_DOUBT",
    "laplace_accuracy",
    "log_odds",
    "participant_accuracies",
    "right_by_input",
    "share_right",
    "standard_error",
    "wilson_bound",
]

LEAST_DOUBT: Final = 1e-6  # nobody is trusted, or distrusted, more than this: p = 1 would outvote all others


def share_right(decision: npt.ArrayLike, truth: npt.ArrayLike, level: npt.ArrayLike | None = None) -> Floats:
    """Measure the share of the inputs with a known truth that are decided right.

    Parameters
    ----------
    decision : array-like of int, shape (..., input)
        The colour decided for each input, -1 where undecided.
    truth : array-like of int, shape (input,)
        The right colour of each input, -1 where it is not known: those inputs are not counted.
    level : array-like of bool, shape (..., input, colour), optional
        The colours that are level, where there are several. Such an input counts as the share of right ones
        among them. Default: there are no ties.

    Returns
    -------
    ndarray of float, shape (...)
        The share of right decisions in each row; of a single row, one number.

    Raises
    ------
    ValueError
        If ``truth`` has another length than ``decision``, or knows no input.

    Examples
    --------
    >>> from folkmoot.accuracy import share_right
    >>> share_right([0, 1, 1, -1], truth=[0, 1, 0, 1])  # an undecided input is not right
    array(0.5)
    >>> share_right([[0, 1, 1], [0, 0, 1]], truth=[0, 1, -1])
    array([1. , 0.5])
    >>> level = [[False, False], [True, True]]  # on the second input the two colours are level
    >>> share_right([0, -1], truth=[0, 1], level=level)
    array(0.75)
    """
    return np.asarray(right_by_input(decision, truth, level).mean(axis=-1), dtype=np.float64)


def right_by_input(
    decision: npt.ArrayLike, truth: npt.ArrayLike, level: npt.ArrayLike | None = None
) -> Floats:
    """Tell for each input with a known truth whether it is decided right: 1, 0, or a share on a tie.

    Parameters
    ----------
    decision : array-like of int, shape (..., input)
        The colour decided for each input, -1 where undecided.
    truth : array-like of int, shape (input,)
        The right colour of each input, -1 where it is not known: those inputs are left out.
    level : array-like of bool, shape (..., input, colour), optional
        The colours that are level, where there are several. Default: there are no ties.

    Returns
    -------
    ndarray of float, shape (..., known input)
        What ``share_right`` is the mean of.

    Raises
    ------
    ValueError
        If ``truth`` has another length than ``decision``, or knows no input.

    Examples
    --------
    Three colours are level on the last input, and the truth of the first is not known.

    >>> from folkmoot.accuracy import right_by_input
    >>> level = [[False] * 3, [False] * 3, [False] * 3, [True] * 3]
    >>> right_by_input([2, 1, -1, -1], truth=[-1, 1, 1, 0], level=level).round(2)
    array([1.  , 0.  , 0.33])
    """
    given = np.asarray(decision)
    right = check_truth(truth, given.shape[-1], complete=False)
    return shares_right(given, right, None if level is None else np.asarray(level, dtype=np.bool_))


def shares_right(given: Array, right: Ints, tied: Bools | None, choices: Ints | None = None) -> Floats:
    """(..., known input): ``right_by_input`` of a truth that is checked.

    ``choices`` (input, choice): the class that each column of ``tied`` stands for; without, its number.
    """
    known = known_inputs(right)
    hits: Floats = (given[..., known] == right[known]).astype(np.float64)
    if tied is None:
        return hits
    level = tied[..., known, :]
    many = level.sum(axis=-1)
    named = right[known][:, None] == (np.arange(level.shape[-1]) if choices is None else choices[known])
    shares = (level & named).sum(axis=-1) / np.maximum(many, 1)
    return np.asarray(np.where(many > 1, shares, hits), dtype=np.float64)


def participant_accuracies(votes: Votes, truth: npt.ArrayLike) -> Floats:
    """Measure the share of each participant's cast votes that are right.

    Parameters
    ----------
    votes : ndarray of int, shape (participant, input)
        Colours, -1 for no vote: inputs on which a participant did not vote are not held against it.
    truth : array-like of int, shape (input,)
        The right colour of each input, -1 where it is not known.

    Returns
    -------
    ndarray of float, shape (participant,)
        The accuracies; nan for a participant that cast no vote on an input whose truth is known.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.accuracy import participant_accuracies
    >>> votes = np.array([[0, 1, 1], [0, -1, -1], [-1, -1, -1]])
    >>> participant_accuracies(votes, truth=[0, 1, 0])
    array([0.66666667, 1.        ,        nan])
    """
    right = np.asarray(truth)
    cast = (votes != UNCOLOURED) & (right != UNCOLOURED)
    total = cast.sum(axis=1)
    hits = ((votes == right) & cast).sum(axis=1)
    return np.asarray(np.where(total > 0, hits / np.maximum(total, 1), np.nan), dtype=np.float64)


def laplace_accuracy(right: npt.ArrayLike, total: npt.ArrayLike, classes: int = 2) -> Floats:
    """Estimate an accuracy by Laplace's rule of succession, (right + 1) / (total + C).

    The estimate is never 0 or 1, and 1/C where nothing is known. It is the posterior mean if every accuracy
    is as likely as another beforehand; with more than two classes, under the Beta(1, C - 1) prior, whose mean
    is that of a guess.

    Parameters
    ----------
    right : array-like of int
        How many answers were right.
    total : array-like of int
        How many answers there were.
    classes : int, default 2
        The number of colours, C.

    Returns
    -------
    ndarray of float
        The estimates, in the shape of ``right`` and ``total``.

    Examples
    --------
    >>> from folkmoot.accuracy import laplace_accuracy
    >>> laplace_accuracy(right=[8, 0, 0], total=[8, 8, 0])
    array([0.9, 0.1, 0.5])
    """
    return np.asarray((np.asarray(right) + 1) / (np.asarray(total) + classes), dtype=np.float64)


def log_odds(p: npt.ArrayLike, classes: int = 2, *, doubt: float = LEAST_DOUBT) -> Floats:
    """Weigh a vote by its voter's accuracy p: log((C-1) p / (1-p)).

    No weights are better if participants err independently, no colour is likelier than another beforehand,
    and a wrong vote is equally likely to be any of the C-1 wrong colours.

    Parameters
    ----------
    p : array-like of float
        Accuracies, in [0, 1].
    classes : int, default 2
        The number of colours, C.
    doubt : float, default 1e-6
        Accuracies are kept within [doubt, 1 - doubt], so that no vote outweighs all others.

    Returns
    -------
    ndarray of float
        The weights, in the shape of ``p``: negative below p = 1/C, nan where p is nan.

    Raises
    ------
    ValueError
        If an accuracy is not within [0, 1].

    Examples
    --------
    >>> from folkmoot.accuracy import log_odds
    >>> log_odds([0.5, 0.9, 0.1]).round(2)  # a voter that is mostly wrong counts against its colour
    array([ 0. ,  2.2, -2.2])
    """
    classes = checks.integer("classes", classes, least=2)
    try:
        values = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"p must be a number or a sequence of numbers: got {p!r}") from None
    bad = np.flatnonzero((values < 0) | (values > 1))
    if bad.size:
        raise ValueError(f"p must satisfy 0 <= p <= 1: got {values.flat[bad[0]]} at place {bad[0]}")
    kept = np.clip(values, doubt, 1 - doubt)
    return np.asarray(np.log((classes - 1) * kept / (1 - kept)), dtype=np.float64)


def standard_error(values: npt.ArrayLike) -> float | None:
    """Compute the standard error of the mean, as ``scipy.stats.sem``, but None (not NaN) for a single value.

    Parameters
    ----------
    values : array-like of float
        The values, such as the accuracies of repeated deliberations.

    Returns
    -------
    float or None
        The standard error; None for a single value, which has none.

    Examples
    --------
    >>> from folkmoot.accuracy import standard_error
    >>> standard_error([0.8, 0.9, 1.0])
    0.0577...
    """
    each = np.asarray(values, dtype=np.float64)
    return float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else None


def wilson_bound(right: npt.ArrayLike, total: npt.ArrayLike, deviations: float) -> Floats:
    """Bound many shares, also of fractions, by what was counted: Wilson's interval, which scipy has for one.

    The bound is the share p at which ``right`` of ``total`` is ``deviations`` standard deviations above the
    ``total * p`` expected; with negative ``deviations``, below, which makes it an upper bound. Unlike the
    share itself it says little where little was counted: within (0, 1), and further out than the share.

    Parameters
    ----------
    right : array-like of float
        How many were right.
    total : array-like of float
        How many there were.
    deviations : float
        How far the bound is from the share, in standard deviations: 1.645 is a lower bound that holds in 95%
        of all cases, -1.645 an upper one.

    Returns
    -------
    ndarray of float
        The bounds; where nothing was counted, 0 for a lower and 1 for an upper one.

    Examples
    --------
    >>> from folkmoot.accuracy import wilson_bound
    >>> wilson_bound(right=[9, 90, 0], total=[10, 100, 0], deviations=1.645).round(2)
    array([0.65, 0.84, 0.  ])
    >>> wilson_bound(right=[9, 90, 0], total=[10, 100, 0], deviations=-1.645).round(2)
    array([0.98, 0.94, 1.  ])
    """
    good, all_of_them = np.broadcast_arrays(
        np.asarray(right, dtype=np.float64), np.asarray(total, dtype=np.float64)
    )
    square = deviations * deviations
    some = np.maximum(all_of_them, 1e-300)
    spread = np.sqrt(np.maximum(good * (all_of_them - good) / some, 0.0) + square / 4)
    bound = (good + square / 2 - deviations * spread) / (all_of_them + square)
    return np.asarray(np.clip(bound, 0.0, 1.0), dtype=np.float64)
