"""Inputs of a motion and their schemas in files.

=============  =====================================================================================
file           inputs
=============  =====================================================================================
``.npy``       rows of numbers, mapped and not read
``.txt``       a text per line; blank lines are left out
``.jsonl``     a JSON value per line: texts, records (objects), or rows (lists of numbers)
a table        CSV or parquet. Without a column of words it is rows of numbers, else it is records.
=============  =====================================================================================

A schema says what the columns of inputs or of a model are called, their units and their ranges. A file
``NAME.schema.toml`` beside ``NAME.skops``, ``NAME.onnx`` or ``NAME.pkl`` is that model's without being asked
for. Columns are in the order in which the model takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import numpy as np

from folkmoot.files.array_files import map_array
from folkmoot.files.json_lines import JSON_LINES, json_lines, text_lines
from folkmoot.files.tabular import Table, open_table, text_table
from folkmoot.node.membership.fields import converted, read_toml, toml_string
from folkmoot.node.service import interface
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.schema import Column, Schema, check_schema, described

SUFFIX: Final = ".schema.toml"


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The tables of a file."""

    column: Annotated[list[interface.Column], msgspec.Meta(min_length=1)]


def read_schema(path: Path) -> Schema:
    """The columns that a file declares; ValueError, with the file and the column, if it declares none."""
    try:
        found = converted(read_toml(path), _File).column
    except ValueError as error:
        raise ValueError(f'{path} must hold [[column]] tables, each with name = "...": {error}') from None
    schema = tuple(Column(*msgspec.structs.astuple(each)) for each in found)
    check_schema(schema, len(schema), str(path))
    return schema


def schema_beside(model: str) -> Path | None:
    """The file beside a model's own that declares its columns, if there is one."""
    path = Path(model).with_suffix(SUFFIX) if Path(model).suffix else None
    return path if path is not None and path.is_file() else None


def schema_text(schema: Schema) -> str:
    """A file that declares these columns; whoever keeps it may add units and ranges."""
    lines = ["# What the model takes, in its order; unit, low and high may be added to a column of numbers."]
    for column in schema:
        kind = "" if column.kind == "number" else f"\nkind = {toml_string(column.kind)}"
        lines.append(f"[[column]]\nname = {toml_string(column.name)}{kind}")
    return "\n".join(lines) + "\n"


def read_inputs(path: Path, schema: Path | None = None) -> Batch:
    """The inputs in a file; .npy files are mapped, so they may be larger than memory.

    A table's header names the columns. ``schema`` is a file that declares them: those of a table or of
    records by name, those of an array in their order.
    """
    declared = () if schema is None else read_schema(schema)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        raise ValueError(f"inputs must be one array in a .npy file, or a table: got {path}")
    if suffix == ".npy":
        return Batch(map_array(path), str(path), declared)
    if suffix == ".txt":
        texts = [text for _, text in text_lines(path)]
        return Batch(_some(texts, path), str(path), declared)
    if suffix in JSON_LINES:
        return Batch(_alike(path), str(path), declared)
    with open_table(path, header=False) as table:
        return _inputs_of(table, declared)


def inputs_in_text(data: bytes, name: str) -> Batch:
    """The inputs in a table that was sent as text: what ``read_inputs`` makes of a file with these bytes."""
    with text_table(data, name, header=False) as table:
        return _inputs_of(table, ())


def _some(values: list[Any], path: Path) -> list[Any]:
    if not values:
        raise ValueError(f"{path} is empty: it has no inputs")
    return values


def _alike(path: Path) -> list[Any]:
    """JSON values of one kind: texts, objects or lists of numbers."""
    found: list[Any] = []
    kinds: dict[type, str] = {str: "a text", dict: "a record", list: "a row of numbers"}
    for line, value in json_lines(path):
        if type(value) not in kinds or (found and type(value) is not type(found[0])):
            wanted = kinds[type(found[0])] if found else "a text, a record or a row of numbers"
            raise ValueError(f"{path}, line {line}: expected {wanted}, got {value!r:.60}")
        if isinstance(value, list):
            wrong = any(not isinstance(each, int | float | None) or isinstance(each, bool) for each in value)
            if wrong or len(value) != len(found[0] if found else value):
                raise ValueError(f"{path}, line {line}: expected a row of as many numbers, got {value!r:.60}")
            value = [np.nan if each is None else float(each) for each in value]
        found.append(value)
    return _some(found, path)


def _inputs_of(table: Table, declared: Schema) -> Batch:
    path = table.path
    names = table.columns if any(table.columns) else []
    unnamed = [number for number, name in enumerate(names, start=1) if not name]
    if unnamed:
        raise ValueError(f"{path}: column {unnamed[0]} must have a name, as the others have: or leave it out")
    schema = declared or tuple(Column(name) for name in names)
    if declared and names:
        schema = described(names, declared, f"{path} does not have the columns of the schema")
    cells = list(table.rows())
    if names and not declared:
        words = [_is_of_words(table, [row[place] for _, row in cells]) for place in range(len(names))]
        schema = tuple(
            msgspec.structs.replace(column, kind="text") if word else column
            for column, word in zip(schema, words, strict=True)
        )
    if all(column.kind == "number" for column in schema):
        rows = [np.array(table.reals(line, row)) for line, row in cells]
        return Batch(np.stack(rows), str(path), schema)
    return Batch([_record(table, schema, line, row) for line, row in cells], str(path), schema)


def _is_of_words(table: Table, cells: Sequence[str]) -> bool:
    """Whether no cell is a number: one word among numbers is a mistake, which is told."""
    return any(cells) and all(table.number(cell) is None for cell in cells if cell)


def _record(table: Table, schema: Schema, line: int, cells: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column, cell in zip(schema, cells, strict=True):
        if column.kind == "text":
            found[column.name] = cell or None
        elif column.kind == "boolean":
            if cell.lower() not in ("", "true", "false"):
                raise ValueError(f"{table.where(line)}: expected true or false, got {cell!r}")
            found[column.name] = None if not cell else cell.lower() == "true"
        else:
            (found[column.name],) = table.reals(line, [cell])
    return found
