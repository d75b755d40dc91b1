"""Messages of a worker and its parent: arrays by type and shape, failures; and arrays as a model takes them.

The parent decodes what may come of a hostile file. So a type is one of a few, a shape must fit the bytes, and
nothing is unpickled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
import numpy as np

from folkmoot.arrays import Array

_PLAIN: Final = re.compile(r"[<>|](b1|[iu][1248]|f[248])")
_TEXT: Final = 2000  # characters of the text of an error

Reply = TypeVar("Reply")


class Numbers(msgspec.Struct, frozen=True, tag=True):
    """An array of numbers."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @property
    def array(self) -> Array:
        """The array, if these are one."""
        if _PLAIN.fullmatch(self.dtype) is None or any(each < 0 for each in self.shape):
            raise ValueError("it answers with an array that is none")
        dtype = np.dtype(self.dtype)
        if math.prod(self.shape) * dtype.itemsize != len(self.data):
            raise ValueError("it answers with an array whose size does not fit its shape")
        return np.frombuffer(self.data, dtype).reshape(self.shape)


class Labels(msgspec.Struct, frozen=True, tag=True):
    """An array of labels of any kind, or of the values of records; None is no answer, or a missing value."""

    values: list[str | bool | int | float | None]
    shape: tuple[int, ...]

    @property
    def array(self) -> Array:
        """The array, if these are one."""
        if any(each < 0 for each in self.shape) or math.prod(self.shape) != len(self.values):
            raise ValueError("it answers with an array whose size does not fit its shape")
        found = np.empty(len(self.values), dtype=object)
        found[:] = self.values
        return found.reshape(self.shape)


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """The facts about a loaded file, and warnings."""

    facts: msgspec.Raw
    warnings: list[str]


class Failed(msgspec.Struct, frozen=True, tag=True):
    """An exception: its kind and text."""

    kind: str
    text: str

    def __str__(self) -> str:
        text = _one_line(self.text[:_TEXT])
        return f"{_one_line(self.kind[:80])}: {text}" if text else _one_line(self.kind[:80])


AnyArray: TypeAlias = Numbers | Labels


def packed(values: Any) -> AnyArray:
    """An array as it is sent; ValueError if something in it is neither a number nor a text."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        return Numbers(array.dtype.str, array.shape, array.tobytes())
    return Labels([_plain(each) for each in array.ravel().tolist()], array.shape)


def _plain(label: Any) -> str | bool | int | float | None:
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, float) and isinstance(label, np.generic) and not value.is_integer():
        return str(label)  # as its own type shows it
    if isinstance(value, bytes):
        return value.decode()
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return value
    raise ValueError(f"a label must be text or a finite number: got {label!r:.200}")


def given(rows: Array, names: Sequence[str], *, framed: bool) -> Any:
    """The rows as a model is shown them: numbers as they are, texts as a list, records as a frame or dicts.

    ``framed``: it was fitted on a data frame, so records are one, with its columns by name. Others get a
    dictionary per record, as ``DictVectorizer`` takes them.
    """
    if rows.dtype != object:
        return rows
    if rows.ndim == 1:
        return rows.tolist()
    if not framed:
        return [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names)).infer_objects()


def failed(error: BaseException) -> Failed:
    """An exception as it is sent."""
    return Failed(type(error).__name__[:80], str(error)[:_TEXT])


def decoded(frame: bytes, kind: type[Reply]) -> Reply:
    """The message of a worker; ValueError for another kind."""
    try:
        found: Reply = msgspec.msgpack.decode(frame, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"it answers with something else than an answer: {_one_line(str(error))}") from None
    return found


def _one_line(text: str) -> str:
    """What a hostile file may have written, without line breaks and control characters."""
    return "".join(each if each.isprintable() else " " for each in text)
