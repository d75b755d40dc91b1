"""A division of rows over participants: whose row is which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Ints
from folkmoot.datasets.summary import Summary, summarise


@dataclass(frozen=True, eq=False)
class Split:
    """A division of rows over participants: ``split[i]`` are the rows of participant i.

    Parameters
    ----------
    indices : tuple of ndarray of int
        The row numbers of each participant; no row is in two of the arrays.
    names : ndarray, shape (participant,)
        What each is called: 0, 1, 2, ... unless the split follows names that were there before.

    Examples
    --------
    >>> from folkmoot.datasets import split_by_group
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
        """How many rows each participant has."""
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
