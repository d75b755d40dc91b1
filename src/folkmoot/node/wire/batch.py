"""The inputs of a motion as its asker has them: rows of numbers, in chunks named by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array
from folkmoot.node.session.header import DTYPES
from folkmoot.node.wire.schema import Column, Schema, align, check_schema, described

CHUNK_BYTES = 256 * 1024  # of the inputs, at most
_LOOKED_AT = 8192  # rows at a time, so that a mapped file need not fit into memory


class Batch:
    """The inputs of a motion: rows of numbers.

    Parameters
    ----------
    X : array-like
        Shape (input, column). A mapped array (``np.load(..., mmap_mode="r")``) is read chunk by chunk and may
        be larger than memory. A data frame's columns keep their names, if these are text.
    name : str
        What it is called in error messages, such as the file that it comes from.
    schema : sequence of Column
        What the columns are: names, units and ranges. Columns that have names already are found by them; a
        value outside a range is refused. Without names the participants cannot check the columns.

    Examples
    --------
    >>> from folkmoot.node.wire.batch import Batch
    >>> batch = Batch([[1.0, 2.0], [3.0, 4.0], [5.0, float("nan")]])
    >>> len(batch), batch.columns, batch.dtype, batch.missing
    (3, 2, '<f8', 1)
    >>> from folkmoot.node.wire.schema import Column
    >>> Batch([[130.0]], schema=[Column("age", "years", 0, 120)])
    Traceback (most recent call last):
        ...
    ValueError: X: column 'age' of input 0 must be 0.0 to 120.0 years: got 130.0
    """

    def __init__(self, X: npt.ArrayLike, name: str = "X", schema: Sequence[Column] = ()) -> None:
        array = np.asanyarray(X)
        if array.ndim != 2:
            raise ValueError(f"{name} must hold rows and columns: got the shape {array.shape}")
        if 0 in array.shape:
            raise ValueError(f"{name} must hold at least one input: got the shape {array.shape}")
        plain = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype
        if plain.str not in DTYPES:
            raise ValueError(f"{name} must hold numbers: got an array of {array.dtype}")
        self.name = name
        self.array: Array = array if plain == array.dtype else array.astype(plain)
        names = _names(X)
        self.schema: Schema = tuple(schema) or tuple(Column(each) for each in names)
        check_schema(self.schema, self.columns, f"the schema of {name}")
        if schema and names:
            self.schema = described(names, self.schema, f"{name} does not have the columns of its schema")
        self._check_ranges()

    def __len__(self) -> int:
        return len(self.array)

    @property
    def columns(self) -> int:
        """Numbers an input."""
        return int(self.array.shape[1])

    @property
    def dtype(self) -> str:
        """What the numbers are, as NumPy writes it."""
        return self.array.dtype.str

    @property
    def chunk_rows(self) -> int:
        """Inputs a chunk: as many as fit, and at least one."""
        return max(1, CHUNK_BYTES // (self.columns * self.array.dtype.itemsize))

    def chunks(self) -> Iterator[bytes]:
        """The inputs in the form in which they are sent."""
        for start in range(0, len(self), self.chunk_rows):
            yield self.array[start : start + self.chunk_rows].tobytes()

    def digests(self) -> tuple[bytes, ...]:
        """The names of the chunks."""
        return tuple(hashlib.sha256(chunk).digest() for chunk in self.chunks())

    @property
    def missing(self) -> int:
        """Inputs with a missing or infinite value, on which models that cannot take them abstain."""
        if self.array.dtype.kind != "f":
            return 0
        return sum(int((~np.isfinite(part)).any(axis=1).sum()) for _, part in self._parts())

    def _parts(self) -> Iterator[tuple[int, Array]]:
        """Some rows at a time, and which the first of them is."""
        for start in range(0, len(self), _LOOKED_AT):
            yield start, self.array[start : start + _LOOKED_AT]

    def _check_ranges(self) -> None:
        if all(column.low is None and column.high is None for column in self.schema):
            return
        fit = align((), self.schema, self.columns)
        for start, part in self._parts():
            outside = fit.outside(part)
            if outside.any():
                row, number = (int(each[0]) for each in np.nonzero(outside))
                column = self.schema[number]
                bounds = f"{fit.low[number]} to {fit.high[number]} {column.unit}".rstrip()
                raise ValueError(
                    f"{self.name}: column {column.name!r} of input {start + row} must be {bounds}: "
                    f"got {part[row, number]}"
                )


def _names(X: object) -> list[str]:
    """The names of a data frame's columns, if all are text; else none."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None or callable(columns) else list(columns)
    return names if all(isinstance(name, str) for name in names) else []
