"""``[model]`` of ``node.toml``: which model a node runs, of a file, of Python or behind a service.

``model = "heart.skops"`` is short for ``[model]`` with that file alone. ``model = "../model.toml"`` names a
file that holds the table.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from folkmoot.node.membership.fields import check_keys, read_toml
from folkmoot.node.service.label_names import columns_in, labels_in, texts_in

SERVICES: Final = ("openai", "http")
KINDS: Final = ("file", "python", *SERVICES)
_FOR_ALL: Final = ("kind", "labels", "columns", "schema")
_OF_KIND: Final = {"file": ("file", "allow"), "python": ("object",)}
_OURS: Final = ("labels", "columns")  # parameters of the classes that mean something else here


@dataclass(frozen=True)
class ModelTable:
    """A node's model as its owner wrote it down.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    spec : str
        The file, ``module:object`` or address: what the node calls its model.
    settings : mapping
        For a service: the parameters of its class in ``folkmoot.models``.
    labels : tuple of str, mapping or None
        The labels that it knows, or those of the moot by its own.
    columns : tuple of str, mapping or None
        The names of its columns in their order, or those of the moot by its own.
    allow : tuple of str
        Types that a skops file may hold besides harmless ones.
    schema : Path or None
        A file that declares its columns.
    """

    kind: str
    spec: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] | Mapping[str, str] | None = None
    columns: tuple[str, ...] | Mapping[str, str] | None = None
    allow: tuple[str, ...] = ()
    schema: Path | None = None


def read_model_table(table: dict[str, Any], folder: Path) -> ModelTable:
    """The model that ``[model]`` names; ValueError, in one line, if it names none."""
    kind = table.get("kind", "file" if "file" in table else None)
    if kind not in KINDS:
        known = ", ".join(f'"{each}"' for each in KINDS)
        raise ValueError(f"kind in [model] must be one of {known}: got {kind!r}")
    own = _OF_KIND.get(kind) or _parameters(kind)
    wrong = check_keys(table, [*_FOR_ALL, *own], optional=[*_FOR_ALL, *own])
    if wrong:
        raise ValueError(f"[model]: {wrong[0]}")
    labels = labels_in(table["labels"]) if "labels" in table else None
    columns = columns_in(table["columns"]) if "columns" in table else None
    schema = None if "schema" not in table else folder / _text(table, "schema")
    if kind == "file":
        spec = os.path.normpath(folder / _text(table, "file"))
        allow = texts_in(table.get("allow", []), "allow", '["package.module.Type"]')
        return ModelTable(kind, spec, {}, labels, columns, allow, schema)
    if kind == "python":
        return ModelTable(kind, _text(table, "object"), {}, labels, columns, (), schema)
    settings = {name: value for name, value in table.items() if name in own}
    address = "base_url" if kind == "openai" else "url"
    spec = _text(table, address)
    if kind == "openai":
        spec = f"{_text(table, 'model')} at {spec}"
    return ModelTable(kind, spec, settings, labels, columns, (), schema)


def read_model_file(path: Path) -> ModelTable:
    """The model that a file with a table ``[model]`` names; ValueError, with the file, if it names none."""
    table = read_toml(path).get("model")
    if not isinstance(table, dict):
        raise ValueError(f"{path} must hold a table [model], as node.toml may: got none")
    try:
        return read_model_table(table, path.parent)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _parameters(kind: str) -> tuple[str, ...]:
    """The parameters of a service's class, all but those that every kind of model has."""
    from folkmoot.models.serving import KINDS as CLASSES

    return tuple(name for name in inspect.signature(CLASSES[kind]).parameters if name not in _OURS)


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key} in [model] must be text: got {value!r}")
    return value
