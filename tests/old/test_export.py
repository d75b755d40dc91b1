"""A moot as folders: what is in them, what is refused, and that five nodes answer as the estimator does."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier, ConsensusRegressor, Slush
from folkmoot.learning.exporting import folder_names
from folkmoot.local.held_ports import HeldPorts
from folkmoot.local.processes import Member, Nodes
from folkmoot.node.membership import identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.holdout import read_holdout
from folkmoot.node.service.models import load_model
from folkmoot.node.service.node_file import read_node_file
from folkmoot.node.storage.storage import create_storage
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
    return ConsensusClassifier(models, protocol=Slush(4, 3), random_state=0).fit(X, y, groups)


def test_each_folder_has_what_a_node_needs(moot: ConsensusClassifier, tmp_path: Path) -> None:
    made = moot.export(tmp_path / "nodes")
    assert [each.parent for each in made] == [tmp_path / "nodes"] * 5, "directly below"
    assert sorted(each.name for each in made) == sorted(NAMES)
    X, _, _ = table(30, 2)
    for folder, participant in zip(made, moot.participants_, strict=True):
        told = run("node", "init", folder, "--listen", "127.0.0.1:7000")
        assert told.returncode == 0, told.stderr
        read = read_node_file(folder)
        assert read.model == str(folder / "model.skops")
        assert read.labels == ("no", "yes")
        model = load_model(read.chosen_model(None), schema=read.chosen_schema(None))
        assert [column.name for column in model.schema] == ["age", "dose", "size"]
        assert model.predict(X.to_numpy()) == participant.model.predict(X).tolist()
        assert read.holdout is not None
        assert len(read_holdout(read.holdout, model)) == participant.held_out > 0
        held_out = read_holdout(read.holdout, model)
        assert (held_out.right, len(held_out)) == (participant.right, participant.held_out)


@contextmanager
def five_nodes(made: list[Path], tmp_path: Path) -> Iterator[Nodes]:
    """Five processes, each started from what was exported."""
    ports = HeldPorts(5)
    people = [
        identity.create(folder, name=folder.name, listen=f"127.0.0.1:{port}")
        for folder, port in zip(made, ports.numbers, strict=True)
    ]
    for folder, me in zip(made, people, strict=True):
        create_storage(folder, me.fingerprint, 0.0)
        with (folder / "node.toml").open("a") as file:
            file.write('roster = "../../roster.toml"\n')
    roster = Roster(each.member() for each in people)
    roster.write(tmp_path / "roster.toml")
    nodes = Nodes(tmp_path / "nodes", roster, [Member("")] * 5, ports, [None] * 5)
    try:
        nodes.start_all()
        yield nodes
    finally:
        nodes.stop()


def test_five_nodes_started_from_it_decide_what_most_of_the_models_say(
    moot: ConsensusClassifier, tmp_path: Path
) -> None:
    X, _, _ = table(40, 3)
    with five_nodes(moot.export(tmp_path / "nodes"), tmp_path) as nodes:
        answer = nodes.client(0).ask(X[["size", "dose", "age"]], seconds="60s")
    account = answer.details
    assert (account["silent"], account["abstained"], account["labels"]) == ([], {}, ["no", "yes"])
    # First votes are the models' own, whatever the order of the columns.
    votes = np.stack([moot.participants_[i].model.predict(X) for i in range(5)])
    counted = [{label: int((column == label).sum()) for label in ("no", "yes")} for column in votes.T]
    assert account["first_votes"] == [{k: v for k, v in each.items() if v} for each in counted]
    assert answer.decisions == ["yes" if each["yes"] > 2 else "no" for each in counted]


def measurements(rows: int, seed: int) -> tuple[pd.DataFrame, Any, Any]:
    """A table as above, with a number to predict: 3 age - dose, and noise."""
    X, _, groups = table(rows, seed)
    noise = np.random.default_rng([seed, 1]).normal(0, 0.3, rows)
    return X, np.asarray(3 * X["age"] - X["dose"] + noise), groups


@pytest.fixture(scope="module")
def numbers() -> ConsensusRegressor:
    X, y, groups = measurements(150, 1)
    models = [Ridge(), LinearRegression(), Ridge(5.0), LinearRegression(), Ridge(0.1)]
    return ConsensusRegressor(models, holdout=0.2, random_state=0).fit(X, y, groups)


def test_a_regressor_is_exported_and_nodes_of_it_answer_with_the_trimmed_mean(
    numbers: ConsensusRegressor, tmp_path: Path
) -> None:
    X, _, _ = measurements(40, 3)
    made = numbers.export(tmp_path / "nodes")
    for folder, participant in zip(made, numbers.participants_, strict=True):
        with np.load(folder / "holdout.npz") as kept:  # what a model said that had not seen these rows
            assert len(kept["y"]) == participant.held_out > 0
            assert np.mean((kept["y"] - kept["answers"]) ** 2) == pytest.approx(participant.squared_error)
    with five_nodes(made, tmp_path) as nodes:
        answer = nodes.client(0).ask(X[["size", "dose", "age"]], answers="numbers", seconds="60s")
    first = np.stack([each.model.predict(X) for each in numbers.participants_])
    middle = np.sort(first, axis=0)[1:-1].mean(axis=0)  # one of five may lie
    np.testing.assert_allclose(np.array(answer.decisions, dtype=float), middle, atol=2e-6)


def test_what_of_a_regressor_cannot_be_exported(numbers: ConsensusRegressor, tmp_path: Path) -> None:
    X, y, groups = measurements(150, 1)
    both = ConsensusRegressor([Ridge()], random_state=0).fit(X, np.column_stack([y, -y]), groups)
    with pytest.raises(ValueError, match="nodes agree on one number an input: these models give 2"):
        both.export(tmp_path / "both")
    # Whoever kept no rows back, or was read from a file, has nothing to say of its model.
    copies = (ConsensusRegressor([Ridge()], random_state=0).fit(X, y, groups), pickled(numbers))
    for number, each in enumerate(copies):
        made = each.export(tmp_path / f"plain{number}")
        assert not any((folder / "holdout.npz").exists() for folder in made)
        assert "holdout" not in (made[0] / "exported.toml").read_text()


def pickled(moot: ConsensusRegressor) -> ConsensusRegressor:
    found = pickle.loads(pickle.dumps(moot))  # noqa: S301 (made here)
    assert isinstance(found, ConsensusRegressor)
    return found


def test_one_that_knows_a_single_class_is_exported_too(tmp_path: Path) -> None:
    X, y, groups = table(60, 4)
    y[groups == "mid"] = "yes"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ConsensusClassifier([GaussianNB()], protocol=Slush(4, 3), random_state=0).fit(X, y, groups)
    made = {folder.name: folder for folder in fitted.export(tmp_path / "nodes")}
    model = load_model(str(made["mid"] / "model.skops"))
    assert model.columns == 3
    assert model.predict(X.to_numpy()[:4]) == ["yes"] * 4
    assert "labels =" not in (made["mid"] / "exported.toml").read_text(), (
        "the model says itself what it knows"
    )


def test_what_cannot_be_exported_is_refused_in_one_line(moot: ConsensusClassifier, tmp_path: Path) -> None:
    moot.export(tmp_path / "nodes")
    with pytest.raises(ValueError, match="is there already: export into another folder"):
        moot.export(tmp_path / "nodes")
    with pytest.raises(ValueError, match="there is no"):
        moot.export(tmp_path / "gone" / "nodes")
    with pytest.raises(Exception, match="not fitted"):
        ConsensusClassifier([GaussianNB()]).export(tmp_path / "other")
    (tmp_path / "north").mkdir()
    (tmp_path / "north" / "exported.toml").write_text("model = ")
    told = run("node", "init", tmp_path / "north")
    assert told.returncode == 2
    assert "exported.toml" in told.stderr


def test_folders_have_names_that_nodes_may_have() -> None:
    assert folder_names(["Nord Ü/1", "Nord Ü?1", "..", "a" * 99]) == [
        "Nord---1", "Nord---1-2", "participant", "a" * 56,
    ]  # fmt: skip
