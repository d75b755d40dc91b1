"""The inputs of a motion as its asker has them, in chunks named by their content.

They are rows of numbers, texts or records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from folkmoot.arrays import Array
from folkmoot.node.session.header import NUMBERS
from folkmoot.node.wire.schema import Column, Schema, align, check_schema
from folkmoot.node.wire.things import RECORDS, TEXTS, packed, records_of, texts_of

CHUNK_BYTES = 256 * 1024  # of the inputs, at most
_LOOKED_AT = 8192  # rows at a time, so that a mapped file need not fit into memory


class Batch:
    """The inputs of a motion: rows of numbers, texts or records.

    Parameters
    ----------
    X : array-like
        Rows of numbers, of the shape (input, column); a list of texts; or a list of records, which are
        dictionaries. Records of numbers alone are rows of numbers. A mapped array
        (``np.load(..., mmap_mode="r")``) is read chunk by chunk and may be larger than memory.
    name : str
        Its name in error messages, such as the file that it comes from.
    schema : sequence of Column
        The columns: names, units and ranges. A value outside a range is refused. Without names the
        participants cannot check the columns.

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

    def __init__(self, X: Any, name: str = "X", schema: Sequence[Column] = ()) -> None:
        self._lines: list[bytes] = []
        values = X if isinstance(X, list) else ()
        if values and isinstance(values[0], str):
            self._hold(texts_of(values, name), TEXTS, name, tuple(schema))
            return
        if values and all(isinstance(each, Mapping) for each in values):
            array, columns = records_of(values, name, schema)
            if array.dtype == object:
                self._hold(array, RECORDS, name, columns)
                return
            X, schema = array, columns
        array = np.asanyarray(X)
        if array.ndim != 2:
            raise ValueError(f"{name} must hold rows and columns: got the shape {array.shape}")
        if 0 in array.shape:
            raise ValueError(f"{name} must hold at least one input: got the shape {array.shape}")
        plain = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype
        if plain.str not in NUMBERS:
            raise ValueError(f"{name} must hold numbers: got an array of {array.dtype}")
        self.name = name
        self.dtype = plain.str
        self.array: Array = array if plain == array.dtype else array.astype(plain)
        self.schema: Schema = tuple(schema)
        check_schema(self.schema, self.columns, f"the schema of {name}")
        self._check_ranges()

    @classmethod
    def of(cls, array: Array, *, schema: Schema) -> Batch:
        """Texts or records that are arrays of objects already."""
        made = cls.__new__(cls)
        made._hold(array, TEXTS if array.ndim == 1 else RECORDS, "X", schema)
        return made

    def _hold(self, array: Array, dtype: str, name: str, schema: Schema) -> None:
        if not len(array):
            raise ValueError(f"{name} must hold at least one input: got none")
        self.name, self.array, self.dtype, self.schema = name, array, dtype, schema
        try:
            self._lines = packed(array)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        check_schema(self.schema, self.columns, f"the schema of {name}")
        self._check_ranges()

    @property
    def of_things(self) -> bool:
        """Whether these are texts or records."""
        return bool(self._lines)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def columns(self) -> int:
        """Values per input."""
        return 1 if self.array.ndim == 1 else int(self.array.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of all chunks."""
        return sum(map(len, self._lines)) if self.of_things else int(self.array.nbytes)

    @property
    def chunk_rows(self) -> int:
        """Inputs per chunk: as many as fit, and at least one."""
        if self.of_things:
            return max(1, CHUNK_BYTES // max(map(len, self._lines)))
        return max(1, CHUNK_BYTES // (self.columns * self.array.dtype.itemsize))

    def chunks(self) -> Iterator[bytes]:
        """The inputs in the form in which they are sent."""
        for index in range(-(-len(self) // self.chunk_rows)):
            yield self.chunk(index)

    def chunk(self, index: int) -> bytes:
        """The inputs of a chunk."""
        start, stop = index * self.chunk_rows, (index + 1) * self.chunk_rows
        return b"".join(self._lines[start:stop]) if self.of_things else self.array[start:stop].tobytes()

    @property
    def plain(self) -> Any:
        """The inputs as a client sends them: an array of numbers, a list of texts, or a list of records."""
        if self.dtype == RECORDS:
            names = [column.name for column in self.schema]
            return [dict(zip(names, row, strict=True)) for row in self.array.tolist()]
        return self.array.tolist() if self.of_things else self.array

    def first(self, many: int) -> list[list[Any]]:
        """The first inputs, for people: None is a missing value, and a text a row of one."""
        if self.of_things:
            return [row if isinstance(row, list) else [row] for row in self.array[:many].tolist()]
        rows = np.asarray(self.array[:many], dtype=np.float64)
        return [[float(x) if np.isfinite(x) else None for x in row] for row in rows]

    def digests(self) -> tuple[bytes, ...]:
        """The names of the chunks."""
        return tuple(hashlib.sha256(chunk).digest() for chunk in self.chunks())

    @property
    def missing(self) -> int:
        """Inputs with a missing or infinite value, on which models that cannot take them abstain."""
        if self.of_things:
            return sum(None in row for row in self.array.tolist()) if self.array.ndim == 2 else 0
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
