"""Schemas in files: what the columns of a model or of inputs are called, their units and their ranges.

A file ``NAME.schema.toml`` beside ``NAME.skops``, ``NAME.onnx`` or ``NAME.pkl`` is that model's without
being asked for. Columns are in the order in which the model takes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import msgspec

from folkmoot.node.membership.fields import converted, read_toml, toml_string
from folkmoot.node.service import interface
from folkmoot.node.wire.schema import Column, Schema, check_schema

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
