"""Settings of ``node.toml`` about running a node: its model, labels, roster, allowed types and policy.

All of it may be left out. Options at the prompt come before it; paths in it are seen from the node's folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from folkmoot.checks import ArgumentError, one_of
from folkmoot.node.membership import identity
from folkmoot.node.membership.fields import read_toml
from folkmoot.node.membership.identity import SETTINGS
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.model_table import ModelTable, model_in, text_in
from folkmoot.node.service.policy import Policy
from folkmoot.texts.choosing import CHOOSE, Choose


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
