"""``node.toml``: a node's model, labels, roster and policy; all of it may be left out.

Options at the prompt come before it; paths in it are seen from the node's folder. ``model = "heart.skops"``
is short for ``[model]`` with that file alone; ``labels``, ``allow`` and ``schema`` may then stand beside it.
``model = "../model.toml"`` names a file that holds the table.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from folkmoot.checks import ArgumentError, one_of
from folkmoot.models.labels import label_text
from folkmoot.node.membership import identity
from folkmoot.node.membership.fields import check_keys, read_toml
from folkmoot.node.membership.identity import SETTINGS
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.policy import Policy
from folkmoot.sandbox.python_objects import is_object
from folkmoot.texts.choosing import CHOOSE, Choose

SERVICES: Final = ("openai", "http")
KINDS: Final = ("file", "python", *SERVICES)
_LABELS = 'labels must be a list of two or more different labels, such as ["no", "yes"]'
_TYPES: Final = '["package.module.Type"]'
_FOR_ALL: Final = ("kind", "labels", "columns", "schema")
_OF_KIND: Final = {"file": ("file", "allow"), "python": ("object",)}
_OURS: Final = ("labels", "columns")  # parameters of the classes that mean something else here


@dataclass(frozen=True)
class ModelTable:
    """A node's model as its owner wrote it down."""

    kind: str  # one of ``KINDS``
    spec: str  # the file, ``module:object`` or address: what the node calls its model
    settings: Mapping[str, Any] = field(default_factory=dict)  # of a service: parameters of its class
    labels: tuple[str, ...] | Mapping[str, str] | None = None  # known, or the moot's by its own
    columns: tuple[str, ...] | Mapping[str, str] | None = None  # the same of columns, in order
    allow: tuple[str, ...] = ()  # types that a skops file may hold besides harmless ones
    schema: Path | None = None  # a file that declares its columns; None: the one beside the model, if any


def model_in(table: dict[str, Any], folder: Path) -> ModelTable | None:
    """The model that ``node.toml`` in a folder names, by a text or a table; None if it names none."""
    if isinstance(table.get("model"), dict):
        beside = next((key for key in ("labels", "allow", "schema") if key in table), None)
        if beside is not None:
            raise ValueError(f"{beside} must stand in [model], as there is one: got it outside")
        return read_model_table(table["model"], folder)
    model, schema = text_in(table, "model"), text_in(table, "schema")
    labels = labels_in(table["labels"]) if "labels" in table else None
    allow = texts_in(table.get("allow", []), "allow", _TYPES)
    if model is None:
        return None
    own = is_object(model)
    return ModelTable(
        "python" if own else "file", model if own else os.path.normpath(folder / model), labels=labels,
        allow=allow, schema=None if schema is None else folder / schema,
    )  # fmt: skip


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
        allow = texts_in(table.get("allow", []), "allow", _TYPES)
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


def text_in(table: Mapping[str, Any], key: str) -> str | None:
    """A text that is not empty, or None; ValueError if it is something else."""
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"{key} must be text: got {value!r}")
    return value


def labels_in(value: object) -> tuple[str, ...] | dict[str, str]:
    """The labels that a model knows, or those of the moot by its own; ValueError if these are none."""
    if isinstance(value, dict):
        return label_map(value)
    if not isinstance(value, list):
        raise ValueError(f"{_LABELS}, or a table: got {value!r}")
    try:
        found = tuple(label_text(each) for each in value)
    except ValueError as error:
        raise ValueError(f"{_LABELS}: {error}") from None
    if len(found) < 2 or len(set(found)) < len(found):
        raise ValueError(f"{_LABELS}: got {value!r}")
    return found


def label_map(table: dict[str, Any]) -> dict[str, str]:
    """Check a map from the labels of a model to those of the moot."""
    wrong = next((key for key, value in table.items() if not isinstance(value, str) or not value), None)
    if wrong is not None or len(set(table.values())) < 2:
        got = "fewer than two" if wrong is None else f"{wrong} = {table[wrong]!r}"
        raise ValueError(
            'labels must give the name of each label of the model in the moot, such as 0 = "no", and two '
            f"or more of them: got {got}"
        )
    return table


def columns_in(value: object) -> tuple[str, ...] | dict[str, str]:
    """The names of a model's columns, or those of the moot by its own; ValueError if these are none."""
    names = list(value.values()) if isinstance(value, dict) else value
    if (
        not isinstance(names, list)
        or not names
        or not all(isinstance(each, str) and each for each in names)
        or len(set(names)) < len(names)
    ):
        raise ValueError(
            'columns must be a list of different names, such as ["age", "bmi"], or give the moot\'s name of '
            f'columns, such as mean_radius = "mean radius": got {value!r:.200}'
        )
    return dict(value) if isinstance(value, Mapping) else tuple(names)


def texts_in(value: object, key: str, such_as: str) -> tuple[str, ...]:
    """A list of texts; ValueError if it is none."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{key} must be a list of texts, such as {such_as}: got {value!r}")
    return tuple(value)


@dataclass(frozen=True)
class NodeFile:
    """The contents of a node's ``node.toml`` besides its identity."""

    path: Path
    roster: Path | None = None  # who takes part
    model: ModelTable | None = None
    policy: Policy = field(default_factory=Policy)  # which motions the node plays
    weights: Path | None = None  # what members' answers weigh, in a weights file
    holdout: Path | None = None  # labelled rows, or labels and answers, that show how good the model is
    choose: Choose = "own-model"  # how the node chooses among proposed texts

    def chosen_roster(self, option: Path | None) -> Path:
        """The roster given at the prompt, or that of the file; ValueError if none is named."""
        found = self.roster if option is None else option
        if found is None:
            raise ArgumentError(
                'a node must have a roster: give {roster}, or write roster = "../roster.toml" into {path!s}',
                path=self.path,
            )
        return Path(os.path.normpath(found))

    def read_roster(self, option: Path | None) -> Roster:
        """That roster; ValueError, with how it is made, if it is not there."""
        path = self.chosen_roster(option)
        if not path.exists():
            raise ArgumentError(
                "there is no roster in {path!s} yet: folkmoot roster make *.line --out {path!s} makes it "
                "from the lines of all; if it is elsewhere, give {roster}",
                path=path,
            )
        return Roster.read(path)

    def chosen_model(self) -> ModelTable:
        """The model; ValueError if the file names none."""
        if self.model is None:
            raise ValueError(f'a node must have a model: write model = "model.skops" into {self.path}')
        return self.model


def read_node_file(folder: Path) -> NodeFile:
    """The contents of the ``node.toml`` of a folder; ValueError, with the file's name, if it is wrong."""
    path = folder / SETTINGS
    if not path.is_file():
        identity.load(folder)  # says what there is instead
    table = read_toml(path)
    try:
        model = model_in(table, folder)
        roster, weights, holdout = (text_in(table, key) for key in ("roster", "weights", "holdout"))
        return NodeFile(
            path,
            None if roster is None else folder / roster,
            model,
            Policy.read(table.get("policy", {}), folder),
            None if weights is None else folder / weights,
            None if holdout is None else folder / holdout,
            one_of("choose", table.get("choose", CHOOSE[0]), CHOOSE),  # type: ignore[arg-type]
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
