"""A pool among real processes: a candidate, ``node adopt`` beside the running node, undo, a restart."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from folkmoot.network import Asker, Terms
from folkmoot.network.storage.account import account, find
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.runs.processes import Nodes, prepare
from folkmoot.runs.refitting import refit_apart
from folkmoot.skops_files import read_skops, write_skops
from support.command import assert_refused, run, run_json
from support.network.improving_moot import ESTIMATOR, LABELS, digits, improving_settings
from support.network.real_moot import until
from support.process import assert_control_c_says_interrupted

TERMS = Terms(labels=LABELS, k=2, alpha=2, rounds=15, seconds=10.0)


def model_of(place: int) -> Any:
    """A member's model; that of the second has never seen a 9."""
    X, y = digits().rows[place]
    known = (y != "9") | (place != 1)
    return clone(ESTIMATOR).fit(X[known], y[known])


def assert_control_c_while_the_database_is_busy_says_interrupted(home: Path) -> None:
    """``node adopt`` is interrupted when all but the change is done."""
    with closing(sqlite3.connect(home / DATABASE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert_control_c_says_interrupted(
            "node", "adopt", home, inside="storage/database.py", then=lambda: other.execute("ROLLBACK")
        )


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    """Three nodes; the second improves by pools of the first, as its node.toml says."""
    data = digits()
    for place in range(3):
        write_skops(tmp_path / f"model{place}.skops", model_of(place))
    nodes = prepare(tmp_path, [str(tmp_path / f"model{place}.skops") for place in range(3)], {})
    home = nodes.settings[1].folder
    improve = improving_settings(home, *data.rows[1], ["node000"]).improve
    nodes.settings[1] = replace(nodes.settings[1], improve=improve, refit=refit_apart)
    with (home / "node.toml").open("a") as file:
        file.write('roster = "../roster.toml"\nmodel = "../model1.skops"\n')
        file.write('[improve]\nrows = "own.npz"\nestimator = "unfitted.skops"\naskers = ["node000"]\n')
    try:
        for place in range(3):
            nodes.start(place)
        nodes.wait(range(3), 60.0)
        yield nodes
    finally:
        nodes.stop()


def voted(nodes: Nodes, motion: str) -> list[str]:
    """What the second node committed to."""
    storage = Storage(nodes.settings[1].folder / DATABASE)
    stored = find(storage, motion)
    held = storage.held(stored.name).voted
    storage.close()
    assert held is not None
    return [LABELS[colour] for colour in stored.motion.form.unpack_first(held.first).tolist()]


def test_a_candidate_is_made_adopted_and_undone_beside_a_running_node(nodes: Nodes) -> None:
    data, home = digits(), nodes.settings[1].folder
    X = data.test[0][:40]
    asker = Asker(nodes.settings[0].folder)
    assert_refused("there is no candidate in", "node", "adopt", home)
    pool = asker.ask(data.pool, replace(TERMS, improve=True))
    made = home / "improve" / pool.motion / "report.json"
    until(made.is_file, "a candidate is made", 120.0)  # in a process of low priority
    (waiting,) = Asker(home).status().candidates
    assert (waiting.motion, waiting.refused, waiting.adopted) == (pool.motion, None, False)
    assert Asker(home).status().labels == list(LABELS[:9])
    unnamed = replace(TERMS, labels=None)
    assert Asker(home).ask(X[:5], unnamed).labels == list(LABELS[:9])
    old, folder = model_of(1), home / "improve" / pool.motion
    new = read_skops(str(folder / "model.skops"))
    storage = Storage(home / DATABASE)
    told = account(storage, find(storage, pool.motion)).decisions  # as this node sees it
    storage.close()
    decided = np.array([label is not None for label in told])
    labels = np.array([label for label in told if label is not None])
    both = np.vstack([data.rows[1][0], data.pool[decided]]), np.concatenate([data.rows[1][1], labels])
    assert (new.predict(data.test[0]) == clone(ESTIMATOR).fit(*both).predict(data.test[0])).all()
    assert voted(nodes, asker.ask(X, TERMS).motion) == old.predict(X).tolist()

    assert_control_c_while_the_database_is_busy_says_interrupted(home)
    assert Asker(home).status().model == ""
    shown = run("node", "adopt", home, "--show")
    assert (shown.returncode, "chose the inputs of the pool" in shown.stdout) == (0, True), shown.stderr
    assert "candidate of motion" in run("node", "status", home).stdout
    adopted = run_json("node", "adopt", home, pool.motion[:8])
    assert (adopted["adopted"], adopted["former"], adopted["running"]) == (pool.motion, None, True)
    assert adopted["report"] == json.loads((folder / "report.json").read_text())
    assert (Asker(home).status().model, Asker(home).status().labels) == (pool.motion, list(LABELS))
    assert Asker(home).ask(X[:5], unnamed).labels == list(LABELS)
    assert voted(nodes, asker.ask(X, TERMS).motion) == new.predict(X).tolist()
    assert_refused("votes already", "node", "adopt", home, "last")

    nodes.kill(1)
    nodes.start(1)
    nodes.wait([1], 60.0)
    assert voted(nodes, asker.ask(X, TERMS).motion) == new.predict(X).tolist()

    assert run_json("node", "adopt", home, "--undo")["undone"] == pool.motion
    assert voted(nodes, asker.ask(X, TERMS).motion) == old.predict(X).tolist()
    assert_refused("nothing was adopted", "node", "adopt", home, "--undo")
    # Another model in node.toml: what is adopted beside it counts when the node is started with it.
    settings = (home / "node.toml").read_text()
    (home / "node.toml").write_text(settings.replace("model1.skops", "model2.skops"))
    warned = run("node", "adopt", home)
    assert (warned.returncode, "was started with another model" in warned.stderr) == (0, True), warned.stderr
    assert Asker(home).status().model == ""
    assert "was started with another" not in run("node", "adopt", home, "--undo").stderr
    storage = Storage(home / DATABASE)
    events = [entry.details["event"] for entry in storage.check_audit() if "pool" in entry.details]
    storage.close()
    assert events == ["candidate", "adopted", "undone", "adopted", "undone"]
    assert (new.predict(X) != old.predict(X)).any()
    assert np.isin(new.classes_, LABELS).all()
