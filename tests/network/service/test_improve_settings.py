"""``[improve]`` in ``node.toml``: what it must be, and what is said in one line if it is not."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from folkmoot.network.membership.identity import create
from folkmoot.network.membership.roster import Roster
from folkmoot.network.service.improve.settings import Improve, own_rows, unfitted_estimator
from folkmoot.network.service.node_file import read_node_file
from folkmoot.network.wire.schema import Column
from folkmoot.skops_files import write_skops
from support.command import assert_refused, run
from support.models import Unclonable
from support.network.improving_moot import ESTIMATOR, digits

GOOD = {"rows": "own.csv", "estimator": "unfitted.skops", "askers": ["south"]}
FACTORIES = """
from sklearn.naive_bayes import GaussianNB


def new():
    return GaussianNB()


def kind():
    return GaussianNB


def fails():
    raise RuntimeError("no licence")


number = 7
"""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node with a model on digits, own rows in a table, and a member south beside it."""
    folders = [tmp_path / name for name in ("north", "south")]
    made = [create(each, name=each.name, listen="127.0.0.1:0", addresses=["127.0.0.1:1"]) for each in folders]
    Roster([each.member() for each in made]).write(tmp_path / "roster.toml")
    X, y = digits().rows[0]
    write_skops(folders[0] / "model.skops", clone(ESTIMATOR).fit(X, y))
    write_skops(folders[0] / "unfitted.skops", ESTIMATOR)
    lines = [",".join([*(f"x{i}" for i in range(64)), "label"])]
    lines += [",".join([*map(str, row), label]) for row, label in zip(X, y, strict=True)]
    (folders[0] / "own.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "factories.py").write_text(FACTORIES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return folders[0]


def say(node: Path, **changes: object) -> None:
    """Write [improve] with these lines changed; None takes a line out."""
    told = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in told.items()]
    with (node / "node.toml").open("a") as file:
        file.write("\n".join(['roster = "../roster.toml"', 'model = "model.skops"', "[improve]", *lines, ""]))


def test_it_is_read_and_checked(node: Path) -> None:
    say(node, most_rows=500)
    read = read_node_file(node).improve
    assert read == Improve(node / "own.csv", str(node / "unfitted.skops"), askers=("south",), most_rows=500)
    checks = run_json_failing("node", "check", node)
    (improve,) = [each for each in checks["checks"] if each["what"] == "improve"]
    assert improve == {
        "what": "improve", "fine": True, "note": "40 rows of 10 labels, GaussianNB; pools of south",
    }  # fmt: skip


def run_json_failing(*arguments: object) -> Any:
    """What it prints with --json, though some checks fail: nobody else is there."""
    return json.loads(run(*arguments, "--json").stdout)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rows": None}, "[improve]: rows is missing"),
        ({"rows": 7}, "rows in [improve] must be text: got 7"),
        ({"rowz": "own.csv"}, "rowz"),
        ({"estimator": "forest.onnx"}, "estimator must be FILE.skops or package.module:factory: got"),
        ({"askers": "south"}, 'askers in [improve] must be a list of names, such as ["north"]: got'),
        ({"askers": ["so uth"]}, "name must be 1 to 64 letters"),
        ({"most_rows": 0}, "most_rows in [improve] must be a whole number from 1 to 100,000: got 0"),
        ({"most_seconds": 1.5}, "most_seconds in [improve] must be a whole number from 1 to 86,400: got 1.5"),
        ({"pools_a_day": 10_000}, "pools_a_day in [improve] must be a whole number from 1 to 1,000: got"),
        ({"adopt_by_page": "yes"}, "adopt_by_page in [improve] must be true or false: got 'yes'"),
    ],
)
def test_lines_that_cannot_be_read_are_refused_in_a_line(
    changes: dict[str, object], why: str, node: Path
) -> None:
    say(node, **changes)
    assert_refused(why, "node", "run", node)
    if "rows" in changes:  # one function reads the file for all commands
        assert_refused(why, "node", "adopt", node)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rows": "none.csv"}, "none.csv"),
        ({"target": "kind"}, "own.csv must have a column 'kind': it has x0"),
        ({"askers": ["east"]}, "must be members of the roster, north, south: got 'east'"),
        ({"estimator": "none.skops"}, "none.skops"),
        ({"estimator": "model.skops"}, "must not be fitted: give one that has seen no rows"),
        ({"estimator": "factories:kind"}, "must be an estimator with fit and predict: got GaussianNB"),
        ({"estimator": "factories:fails"}, "must be a function without arguments: RuntimeError: no licence"),
        ({"estimator": "factories:number"}, "must name a function: number is a int"),
        ({"estimator": "nowhere:new"}, "must name a module that can be imported: there is no nowhere"),
    ],
)
def test_what_cannot_be_used_stops_the_node_at_its_start_and_check_says_so(
    changes: dict[str, object], why: str, node: Path
) -> None:
    say(node, **changes)
    if "rows" in changes or "askers" in changes:  # the others are found by the same function
        assert_refused(why, "node", "run", node)
    (improve,) = [x for x in run_json_failing("node", "check", node)["checks"] if x["what"] == "improve"]
    assert not improve["fine"]
    assert why in improve["note"]


def test_rows_of_one_label_or_other_columns_are_refused(tmp_path: Path) -> None:
    X = np.arange(12.0).reshape(4, 3)
    np.savez(tmp_path / "one.npz", X=X, y=["a"] * 4)
    np.savez(tmp_path / "answers.npz", y=["a", "b"], answers=["a", "b"])
    improve = Improve(tmp_path / "one.npz", "factories:new")
    with pytest.raises(ValueError, match="must hold rows of two labels at least: it has a"):
        own_rows(improve, (), 3)
    with pytest.raises(ValueError, match="the model takes 5 columns, and the inputs have 3"):
        own_rows(improve, (), 5)
    with pytest.raises(ValueError, match="it holds labels and answers alone"):
        own_rows(Improve(tmp_path / "answers.npz", "factories:new"), (), 3)


def test_columns_of_own_rows_are_put_where_the_model_has_them(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("kind,width,height\nfir,1,10\noak,2,20\n")
    improve = Improve(tmp_path / "own.csv", "factories:new", "kind")
    found = own_rows(improve, (Column("height"), Column("width")), 2)
    assert (found.X.tolist(), found.labels) == ([[10.0, 1.0], [20.0, 2.0]], ["fir", "oak"])


def test_an_estimator_must_be_clonable(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("odd_estimators")
    module.new = lambda: Unclonable(["a"])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "odd_estimators", module)
    with pytest.raises(ValueError, match="must be one that scikit-learn can clone: RuntimeError"):
        unfitted_estimator("odd_estimators:new", ())


def test_at_the_prompt(node: Path) -> None:
    say(node)
    assert_refused("has no motions yet", "node", "adopt", node)
    assert_refused("there is no node in", "node", "adopt", node / "deeper")
    assert_refused("give neither a motion nor --show with it", "node", "adopt", node, "last", "--undo")
    inputs = node / "own.csv"
    refused = "improve must be given with labels only: the answers are numbers"
    assert_refused(refused, "ask", inputs, "--improve", "--regression", "--tol", 1, "--via", node)
