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

from folkmoot import ConsensusClassifier, ConsensusRegressor, Slush, deliberate
from folkmoot.learning.exporting import folder_names
from folkmoot.local.held_ports import HeldPorts
from folkmoot.network import Asker, Terms
from folkmoot.network.service.holdout import read_holdout
from folkmoot.network.service.node_file import read_node_file
from folkmoot.network.service.operation import Settings
from folkmoot.network.service.voter import Voter
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.node.membership import identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.models import load_model
from folkmoot.node.wire.batch import Batch
from folkmoot.runs.processes import Nodes
from support.command import run
from support.network.number_moot import NumberMoot

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
        told = run("node", "init", folder, "--name", folder.name, "--listen", "127.0.0.1:7000")
        assert told.returncode == 0, told.stderr
        read = read_node_file(folder)
        assert read.model == str(folder / "model.skops")
        assert read.labels == ("no", "yes")
        model = load_model(read.chosen_model(None), schema=read.chosen_schema(None))
        assert [column.name for column in model.schema] == ["age", "dose", "size"]
        assert model.predict(X.to_numpy()) == participant.model.predict(X).tolist()
        assert read.holdout is not None
        assert len(read_holdout(read.holdout, model)) == participant.held_out > 0
        anchor = read_holdout(read.holdout, model).anchor(["no", "yes"])
        assert anchor is not None
        assert (anchor.right, anchor.held_out) == (participant.right, participant.held_out)


@contextmanager
def five_nodes(made: list[Path], tmp_path: Path) -> Iterator[list[Settings]]:
    """Five processes, each started from what was exported."""
    ports = HeldPorts(5)
    people = [
        identity.create(folder, name=folder.name, listen=f"127.0.0.1:{port}")
        for folder, port in zip(made, ports.numbers, strict=True)
    ]
    roster = Roster(each.member() for each in people)
    roster.write(tmp_path / "roster.toml")
    settings = []
    for member in roster:
        folder = tmp_path / "nodes" / member.name
        read = read_node_file(folder)
        settings.append(
            Settings(
                folder,
                tmp_path / "roster.toml",
                read.chosen_model(None),
                holdout=read.holdout,
                labels=read.labels,
                schema=read.schema,
            )
        )
    nodes = Nodes(tmp_path, roster, settings, ports, [None] * 5)
    try:
        for place in range(5):
            nodes.start(place)
        nodes.wait(range(5), 60.0)
        yield settings
    finally:
        nodes.stop()


def test_five_nodes_started_from_it_answer_as_the_estimator_does(
    moot: ConsensusClassifier, tmp_path: Path
) -> None:
    X, _, _ = table(40, 3)
    with five_nodes(moot.export(tmp_path / "nodes"), tmp_path) as settings:
        terms = Terms(k=4, alpha=3, rounds=30, seconds=20.0, pace=0.005)
        account = Asker(settings[0].folder).ask(X[["size", "dose", "age"]], terms)
    assert account.silent == []
    assert account.abstained == {}
    assert set(account.labels) == {"no", "yes"}
    # First votes are the models' own, whatever the order of the columns.
    votes = np.stack([moot.participants_[i].model.predict(X) for i in range(5)])
    assert account.first_votes == [
        {label: int((column == label).sum()) for label in account.labels if (column == label).any()}
        for column in votes.T
    ]
    # Within the talk's randomness: what was decided is what talks about the same votes can come to.
    colours = (votes == "yes").astype(np.int64)
    talks = deliberate(colours, Slush(4, 3), rounds=30, repeats=300, classes=2)
    ends = {i: {int(each) for each in talks.decision[:, i]} for i in range(40)}
    for i, label in enumerate(account.decisions):
        if label is not None:
            assert ["no", "yes"].index(label) in ends[i]
    clear = (colours.sum(axis=0) <= 1) | (colours.sum(axis=0) >= 4)
    expected = moot.predict(X)
    assert clear.sum() > 20
    assert [account.decisions[i] for i in np.flatnonzero(clear)] == expected[clear].tolist()


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


TOL = 0.2  # of numbers that differ by 3 from row to row


def test_a_regressor_is_exported_and_nodes_of_it_answer_within_tol(
    numbers: ConsensusRegressor, tmp_path: Path
) -> None:
    X, _, _ = measurements(40, 3)
    voters: dict[int, Any] = {}
    for place, (folder, participant) in enumerate(
        zip(numbers.export(tmp_path / "nodes"), numbers.participants_, strict=True)
    ):
        told = run("node", "init", folder, "--name", folder.name, "--listen", "127.0.0.1:7000")
        assert told.returncode == 0, told.stderr
        read = read_node_file(folder)
        assert (read.labels, read.holdout) == (None, folder / "holdout.npz")
        model = load_model(read.chosen_model(None), schema=read.chosen_schema(None))
        assert model.kinds()[0] == "numbers"
        assert [column.name for column in model.schema] == ["age", "dose", "size"]
        assert len(read_holdout(folder / "holdout.npz", model)) == participant.held_out > 0
        with np.load(folder / "holdout.npz") as kept:  # what a model said that had not seen these rows
            assert np.mean((kept["y"] - kept["answers"]) ** 2) == pytest.approx(participant.squared_error)
        voters[place] = Voter(model)
    moot = NumberMoot(np.zeros((5, 40)), 1)
    moot.voters = voters
    for place in range(5):
        moot.start(place)
    moot.put(0, batch=Batch(X[["size", "dose", "age"]]), tol=TOL, rounds=20)
    moot.network.run(until=40.0)
    ((session, _),) = moot.over.values()
    found = session.verdict()
    assert isinstance(found, NumberVerdict)
    assert found.undecided == 0
    assert np.abs(found.claims[:, 0] - numbers.predict(X)).max() <= TOL
    first = np.stack([each.model.predict(X) for each in numbers.participants_])
    assert (found.claims[:, 0] >= first.min(axis=0)).all()
    assert (found.claims[:, 0] <= first.max(axis=0)).all()


@pytest.mark.slow
def test_five_processes_started_from_a_regressor_answer_within_tol(
    numbers: ConsensusRegressor, tmp_path: Path
) -> None:
    X, _, _ = measurements(40, 3)
    with five_nodes(numbers.export(tmp_path / "nodes"), tmp_path) as settings:
        terms = Terms(regression=True, tol=TOL, rounds=30, seconds=20.0, pace=0.005)
        account = Asker(settings[0].folder).ask(X[["size", "dose", "age"]], terms)
    assert (account.silent, account.abstained, account.undecided) == ([], {}, 0)
    assert np.abs(np.array(account.claims, dtype=float) - numbers.predict(X)).max() <= TOL


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
    told = run("node", "init", tmp_path / "north", "--name", "north")
    assert told.returncode == 2
    assert "exported.toml" in told.stderr


def test_folders_have_names_that_nodes_may_have() -> None:
    assert folder_names(["Nord Ü/1", "Nord Ü?1", "..", "a" * 99]) == [
        "Nord---1", "Nord---1-2", "participant", "a" * 56,
    ]  # fmt: skip
