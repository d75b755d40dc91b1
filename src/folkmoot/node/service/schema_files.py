"""Schemas in files: what the columns of a model or of inputs are called, their units and their ranges.

A file ``NAME.schema.toml`` beside ``NAME.skops``, ``NAME.onnx`` or ``NAME.pkl`` is that model's without
being asked for. Columns are in the order in which the model takes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from folkmoot.node.membership.fields import check_keys, read_toml
from folkmoot.node.wire.schema import Column, Schema, check_schema

SUFFIX: Final = ".schema.toml"
_KEYS: Final = ("name", "unit", "low", "high")


def read_schema(path: Path) -> Schema:
    """The columns that a file declares; ValueError, with the file and the column, if it declares none."""
    tables = read_toml(path)
    wrong = check_keys(tables, ["column"])
    listed = tables.get("column")
    if wrong or not isinstance(listed, list) or not listed:
        raise ValueError(f'{path} must hold [[column]] tables, each with name = "..."')
    schema = tuple(_column(path, number, table) for number, table in enumerate(listed, start=1))
    check_schema(schema, len(schema), str(path))
    return schema


def schema_beside(model: str) -> Path | None:
    """The file beside a model's own that declares its columns, if there is one."""
    path = Path(model).with_suffix(SUFFIX) if Path(model).suffix else None
    return path if path is not None and path.is_file() else None


def _column(path: Path, number: int, table: Any) -> Column:
    where = f"{path}, column {number}"
    if not isinstance(table, dict):
        raise ValueError(f"{where} must be a [[column]] table: got {table!r:.40}")
    wrong = check_keys(table, _KEYS, optional=_KEYS[1:])
    if wrong:
        raise ValueError(f"{where}: {wrong[0]}")
    for key, value in table.items():
        text = key in ("name", "unit")
        if not (isinstance(value, str) if text else isinstance(value, int | float) and value is not True):
            raise ValueError(f"{where}: {key} must be {'text' if text else 'a number'}: got {value!r:.40}")
    try:
        return Column(**table)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
