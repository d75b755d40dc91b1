"""Settings of ``node.toml`` about running a node: its model, labels, roster, allowed types and policy.

All of it may be left out. Options at the prompt come before it; paths in it are seen from the node's folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from folkmoot.checks import ArgumentError, one_of
from folkmoot.node.membership import identity
from folkmoot.node.membership.fields import read_toml
from folkmoot.node.membership.identity import SETTINGS
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.label_names import labels_in, texts_in
from folkmoot.node.service.model_table import ModelTable, read_model_table
from folkmoot.node.service.policy import Policy
from folkmoot.sandbox.python_objects import is_object
from folkmoot.texts.choosing import CHOOSE, Choose


@dataclass(frozen=True)
class NodeFile:
    """The contents of a node's ``node.toml`` besides its identity.

    Parameters
    ----------
    path : Path
        The file.
    roster : Path or None
        The roster's file.
    model : str, ModelTable or None
        A model file, ``package.module:object``, or what ``[model]`` says.
    labels : tuple of str, mapping or None
        The labels that the model knows, where it does not say so; or those of the moot by its labels.
    allow : tuple of str
        Types that a skops file may hold besides harmless ones.
    policy : Policy
        Which motions the node plays.
    schema : Path or None
        A file that declares the model's columns; None is the one beside the model, if there is one.
    weights : Path or None
        The weights file.
    holdout : Path or None
        Labelled rows, or labels and answers, that show how good the model is.
    choose : {"own-model", "embedding", "same"}
        How the node chooses among proposed texts.
    """

    path: Path
    roster: Path | None = None
    model: str | ModelTable | None = None
    labels: tuple[str, ...] | Mapping[str, str] | None = None
    allow: tuple[str, ...] = ()
    policy: Policy = field(default_factory=Policy)
    schema: Path | None = None
    weights: Path | None = None
    holdout: Path | None = None
    choose: Choose = "own-model"

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

    def chosen_model(self) -> str | ModelTable:
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
        roster, schema, weights, holdout = (
            _text(table, key) for key in ("roster", "schema", "weights", "holdout")
        )
        return NodeFile(
            path,
            None if roster is None else folder / roster,
            _model(table, folder),
            labels_in(table["labels"]) if "labels" in table else None,
            texts_in(table.get("allow", []), "allow", '["package.module.Type"]'),
            Policy.read(table.get("policy", {}), folder),
            None if schema is None else folder / schema,
            None if weights is None else folder / weights,
            None if holdout is None else folder / holdout,
            one_of("choose", table.get("choose", CHOOSE[0]), CHOOSE),  # type: ignore[arg-type]
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _model(table: dict[str, Any], folder: Path) -> str | ModelTable | None:
    """What ``model`` names: a text, or a table of its own, which then says all about the model."""
    if not isinstance(table.get("model"), dict):
        model = _text(table, "model")
        return model if model is None or is_object(model) else os.path.normpath(folder / model)
    beside = next((key for key in ("labels", "allow", "schema") if key in table), None)
    if beside is not None:
        raise ValueError(f"{beside} must stand in [model], as there is one: got it outside")
    return read_model_table(table["model"], folder)


def _text(table: dict[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"{key} must be text: got {value!r}")
    return value
