"""Ways to share the rows of one table out among participants, from natural to badly skewed.

Each returns a ``Split``: every row goes to exactly one participant, and the same seed gives the same split.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Floats, Ints
from folkmoot.datasets.arguments import column, generator, number
from folkmoot.datasets.repair import repair
from folkmoot.datasets.split import Split


def split_by_group(groups: npt.ArrayLike) -> Split:
    """Split rows as the data come: one participant for each different value of ``groups``.

    Parameters
    ----------
    groups : array-like, shape (row,)
        Whose each row is: numbers or names.

    Returns
    -------
    Split
        Whose row is which, with the participants in sorted order.

    Examples
    --------
    >>> from folkmoot.datasets import split_by_group
    >>> split = split_by_group(["north", "south", "north"])
    >>> split.names
    array(['north', 'south'], dtype='<U5')
    >>> list(split)
    [array([0, 2]), array([1])]
    """
    whose = column("groups", groups)
    names, position = np.unique(whose, return_inverse=True)
    return Split(_gather(position, names.size), names)


def split_dirichlet(
    y: npt.ArrayLike,
    n: int,
    alpha: float = 1.0,
    seed: int = 0,
    *,
    min_rows: int = 1,
    min_classes: int = 0,
) -> Split:
    """Split rows with label skew: each class is shared out in proportions drawn from Dirichlet(alpha, ...).

    The law of Yurochkin et al. (2019) and Li et al. (2022): one draw per class over the n participants. The
    draw is then repaired, one row at a time and no more than needed, until everyone has ``min_rows`` rows of
    ``min_classes`` different classes (``folkmoot.datasets.repair`` says how).

    Parameters
    ----------
    y : array-like, shape (row,)
        The label of each row.
    n : int
        The number of participants, at most that of rows.
    alpha : float, default 1.0
        A small one leaves each participant few classes (and unequal numbers of rows), a large one gives all
        the same mix. Above 0.
    seed : int, default 0
        The same seed gives the same split.
    min_rows : int, default 1
        How many rows everyone has at the least.
    min_classes : int, default 0
        How many different classes everyone has at the least.

    Returns
    -------
    Split
        Whose row is which.

    Examples
    --------
    >>> from folkmoot.datasets import split_dirichlet
    >>> y = [0] * 30 + [1] * 30
    >>> split_dirichlet(y, n=3, alpha=1.0, seed=1).summary(y).counts
    array([[ 4, 22],
           [ 5,  5],
           [21,  3]])
    """
    labels = column("y", y)
    participants = _participants(n, labels.size)
    concentration = number("alpha", alpha)
    if not 0 < concentration < math.inf:
        raise ValueError(f"alpha must satisfy 0 < alpha < infinity: got alpha={alpha}")
    least = checks.integer("min_rows", min_rows, least=0)
    variety = checks.integer("min_classes", min_classes, least=0)
    rng = generator(seed)
    classes, which = np.unique(labels, return_inverse=True)
    owner = np.empty(labels.size, dtype=np.int64)
    for c in range(classes.size):
        rows = rng.permutation(np.flatnonzero(which == c))
        shares = _dirichlet(rng, concentration, participants)
        cuts = np.rint(np.cumsum(shares)[:-1] * rows.size).astype(np.int64)
        owner[rows] = np.repeat(np.arange(participants), np.diff(cuts, prepend=0, append=rows.size))
    repair(owner, which, participants, least, variety)
    return Split(_gather(owner, participants), np.arange(participants))


def split_shards(y: npt.ArrayLike, n: int, shards_each: int = 2, seed: int = 0) -> Split:
    """Split rows with pathological label skew (McMahan et al. 2017): sorted by label, cut, and dealt out.

    Shards, the pieces that are dealt, differ in size by at most one row. Rows of one class are shuffled
    before the cut.

    Parameters
    ----------
    y : array-like, shape (row,)
        The label of each row.
    n : int
        The number of participants.
    shards_each : int, default 2
        How many shards each participant gets; n * shards_each is at most the number of rows. With 2, most
        participants see two classes.
    seed : int, default 0
        The same seed gives the same split.

    Returns
    -------
    Split
        Whose row is which.

    Examples
    --------
    >>> from folkmoot.datasets import split_shards
    >>> y = [0] * 20 + [1] * 20 + [2] * 20
    >>> split_shards(y, n=3).summary(y).counts
    array([[ 0, 10, 10],
           [10, 10,  0],
           [10,  0, 10]])
    """
    labels = column("y", y)
    participants = _participants(n, labels.size)
    each = checks.integer("shards_each", shards_each, least=1)
    if participants * each > labels.size:
        raise ValueError(
            "shards_each must satisfy n * shards_each <= rows: "
            f"got n={participants}, shards_each={each}, rows={labels.size}"
        )
    rng = generator(seed)
    shuffled = rng.permutation(labels.size)
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    shards = np.array_split(by_label, participants * each)
    dealt = rng.permutation(len(shards)).reshape(participants, each)
    indices = tuple(np.sort(np.concatenate([shards[s] for s in hand])).astype(np.int64) for hand in dealt)
    return Split(indices, np.arange(participants))


def split_quantity(
    y: npt.ArrayLike | int, n: int, skew: float = 1.0, seed: int = 0, *, min_rows: int = 1
) -> Split:
    """Split rows with quantity skew: the r-th largest participant gets a share in proportion to r^(-skew).

    Everyone first gets ``min_rows``; the rest follows this power law, rounded by largest remainder. Labels
    play no part.

    Parameters
    ----------
    y : array-like, shape (row,), or int
        The labels, or just the number of rows.
    n : int
        The number of participants.
    skew : float, default 1.0
        The exponent. 0 gives equal shares; with 1 the largest of 101 participants has about a fifth of all
        rows.
    seed : int, default 0
        Draws which rows each one gets and which participants are large. The same seed gives the same split.
    min_rows : int, default 1
        How many rows everyone has at the least.

    Returns
    -------
    Split
        Whose row is which.

    Examples
    --------
    >>> from folkmoot.datasets import split_quantity
    >>> split_quantity(100, n=4).sizes
    array([16, 47, 24, 13])
    >>> split_quantity(100, n=4, skew=0).sizes
    array([25, 25, 25, 25])
    """
    rows = checks.integer("rows", y, least=1) if np.ndim(y) == 0 else column("y", y).size
    participants = _participants(n, rows)
    exponent = number("skew", skew)
    if not 0 <= exponent < math.inf:
        raise ValueError(f"skew must satisfy 0 <= skew < infinity: got skew={skew}")
    least = checks.integer("min_rows", min_rows, least=0)
    if participants * least > rows:
        raise ValueError(
            f"min_rows must satisfy n * min_rows <= rows: got n={participants}, min_rows={least}, rows={rows}"
        )
    weights = np.arange(1, participants + 1, dtype=np.float64) ** -exponent
    exact = (rows - participants * least) * weights / weights.sum()
    sizes = np.floor(exact).astype(np.int64)
    left = rows - participants * least - int(sizes.sum())
    sizes[np.argsort(sizes - exact, kind="stable")[:left]] += 1
    rng = generator(seed)
    sizes = rng.permutation(sizes + least)
    pieces = np.split(rng.permutation(rows), np.cumsum(sizes)[:-1])
    return Split(tuple(np.sort(piece).astype(np.int64) for piece in pieces), np.arange(participants))


def _gather(owner: npt.NDArray[np.integer[Any]], participants: int) -> tuple[Ints, ...]:
    """Row numbers in ascending order, one array per participant."""
    order = np.argsort(owner, kind="stable").astype(np.int64)
    return tuple(np.split(order, np.cumsum(np.bincount(owner, minlength=participants))[:-1]))


def _dirichlet(rng: np.random.Generator, alpha: float, n: int) -> Floats:
    """Shares of n participants; where doubles do not suffice, the limit of the law: all to one, or equal."""
    with np.errstate(all="ignore"):
        shares = rng.dirichlet(np.full(n, alpha))
    if not np.isfinite(shares).all() or shares.sum() == 0:
        shares = np.full(n, 1.0 / n) if alpha > 1 else np.eye(n)[rng.integers(n)]
    return shares


def _participants(n: object, rows: int) -> int:
    participants = checks.integer("n", n, least=1)
    if participants > rows:
        raise ValueError(f"n must satisfy n <= rows: got n={participants} participants, {rows} rows")
    return participants
