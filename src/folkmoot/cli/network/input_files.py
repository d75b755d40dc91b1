"""Inputs for a motion: rows of numbers from .npy or from a table, whose first line may be a header."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from folkmoot.network import Batch
from folkmoot.tabular import open_table


def read_inputs(path: Path) -> Batch:
    """Rows of numbers; .npy files are mapped, not read, so they may be larger than memory."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        raise ValueError(f"inputs must be one array in a .npy file, or a table: got {path}")
    return _read_npy(path) if suffix == ".npy" else _read_table(path)


def _read_npy(path: Path) -> Batch:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        if isinstance(error, EOFError) or "magic" in str(error) or "pickle" in str(error).lower():
            raise ValueError(f"{path} is not an array of numbers in NumPy's format") from None
        raise ValueError(f"{path}: {error}") from None
    return Batch(array, str(path))


def _read_table(path: Path) -> Batch:
    with open_table(path, header=False) as table:
        rows = [np.array(table.reals(line, cells)) for line, cells in table.rows()]
    return Batch(np.stack(rows), str(path))
