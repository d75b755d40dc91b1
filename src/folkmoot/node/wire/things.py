"""Inputs that are not rows of numbers: texts, and records of numbers, texts, booleans and null.

On the wire a chunk of them is lines of JSON, one per input. A line is a text, or the values of a record in
the order of the motion's columns. In memory they are arrays of objects: (input,) texts, (input, column)
values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np

from folkmoot.arrays import Array
from folkmoot.node.wire.schema import Column, Schema

TEXTS: Final = "texts"
RECORDS: Final = "records"
THINGS: Final = (TEXTS, RECORDS)
MOST_THING: Final = 32 * 1024  # bytes of one text or record, as JSON
MOST_FIELDS: Final = 1000

Kind: TypeAlias = Literal["number", "text", "boolean"]

_LARGEST: Final = sys.float_info.max
_TEXT: Final = msgspec.json.Decoder(str)
_RECORD: Final = msgspec.json.Decoder(list[str | bool | int | float | None])


def packed(rows: Array) -> list[bytes]:
    """A line of JSON for each input; ValueError if one is too long."""
    lines = [_line(row) for row in rows.tolist()]
    for place, line in enumerate(lines):
        if len(line) > MOST_THING:
            raise ValueError(
                f"input {place} must have at most {MOST_THING:,} bytes as JSON: got {len(line):,}; shorten it"
            )
    return lines


def _line(row: Any) -> bytes:
    try:
        return msgspec.json.encode(row) + b"\n"
    except UnicodeEncodeError:
        raise ValueError(f"a text must be Unicode without lone surrogates: got {row!r:.60}") from None


def unpacked(data: bytes, kind: str, schema: Schema) -> Array:
    """The inputs in a chunk; ValueError unless each is a text, or a record with these columns."""
    lines = data.split(b"\n")
    if lines.pop():
        raise ValueError("inputs must be whole lines of JSON")
    if any(len(line) >= MOST_THING for line in lines):
        raise ValueError(f"an input must have at most {MOST_THING:,} bytes")
    try:
        if kind == TEXTS:
            found = np.empty(len(lines), dtype=object)
            found[:] = [_TEXT.decode(line) for line in lines]
            return found
        rows = [_RECORD.decode(line) for line in lines]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"an input must be JSON of its kind: {error}") from None
    for place, row in enumerate(rows):
        if len(row) != len(schema):
            raise ValueError(f"a record must have {len(schema)} values: got {len(row)}")
        for column, value in zip(schema, row, strict=True):
            if not fits(value, column.kind):
                raise ValueError(f"field {column.name!r} of record {place} must be a {column.kind} or null")
    table = np.empty((len(rows), len(schema)), dtype=object)
    for place, row in enumerate(rows):
        table[place] = row
    return table


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a kind, or missing."""
    if value is None:
        return True
    if kind == "text":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    # Neither NaN nor an integer that no float can hold.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def texts_of(values: Sequence[Any], name: str) -> Array:
    """Texts as an array; ValueError if one is none."""
    odd = next((place for place, value in enumerate(values) if not isinstance(value, str)), None)
    if odd is not None:
        raise ValueError(f"{name} must hold texts: input {odd} is {values[odd]!r:.60}")
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def records_of(
    rows: Sequence[Mapping[str, Any]], name: str, declared: Sequence[Column] = ()
) -> tuple[Array, Schema]:
    """Records as an array with their columns; rows of numbers if all fields are numbers.

    A field that a record lacks is null, as NaN is. Fields without a declared column are of the kind of their
    values; ValueError if these differ.
    """
    names = list(dict.fromkeys(str(key) for row in rows for key in row))
    if declared and set(names) - {column.name for column in declared}:
        strange = next(key for key in names if key not in {column.name for column in declared})
        raise ValueError(f"{name} does not have the columns of its schema: {strange!r} is not known")
    names = [column.name for column in declared] or names
    if not 1 <= len(names) <= MOST_FIELDS:
        raise ValueError(f"{name} must hold records of 1 to {MOST_FIELDS:,} fields: got {len(names):,}")
    kinds = {column.name: column for column in declared}
    schema, table = [], np.empty((len(rows), len(names)), dtype=object)
    for number, field in enumerate(names):
        values = [_plain(row.get(field)) for row in rows]
        column = kinds.get(field) or Column(field, kind=_kind_of(values, field, name))
        wrong = next((place for place, value in enumerate(values) if not fits(value, column.kind)), None)
        if wrong is not None:
            raise ValueError(
                f"{name}: field {field!r} must be a {column.kind} or null: got {values[wrong]!r:.60} in "
                f"input {wrong}"
            )
        schema.append(column)
        table[:, number] = values
    if all(column.kind == "number" for column in schema):
        return np.where(table == None, np.nan, table).astype(np.float64), tuple(schema)  # noqa: E711
    return table, tuple(schema)


def _kind_of(values: Sequence[Any], field: str, name: str) -> Kind:
    kinds: dict[Kind, int] = {}
    for place, value in enumerate(values):
        if value is not None:
            kind: Kind = (
                "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
            )
            kinds.setdefault(kind, place)
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise ValueError(
            f"{name}: field {field!r} must be of one kind: got a {one} in input {first}, and a {other} in "
            f"input {second}"
        )
    return next(iter(kinds), "number")


def _plain(value: Any) -> Any:
    """A value of Python; None for what is missing."""
    found = value.item() if isinstance(value, np.generic) else value
    if isinstance(found, float) and not math.isfinite(found):
        return None
    return None if type(found).__name__ in ("NAType", "NaTType") else found
