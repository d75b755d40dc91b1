"""What a participant knows by itself when models improve each other: its labelled rows (docs/improve.md).

They tell whom to believe about a pool, and afterwards whether to take the model that comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from scipy.stats import binom

from folkmoot.arrays import Bools, Floats, Ints

Footing: TypeAlias = tuple[float, float, float]  # what labels rest on: steady, shared, gain (below)
FIRM: Final[Footing] = (1.0, 1.0, 1.0)  # where nobody has asked
_BY_CHANCE: Final = 0.5  # how likely chance may be right on as many own rows as a safe new model
_WORSE: Final = 0.2  # how likely as many rows lost, of those that changed, must be if nothing were worse
_STEADY: Final = 0.8  # of the labels that half of the rows must come to, too
_SHARED: Final = 0.85  # of the labels: if those who count for it have announced less, more must be gained
_GAIN: Final = 0.06  # of the pool: what labels promising less bring is lost in what chance does


@dataclass(frozen=True, eq=False)
class OwnRows:
    """What a participant knows by itself: which inputs are its check rows, their labels, its class counts.

    Parameters
    ----------
    places : ndarray of int, shape (row,)
        Where its check rows are among the inputs that all answer.
    labels : ndarray of int, shape (row,)
        Their right colours.
    counts : ndarray of float, shape (class,)
        How many of all its rows, shown or not, are of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.learning.own_rows import OwnRows
    >>> rows = OwnRows(np.array([0, 1]), np.array([1, 0]), np.array([4.0, 3.0]))
    >>> rows.why_not
    >>> OwnRows(np.array([0]), np.array([1]), np.array([0.0, 7.0])).why_not
    'its rows are of one class only, so it cannot tell who is right'
    """

    places: Ints
    labels: Ints
    counts: Floats

    def half(self, side: int) -> OwnRows:
        """Every other check row of each class: what is known without the others.

        Parameters
        ----------
        side : int
            0 or 1: which half.

        Returns
        -------
        OwnRows
            Those rows, and the counts without the rows that are left out.
        """
        order = np.argsort(self.labels, kind="stable")
        kept = np.zeros(len(order), dtype=np.bool_)
        kept[order[side::2]] = True
        out = np.bincount(self.labels[~kept], minlength=len(self.counts))
        return OwnRows(self.places[kept], self.labels[kept], self.counts - out)

    @property
    def why_not(self) -> str | None:
        """Why these rows cannot tell whom to believe; None if they can, or if there are no check rows."""
        if (self.counts > 0).sum() < 2:
            return "its rows are of one class only, so it cannot tell who is right"
        return None


def speaks_against(
    before: Bools,
    after: Bools,
    classes: int,
    steady: float = 1.0,
    shared: float = 1.0,
    gain: float = 1.0,
) -> str | None:
    """Say why one's own rows speak against a new model; None if they do not.

    It must be right more often than by chance (as often only half of the time by chance), and a one-sided
    sign test on the rows that only one of the two models answers right must not find it worse (at 0.2). Both
    flatter: the rows have chosen whose labels it learnt. So either half of them must come to the same labels
    for 80% of the pool. By the probabilities that it came to, the labels must be right on 6% more of the pool
    than what its old model says, as a few rows cannot tell whether less is gained or lost; and on more of it
    than those that count for the participant dispute, if they dispute more than 15% of its labels.

    Parameters
    ----------
    before : ndarray of bool, shape (row,)
        Which own rows the old model answers right, without having seen them.
    after : ndarray of bool, shape (row,)
        The same of the new one.
    classes : int
        The number of classes.
    steady : float, default 1
        The share of the labels that either half of the rows comes to, too.
    shared : float, default 1
        The share of the labels that others have announced, by what they count for.
    gain : float, default 1
        How much more of the pool the labels are expected to get right than the old model.

    Returns
    -------
    str or None
        What speaks against it.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.learning.own_rows import speaks_against
    >>> half, most = np.arange(20) < 10, np.arange(20) < 18
    >>> speaks_against(half, most, 2)
    >>> speaks_against(most, half, 2)
    'the new model is right on 10 of its 20 rows, no more than by chance'
    """
    if steady < _STEADY:
        return (
            f"its labels hang on few of its rows: half of these come to other labels for {1 - steady:.0%} "
            "of the pool"
        )
    if shared < _SHARED and gain < 1 - shared:
        return (
            f"those that count for it announce other labels for {1 - shared:.0%} of the pool, and its own "
            f"promise a gain of {gain:.0%} only"
        )
    if gain < _GAIN:
        return f"the labels promise a gain of {gain:.1%} of the pool over its old model, too little to trust"
    rows, right = len(after), int(after.sum())
    if not rows or binom.sf(right - 1, rows, 1 / classes) > _BY_CHANCE:
        return f"the new model is right on {right} of its {rows} rows, no more than by chance"
    return _loses(before & ~after, after & ~before)


def numbers_speak_against(before: Floats, after: Floats, by_mean: Floats) -> str | None:
    """Say why one's own rows speak against a new model of numbers; None if they do not.

    It must be nearer to them than their own mean is, and a one-sided sign test must not find it further off
    than the old model (at 0.2).

    Parameters
    ----------
    before : ndarray of float, shape (row,)
        Squared errors of the old model on own rows that it has not seen.
    after : ndarray of float, shape (row,)
        The same of the new one.
    by_mean : ndarray of float, shape (row,)
        The same of the mean of all other own rows.

    Returns
    -------
    str or None
        What speaks against it.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.learning.own_rows import numbers_speak_against
    >>> numbers_speak_against(np.full(9, 4.0), np.full(9, 1.0), np.full(9, 9.0))
    >>> numbers_speak_against(np.full(9, 1.0), np.full(9, 4.0), np.full(9, 9.0))
    'the new model loses 9 of its 9 rows and wins 0'
    """
    if after.mean() >= by_mean.mean():
        return "the new model is no nearer to its rows than their own mean"
    return _loses(after > before, after < before)


def _loses(lost: Bools, won: Bools) -> str | None:
    """What a one-sided sign test on the rows that changed has against a new model."""
    worse, better = int(lost.sum()), int(won.sum())
    if worse and binom.sf(worse - 1, worse + better, 0.5) < _WORSE:
        return f"the new model loses {worse} of its {len(lost)} rows and wins {better}"
    return None
