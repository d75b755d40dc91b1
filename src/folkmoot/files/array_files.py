"""Arrays in NumPy's format: nothing is made of one before its header and its size fit each other.

NumPy itself reads a header as long, and makes an array as large, as the first bytes say.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from folkmoot.arrays import Array

_WIDTHS: Final = {
    (1, 0): 2,
    (2, 0): 4,
}  # bytes that say how long the header is; version 3 is for named fields
_LONGEST: Final = 10_000  # bytes of a header, as for NumPy
_MOST: Final = 1 << 30  # bytes that an archive unpacks to


def map_array(path: Path) -> Array:
    """The array in a .npy file, mapped and not read; ValueError if there is none."""
    with path.open("rb") as file:
        try:
            _check(file)
        except Exception as error:  # a header is an expression of Python, and may be any
            raise ValueError(f"{path} is not an array of numbers in NumPy's format: {_said(error)}") from None
    found: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return found


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays in a .npz file by name; ValueError if it is none."""
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                size = sum(each.file_size for each in archive.infolist())
                if size > _MOST:
                    raise ValueError(f"it unpacks to {size:,} bytes, and {_MOST:,} is the most")
                return {
                    each.filename.removesuffix(".npy"): _member(archive, each) for each in archive.infolist()
                }
        except Exception as error:  # zipfile has errors of many kinds for what is damaged
            raise ValueError(
                f"{path} is not a .npz file of arrays of numbers or texts: {_said(error)}"
            ) from None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename} is compressed in a way that NumPy does not write")
    with archive.open(member) as opened:
        data = io.BytesIO(opened.read(member.file_size))
    _check(data)
    data.seek(0)
    found: Array = np.lib.format.read_array(data, allow_pickle=False)
    return found


def _check(file: BinaryIO) -> None:
    """An error unless a file is an array of plain values, whole, and nothing else."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    version = np.lib.format.read_magic(file)
    if version not in _WIDTHS:
        raise ValueError(f"its format is of version {version[0]}.{version[1]}")
    width = _WIDTHS[version]
    length = int.from_bytes(file.read(width), "little")
    if length > _LONGEST:
        raise ValueError(f"its header has {length:,} bytes")
    file.seek(-width, io.SEEK_CUR)
    read = np.lib.format.read_array_header_1_0 if width == 2 else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it holds objects of Python, which are not loaded")
    told, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if told != there:
        raise ValueError(f"its header tells of {told:,} bytes, and {there:,} are there")


def _said(error: Exception) -> str:
    """The first line of what an error says; it may quote all of a header."""
    return str(error).partition("\n")[0][:200] or type(error).__name__
