"""A moot as folders: what is in them, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier, ConsensusRegressor
from folkmoot.learning.exporting import folder_names
from folkmoot.local.held_ports import HeldPorts
from folkmoot.local.processes import Member, Nodes
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.models import load_model
from support.command import run

NAMES = ["north", "mid", "east", "south", "west"]


def table(rows: int, seed: int) -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["age", "dose", "size"])
    y = np.where(X["age"] + 0.5 * X["dose"] + rng.normal(0, 0.7, rows) > 0, "yes", "no")
    return X, y, np.array(NAMES)[np.arange(rows) % 5]


@pytest.fixture(scope="module")
def moot() -> ConsensusClassifier:
    X, y, groups = table(150, 1)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    models = [LogisticRegression(), GaussianNB(), tree, GaussianNB(), LogisticRegression()]
    return ConsensusClassifier(models, random_state=0).fit(X, y, groups)


def test_each_folder_has_the_model_its_columns_and_its_holdout(
    moot: ConsensusClassifier, tmp_path: Path
) -> None:
    made = moot.export(tmp_path / "nodes")
    assert [each.parent for each in made] == [tmp_path / "nodes"] * 5, "directly below"
    assert sorted(each.name for each in made) == sorted(NAMES)
    X, _, _ = table(30, 2)
    for folder, participant in zip(made, moot.participants_, strict=True):
        model = load_model(str(folder / "model.skops"))
        assert model.predict(X.to_numpy()) == participant.model.predict(X).tolist()
        schema = (folder / "model.schema.toml").read_text()
        assert all(f'"{name}"' in schema for name in X.columns)
        with np.load(folder / "holdout.npz") as held:
            truths, answers = (held[name] for name in held.files)
        assert len(truths) == participant.held_out > 0
        assert (truths == answers).sum() == participant.right


def test_one_that_knows_a_single_class_is_exported_too(tmp_path: Path) -> None:
    X, y, groups = table(60, 4)
    y[groups == "mid"] = "yes"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ConsensusClassifier([GaussianNB()], random_state=0).fit(X, y, groups)
    made = {folder.name: folder for folder in fitted.export(tmp_path / "nodes")}
    model = load_model(str(made["mid"] / "model.skops"))
    assert model.columns == 3
    assert model.predict(X.to_numpy()[:4]) == ["yes"] * 4


def test_numbers_are_exported_unless_there_are_several_for_an_input(tmp_path: Path) -> None:
    X, _, groups = table(60, 5)
    y = X["age"].to_numpy() * 2 + X["dose"].to_numpy()
    fitted = ConsensusRegressor([LinearRegression()], random_state=0).fit(X, y, groups)
    (folder, *_) = fitted.export(tmp_path / "nodes")
    assert load_model(str(folder / "model.skops")).columns == 3
    two = ConsensusRegressor([LinearRegression()], random_state=0).fit(X, np.stack([y, -y], axis=1), groups)
    with pytest.raises(ValueError, match="nodes agree on one number per input: these models give 2"):
        two.export(tmp_path / "two")


def test_what_cannot_be_exported_is_refused_in_one_line(moot: ConsensusClassifier, tmp_path: Path) -> None:
    moot.export(tmp_path / "nodes")
    with pytest.raises(ValueError, match="is there already: export into another folder"):
        moot.export(tmp_path / "nodes")
    with pytest.raises(ValueError, match="there is no"):
        moot.export(tmp_path / "gone" / "nodes")
    with pytest.raises(Exception, match="not fitted"):
        ConsensusClassifier([GaussianNB()]).export(tmp_path / "other")


def test_folders_have_names_that_nodes_may_have() -> None:
    assert folder_names(["Nord Ü/1", "Nord Ü?1", "..", "a" * 99]) == [
        "Nord---1", "Nord---1-2", "participant", "a" * 56,
    ]  # fmt: skip


def test_five_nodes_started_from_it_decide_what_most_of_the_models_say(
    moot: ConsensusClassifier, tmp_path: Path
) -> None:
    """``node init`` takes over what was exported; the columns may come in another order."""
    made, ports = moot.export(tmp_path / "nodes"), HeldPorts(5)
    for folder, port in zip(made, ports.numbers, strict=True):
        roster = ("--roster", tmp_path / "roster.toml")
        told = run("node", "init", folder, "--listen", f"127.0.0.1:{port}", *roster)
        assert told.returncode == 0, told.stderr
    lines = [folder / f"{folder.name}.line" for folder in made]
    assert run("roster", "make", *lines, "--out", tmp_path / "roster.toml").returncode == 0
    members = Roster.read(tmp_path / "roster.toml")
    nodes = Nodes(tmp_path / "nodes", members, [Member("")] * 5, ports, [None] * 5)
    X, _, _ = table(40, 3)
    try:
        nodes.start_all()
        answer = nodes.client(0).ask(X[["size", "dose", "age"]], seconds="60s")
    finally:
        nodes.stop()
    account = answer.details
    assert (account["silent"], account["abstained"], account["labels"]) == ([], {}, ["no", "yes"])
    votes = np.stack([each.model.predict(X) for each in moot.participants_])
    counted = [{label: int((column == label).sum()) for label in ("no", "yes")} for column in votes.T]
    assert account["first_votes"] == [{k: v for k, v in each.items() if v} for each in counted]
    assert answer.decisions == ["yes" if each["yes"] > 2 else "no" for each in counted]
