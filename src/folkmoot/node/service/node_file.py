"""What ``node.toml`` says about running a node: its model, labels, roster, allowed types and policy.

All of it may be left out. Options at the prompt come before it; paths in it are seen from the node's folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from folkmoot.node.membership import identity
from folkmoot.node.membership.fields import read_toml
from folkmoot.node.membership.identity import SETTINGS
from folkmoot.node.service.models import as_labels, is_function
from folkmoot.node.service.policy import Policy


@dataclass(frozen=True)
class NodeFile:
    """What stands in a node's ``node.toml`` besides who it is.

    Parameters
    ----------
    path : Path
        The file.
    roster : Path or None
        Who takes part.
    model : str or None
        A model file, or ``package.module:function``.
    labels : tuple of str, mapping or None
        The labels that the model knows, where it does not say so; or those of the moot by its labels.
    allow : tuple of str
        Types that a skops file may hold besides harmless ones.
    policy : Policy
        Which motions the node plays.
    schema : Path or None
        A file that declares the model's columns; None is the one beside the model, if there is one.
    weights : Path or None
        What members' answers weigh, in a weights file.
    holdout : Path or None
        Labelled rows, or labels and answers, that show how good the model is.
    """

    path: Path
    roster: Path | None = None
    model: str | None = None
    labels: tuple[str, ...] | Mapping[str, str] | None = None
    allow: tuple[str, ...] = ()
    policy: Policy = field(default_factory=Policy)
    schema: Path | None = None
    weights: Path | None = None
    holdout: Path | None = None

    def chosen_roster(self, option: Path | None) -> Path:
        """The roster given at the prompt, or that of the file; ValueError if there is none."""
        found = self.roster if option is None else option
        if found is None:
            raise ValueError(
                "a node must have a roster: give --roster ROSTER.toml, or write "
                f'roster = "../roster.toml" into {self.path}'
            )
        return found

    def chosen_model(self) -> str:
        """The model; ValueError if the file names none."""
        if self.model is None:
            raise ValueError(f'a node must have a model: write model = "model.skops" into {self.path}')
        return self.model


def read_node_file(folder: Path) -> NodeFile:
    """What stands in the ``node.toml`` of a folder; ValueError, with the file's name, if it is wrong."""
    path = folder / SETTINGS
    if not path.is_file():
        identity.load(folder)  # says what there is instead
    table = read_toml(path)
    try:
        roster, model, schema, weights, holdout = (
            _text(table, key) for key in ("roster", "model", "schema", "weights", "holdout")
        )
        return NodeFile(
            path,
            None if roster is None else folder / roster,
            model if model is None or is_function(model) else os.path.normpath(folder / model),
            _labels(table["labels"]) if "labels" in table else None,
            _texts(table.get("allow", []), "allow", '["package.module.Type"]'),
            Policy.read(table.get("policy", {}), folder),
            None if schema is None else folder / schema,
            None if weights is None else folder / weights,
            None if holdout is None else folder / holdout,
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _labels(value: object) -> tuple[str, ...] | dict[str, str]:
    if isinstance(value, dict):
        return label_map(value)
    wanted = 'labels must be a list of two or more different labels, such as ["no", "yes"]'
    if not isinstance(value, list):
        raise ValueError(f"{wanted}, or a table: got {value!r}")
    try:
        found = tuple(as_labels(value))
    except ValueError as error:
        raise ValueError(f"{wanted}: {error}") from None
    if len(found) < 2 or len(set(found)) < len(found):
        raise ValueError(f"{wanted}: got {value!r}")
    return found


def label_map(table: dict[str, Any]) -> dict[str, str]:
    """What the moot calls each label of the model; ValueError if that is none."""
    wrong = next((key for key, value in table.items() if not isinstance(value, str) or not value), None)
    if wrong is not None or len(set(table.values())) < 2:
        got = "fewer than two" if wrong is None else f"{wrong} = {table[wrong]!r}"
        raise ValueError(
            'labels must give the name of each label of the model in the moot, such as 0 = "no", and two '
            f"or more of them: got {got}"
        )
    return table


def _texts(value: object, key: str, such_as: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{key} must be a list of texts, such as {such_as}: got {value!r}")
    return tuple(value)


def _text(table: dict[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"{key} must be text: got {value!r}")
    return value
