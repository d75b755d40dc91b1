"""Inputs for a motion: rows of numbers from .npy or from a table, whose first line may be a header."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from folkmoot.arrays import Array, Floats
from folkmoot.network.wire.motion import DTYPES
from folkmoot.tabular import open_table


def read_inputs(path: Path) -> Array:
    """A 2-d array of numbers; .npy files are mapped, not read, so they may be larger than memory."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _read_npy(path)
    if suffix == ".npz":
        raise ValueError(f"inputs must be one array in a .npy file, or a table: got {path}")
    return _read_table(path)


def _read_npy(path: Path) -> Array:
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        if isinstance(error, EOFError) or "magic" in str(error) or "pickle" in str(error).lower():
            raise ValueError(f"{path} is not an array of numbers in NumPy's format") from None
        raise ValueError(f"{path}: {error}") from None
    if array.ndim != 2:
        raise ValueError(f"{path} must hold rows and columns: got the shape {array.shape}")
    if 0 in array.shape:
        raise ValueError(f"{path} must hold at least one input: got the shape {array.shape}")
    plain = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype
    if plain.str not in DTYPES:
        raise ValueError(f"{path} must hold numbers: got an array of {array.dtype}")
    return array if plain == array.dtype else array.astype(plain)


def _read_table(path: Path) -> Floats:
    with open_table(path, header=False) as table:
        return np.stack([np.array(table.reals(line, cells)) for line, cells in table.rows()])
