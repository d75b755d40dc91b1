"""Ways to share the rows of one table out among participants, from natural to badly skewed.

Each returns a ``Split``: every row goes to exactly one participant, and the same seed gives the same split.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.datasets.summary import Summary, summarise


@dataclass(frozen=True, eq=False)
class Split:
    """A division of rows over participants: ``split[i]`` are the rows of participant i.

    Parameters
    ----------
    indices : tuple of ndarray of int
        The row numbers of each participant; no row is in two of the arrays.
    names : ndarray, shape (participant,)
        Name of each part: 0, 1, 2, ... unless the split follows names that were there before.

    Examples
    --------
    >>> from folkmoot.datasets.splits import split_by_group
    >>> split = split_by_group(["north", "south", "north"])
    >>> split[0]
    array([0, 2])
    >>> split.sizes
    array([2, 1])
    >>> split.groups()
    array(['north', 'south', 'north'], dtype='<U5')
    """

    indices: tuple[Ints, ...]
    names: Array

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, participant: int) -> Ints:
        return self.indices[participant]

    def __iter__(self) -> Iterator[Ints]:
        return iter(self.indices)

    @property
    def sizes(self) -> Ints:
        """Rows by participant."""
        return np.array([rows.size for rows in self.indices], dtype=np.int64)

    def groups(self, n_rows: int | None = None) -> Array:
        """The participant of every row, as ``fit(X, y, groups=...)`` wants it."""
        held = int(self.sizes.sum())
        rows = held if n_rows is None else checks.integer("n_rows", n_rows, least=1)
        # No row is in two arrays, so as many rows as are held, all below n_rows, means each exactly once.
        largest = max((int(mine.max()) for mine in self.indices if mine.size), default=-1)
        if rows != held or largest >= rows:
            raise ValueError(
                f"n_rows must be the number of rows that were split ({max(held, largest + 1)}): got {rows}"
            )
        position = np.zeros(rows, dtype=np.int64)
        for participant, mine in enumerate(self.indices):
            position[mine] = participant
        return np.asarray(self.names[position])

    def summary(self, y: npt.ArrayLike) -> Summary:
        """Rows per participant and class, to print or to draw."""
        return summarise(self.groups(np.asarray(y).shape[0]), y, participants=self.names)


def split_by_group(groups: npt.ArrayLike) -> Split:
    """Split rows as the data come: one participant for each different value of ``groups``.

    ``groups`` (row,): The participant of each row, by number or name.
    """
    whose = _column("groups", groups)
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
    draw is then repaired, with as few single rows as needed, until everyone has ``min_rows`` rows of
    ``min_classes`` different classes (``_repair`` says how).

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
        The least number of rows per participant.
    min_classes : int, default 0
        The least number of classes per participant.

    Returns
    -------
    Split
        The participant of each row.

    Examples
    --------
    >>> from folkmoot.datasets import split_dirichlet
    >>> y = [0] * 30 + [1] * 30
    >>> split_dirichlet(y, n=3, alpha=1.0, seed=1).summary(y).counts
    array([[ 4, 22],
           [ 5,  5],
           [21,  3]])
    """
    labels = _column("y", y)
    participants = _participants(n, labels.size)
    concentration = checks.number("alpha", alpha)
    if not 0 < concentration < math.inf:
        raise ValueError(f"alpha must satisfy 0 < alpha < infinity: got alpha={alpha}")
    least = checks.integer("min_rows", min_rows, least=0)
    variety = checks.integer("min_classes", min_classes, least=0)
    rng = checks.generator(seed)
    classes, which = np.unique(labels, return_inverse=True)
    owner = np.empty(labels.size, dtype=np.int64)
    for c in range(classes.size):
        rows = rng.permutation(np.flatnonzero(which == c))
        shares = _dirichlet(rng, concentration, participants)
        cuts = np.rint(np.cumsum(shares)[:-1] * rows.size).astype(np.int64)
        owner[rows] = np.repeat(np.arange(participants), np.diff(cuts, prepend=0, append=rows.size))
    _repair(owner, which, participants, least, variety)
    return Split(_gather(owner, participants), np.arange(participants))


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


def _repair(
    owner: Ints, column: npt.NDArray[np.integer[Any]], n: int, min_rows: int, min_classes: int
) -> None:
    """The least change to a random division that gives every participant enough rows of enough classes.

    ``owner`` (the participant of each row) is changed in place; ``column`` is the class of each row. One row
    moves at a time, always to the first participant that lacks something:

    1. A participant with fewer than ``min_rows`` rows takes one from the participant with the most rows, of
       the class that one has most of.
    2. A participant with fewer than ``min_classes`` classes takes a row of a class it lacks from the
       participant with the most rows of that class, which must keep enough rows and classes of its own; if
       nobody can spare one, it swaps a row of the class it has most of instead, so that nobody's number of
       rows changes.

    Ties go to the lowest number, so the repair draws nothing and is the same every time.
    """
    classes = int(column.max()) + 1
    if n * max(min_rows, min_classes) > owner.size:
        name, least = ("min_rows", min_rows) if min_rows >= min_classes else ("min_classes", min_classes)
        raise ValueError(
            f"{name} must satisfy n * {name} <= rows: got n={n}, {name}={least}, rows={owner.size}"
        )
    if min_classes > classes:
        raise ValueError(
            f"min_classes must satisfy min_classes <= classes of y: got min_classes={min_classes}, "
            f"{classes} classes"
        )
    least = max(min_rows, min_classes)
    counts = np.zeros((n, classes), dtype=np.int64)
    np.add.at(counts, (owner, column), 1)

    def move(giver: int, taker: int, c: int) -> None:
        owner[np.flatnonzero((owner == giver) & (column == c))[0]] = taker
        counts[giver, c] -= 1
        counts[taker, c] += 1

    for taker in range(n):
        while counts[taker].sum() < least:
            giver = int(counts.sum(axis=1).argmax())
            move(giver, taker, int(counts[giver].argmax()))
    for taker in range(n):
        while np.count_nonzero(counts[taker]) < min_classes:
            giver, c, swap = _who_can_spare(counts, taker, least, min_classes)
            if swap:
                move(taker, giver, int(counts[taker].argmax()))
            move(giver, taker, c)


def _who_can_spare(counts: Ints, taker: int, least: int, min_classes: int) -> tuple[int, int, bool]:
    """The giver, the class it gives, and whether it must get a row back."""
    variety = np.count_nonzero(counts, axis=1)
    lacking = counts[taker] == 0
    spare = (counts > 1) | ((counts == 1) & (variety > min_classes)[:, None])
    swappable = (counts > 0) & lacking & spare
    givable = swappable & (counts.sum(axis=1) > least)[:, None]
    # A swap hands back a row of the taker's most frequent class: a giver that lacks it loses no variety.
    got = int(counts[taker].argmax())
    gains = (counts[:, got] == 0)[:, None] & (counts > 0) & lacking
    for candidates, swap in ((givable, False), (swappable | gains, True)):
        if candidates.any():
            giver, c = np.unravel_index(int(np.where(candidates, counts, -1).argmax()), counts.shape)
            return int(giver), int(c), swap
    raise ValueError(
        f"min_classes={min_classes} cannot be given to every participant: y has too few rows of its "
        "rarer classes"
    )


def _column(name: str, values: npt.ArrayLike) -> Array:
    """One value per row, and at least one row."""
    result = np.asarray(values)
    if result.ndim != 1 or result.size == 0:
        raise ValueError(f"{name} must be one value per row: got an array of shape {result.shape}")
    return result
