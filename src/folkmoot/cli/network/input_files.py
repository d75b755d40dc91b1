"""Inputs for a motion: rows of numbers from .npy or .csv; what is wrong is said with the file and the
line.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from folkmoot.arrays import Array, Floats
from folkmoot.network.motion import DTYPES


def read_inputs(path: Path) -> Array:
    """A 2-d array of numbers; .npy files are mapped, not read, so they may be larger than memory."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _read_npy(path)
    if suffix == ".csv":
        return _read_csv(path)
    raise ValueError(f"inputs must be a .npy or .csv file: got {path}")


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


def _read_csv(path: Path) -> Floats:
    rows: list[Floats] = []
    width = 0
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        try:
            for row in reader:
                if not any(cell.strip() for cell in row):
                    continue
                if not width:
                    width = len(row)
                    if not any(_is_number(cell) for cell in row):
                        continue  # the names of the columns
                if len(row) != width:
                    raise ValueError(
                        f"{path}, line {reader.line_num}: expected {width} cells, got {len(row)}"
                    )
                rows.append(np.array([_number(path, reader.line_num, cell) for cell in row]))
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not a text file in UTF-8") from None
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
    if not rows:
        raise ValueError(f"{path} must hold at least one input: got none")
    return np.stack(rows)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(path: Path, line: int, cell: str) -> float:
    if not cell.strip():
        return math.nan
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{path}, line {line}: expected a number, got {cell.strip()!r}") from None
