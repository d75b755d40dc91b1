"""The inputs of a motion as its asker has them: rows of numbers, in chunks named by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array
from folkmoot.network.wire.motion import CHUNK_BYTES, DTYPES

_LOOKED_AT = 8192  # rows at a time, so that a mapped file need not fit into memory


class Batch:
    """The inputs of a motion: rows of numbers.

    Parameters
    ----------
    X : array-like
        Shape (input, column). A mapped array (``np.load(..., mmap_mode="r")``) is read chunk by chunk and may
        be larger than memory.
    name : str
        What it is called in error messages, such as the file that it comes from.

    Examples
    --------
    >>> from folkmoot.network import Batch
    >>> batch = Batch([[1.0, 2.0], [3.0, 4.0], [5.0, float("nan")]])
    >>> len(batch), batch.columns, batch.dtype, batch.missing
    (3, 2, '<f8', 1)
    """

    def __init__(self, X: npt.ArrayLike, name: str = "X") -> None:
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
        parts = (self.array[start : start + _LOOKED_AT] for start in range(0, len(self), _LOOKED_AT))
        return sum(int((~np.isfinite(part)).any(axis=1).sum()) for part in parts)
