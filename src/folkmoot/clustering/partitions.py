"""Partitions: which cluster each object is in, by each participant; and how alike two of them are.

A partition is a row of integers. The number of a cluster means nothing. Two rows that put the same objects
together are the same partition. -1 is an object that the participant has not seen.

The adjusted Rand index (L. Hubert and P. Arabie, "Comparing partitions", Journal of Classification 2, 1985)
is 1 for the same partition and 0 on average for unrelated ones. All of them come from one sparse product: the
table of how many objects each two clusters share. Only objects that both participants have seen are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array, Floats, Ints

if TYPE_CHECKING:
    from scipy import sparse

UNSEEN: Final = -1


def check_partitions(partitions: npt.ArrayLike) -> Ints:
    """``partitions`` as a (participant, object) array of numbers; the first entry that is none is named."""
    array = _whole_table(partitions)
    if array.ndim != 2:
        raise ValueError(f"partitions must have the shape (participant, object): got the shape {array.shape}")
    if array.shape[0] < 2:
        raise ValueError(f"partitions must be of at least two participants: got {array.shape[0]}")
    if array.shape[1] < 2:
        raise ValueError(f"partitions must hold at least two objects: got {array.shape[1]}")
    whole = _integers(array)
    below = np.argwhere(whole < UNSEEN)
    if below.size:
        i, j = (int(place) for place in below[0])
        raise ValueError(
            f"partitions[{i}, {j}] must be a cluster number >= 0, or -1 for an object that participant {i} "
            f"has not seen: got {whole[i, j]}"
        )
    blind = np.flatnonzero((whole == UNSEEN).all(axis=1))
    if blind.size:
        raise ValueError(
            f"partitions[{blind[0]}] must say something: participant {blind[0]} has seen no object (all -1); "
            "leave it out"
        )
    return whole


def _whole_table(partitions: npt.ArrayLike) -> Array:
    try:
        array = np.asarray(partitions)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype == object and isinstance(partitions, (list, tuple)):
        lengths = [np.size(row) for row in partitions]
        other = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
        if other is not None:
            raise ValueError(
                "partitions must be of one length, with -1 for objects not seen: participant 0 has "
                f"{lengths[0]} objects, participant {other} has {lengths[other]}"
            )
    return array


def _integers(array: Array) -> Ints:
    """Whole numbers; floats that are whole, as tables with gaps often hold them, are taken as such."""
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        odd = np.argwhere(~np.isfinite(array) | (array != np.floor(array)))
        if not odd.size:
            return array.astype(np.int64)
        i, j = (int(place) for place in odd[0])
        raise ValueError(
            f"partitions[{i}, {j}] must be a cluster number, or -1 for an object not seen: got {array[i, j]}"
        )
    raise TypeError(
        f"partitions must be whole numbers: got an array of {array.dtype}; number names with "
        "sklearn.preprocessing.LabelEncoder, or give a file to folkmoot cluster"
    )


def indicator(partitions: Ints) -> tuple[sparse.csr_matrix, Ints]:
    """(object, cluster) matrix of 0 and 1, clusters of all participants, and where each one's start."""
    from scipy import sparse

    sizes = partitions.max(axis=1) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)])
    objects = partitions.shape[1]
    columns = (partitions + starts[:-1, None]).T  # object by object, as rows of the matrix are
    seen = (partitions >= 0).T
    pointer = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    entries = columns[seen]
    matrix = sparse.csr_matrix((np.ones(len(entries)), entries, pointer), shape=(objects, int(starts[-1])))
    return matrix, starts


@dataclass(frozen=True, eq=False)
class Crossing:
    """Objects shared by each two clusters of partitions."""

    table: Floats  # (cluster of the rows, cluster of the columns)
    rows: Ints  # where each partition's clusters start
    columns: Ints

    def block(self, i: int, j: int) -> Floats:
        """The contingency table of partition i (rows) and j (columns)."""
        return self.table[self.rows[i] : self.rows[i + 1], self.columns[j] : self.columns[j + 1]]

    @property
    def shared(self) -> Floats:
        """(row partition, column partition): how many objects both have seen."""
        return _added(_added(self.table, self.rows, 0), self.columns, 1)

    @property
    def rand(self) -> Floats:
        """(row partition, column partition): adjusted Rand indices on the objects that both have seen.

        0 if these are fewer than two, or if both hold one cluster (or all objects apart). Such a partition
        says nothing.
        """
        table, rows, columns = self.table, self.rows, self.columns
        together = _added(_added(_pairs(table), rows, 0), columns, 1)
        by_row = _added(_pairs(_added(table, columns, 1)), rows, 0)
        by_column = _added(_pairs(_added(table, rows, 0)), columns, 1)
        expected = by_row * by_column / np.maximum(_pairs(self.shared), 1)
        room = (by_row + by_column) / 2 - expected
        indices: Floats = np.divide(together - expected, room, out=np.zeros_like(room), where=room > 1e-9)
        return indices


def cross(partitions: Ints, others: Ints | None = None) -> Crossing:
    """The shared objects of partitions, or of two sets of partitions."""
    matrix, starts = indicator(partitions)
    if others is None:
        return Crossing(np.asarray((matrix.T @ matrix).toarray()), starts, starts)
    more, more_starts = indicator(others)
    return Crossing(np.asarray((matrix.T @ more).toarray()), starts, more_starts)


def matching(table: Floats) -> Ints:
    """(column,): the row that each column goes best with, no two with the same row (the Hungarian method).

    With more columns than rows, the columns left over take the numbers after the last row.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-table)
    result = np.full(table.shape[1], UNSEEN, dtype=np.int64)
    result[columns] = rows
    spare = np.flatnonzero(result < 0)
    result[spare] = table.shape[0] + np.arange(len(spare))
    return result


def renamed(partition: Ints, names: Ints) -> Ints:
    """The partition with its clusters called so; -1 stays."""
    return np.where(partition >= 0, names[np.maximum(partition, 0)], UNSEEN)


def medoid(partitions: Ints, weights: Floats | None = None) -> int:
    """The partition that is most like the others by the mean adjusted Rand index; the first of equals."""
    indices = cross(partitions).rand
    scores = indices @ (np.ones(len(indices)) if weights is None else weights)
    return int(scores.argmax())


def _pairs(counts: Any) -> Any:
    return counts * (counts - 1) / 2


def _added(table: Floats, starts: Ints, axis: int) -> Floats:
    """Sums over the clusters of each partition."""
    return np.add.reduceat(table, starts[:-1], axis=axis)
