"""Inputs for a motion: rows of numbers from .npy or from a table, whose first line may be a header."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from folkmoot.files.array_files import map_array
from folkmoot.files.tabular import Table, open_table, text_table
from folkmoot.node.service.schema_files import read_schema
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.schema import Column, Schema, described


def read_inputs(path: Path, schema: Path | None = None) -> Batch:
    """Rows of numbers; .npy files are mapped, not read, so they may be larger than memory.

    A table's header names the columns. ``schema`` is a file that declares them: those of a table by name,
    those of an array in their order.
    """
    declared = () if schema is None else read_schema(schema)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        raise ValueError(f"inputs must be one array in a .npy file, or a table: got {path}")
    return Batch(map_array(path), str(path), declared) if suffix == ".npy" else _read_table(path, declared)


def _read_table(path: Path, declared: Schema) -> Batch:
    with open_table(path, header=False) as table:
        return _inputs_of(table, declared)


def inputs_in_text(data: bytes, name: str) -> Batch:
    """The inputs in a table that was sent as text: what ``read_inputs`` makes of a file with these bytes."""
    with text_table(data, name, header=False) as table:
        return _inputs_of(table, ())


def _inputs_of(table: Table, declared: Schema) -> Batch:
    path = table.path
    names = table.columns if any(table.columns) else []
    unnamed = [number for number, name in enumerate(names, start=1) if not name]
    if unnamed:
        raise ValueError(f"{path}: column {unnamed[0]} must have a name, as the others have: or leave it out")
    schema = declared or tuple(Column(name) for name in names)
    if declared and names:
        schema = described(names, declared, f"{path} does not have the columns of the schema")
    rows = [np.array(table.reals(line, cells)) for line, cells in table.rows()]
    return Batch(np.stack(rows), str(path), schema)
