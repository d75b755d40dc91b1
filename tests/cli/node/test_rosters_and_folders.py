"""``folkmoot node init`` and ``folkmoot roster``: folders and files, before anything runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from folkmoot.node.membership.identity import load
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.input_files import read_schema
from folkmoot.node.service.models import load_model
from folkmoot.node.service.node_file import read_node_file
from folkmoot.node.storage.storage import open_storage
from support.command import assert_refused, run, run_json

FUNCTION = "folkmoot.files.terminal:printable"  # any


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model of two columns without names, and its labels 0 and 1."""
    monkeypatch.chdir(tmp_path)
    model = LogisticRegression().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    skops.io.dump(model, tmp_path / "model.skops")
    (tmp_path / "rows.csv").write_text("age,label,dose\n1,0,2\n")
    return tmp_path


def made(name: str, *more: object) -> str:
    """The line of a new node."""
    result = run("node", "init", name, "--model", "model.skops", *more)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_one_line_is_printed_and_the_folder_is_whole(here: Path) -> None:
    line = made("north", "--address", "north.example:7000", "--columns", "rows.csv")
    assert line.count("\n") == 1
    assert (here / "north" / "north.line").read_text() == line
    me = load(here / "north")
    assert line.strip() == me.member().line()
    assert me.addresses == ("north.example:7000",)
    told = read_node_file(here / "north")
    assert told.chosen_roster(None).resolve() == here / "roster.toml"
    assert Path(told.chosen_model().spec).resolve() == here / "model.skops"
    for more, where in (((), "roster.toml"), (("--roster", "other.toml"), "other.toml")):
        yet = f"there is no roster in {where} yet: folkmoot roster make *.line --out {where} makes it"
        assert_refused(yet, "node", "run", "--node", "north", *more)
    schema = told.chosen_model().schema
    assert schema is not None
    assert [column.name for column in read_schema(schema)] == ["age", "dose"]
    storage, damaged = open_storage(here / "north", me.fingerprint, 1.0)  # a key is never without one
    storage.close()
    assert damaged == []


def test_a_map_of_labels_is_what_the_node_votes_by(here: Path) -> None:
    (here / "map.toml").write_text('0 = "no"\n1 = "yes"\n')
    made("north", "--label-map", "map.toml", "--holdout", "rows.csv")
    told = read_node_file(here / "north")
    assert told.chosen_model().labels == {"0": "no", "1": "yes"}
    model = load_model(told.chosen_model())
    assert model.predict(np.array([[0.0, 0.0], [1.0, 1.0]])) == ["no", "yes"]
    assert tomllib.loads((here / "north" / "node.toml").read_text())["holdout"] == "../rows.csv"


def test_nothing_is_made_of_what_cannot_be_run(here: Path) -> None:
    (here / "map.toml").write_text('0 = "no"\n2 = "yes"\n')
    for message, *more in (
        ("--model must name the model",),
        ("No such file", "--model", "none.skops"),
        (
            "must have a name in the moot for each of 0, 1",
            "--model",
            "model.skops",
            "--label-map",
            "map.toml",
        ),
        ("2 columns of the model", "--model", "model.skops", "--columns", "map.toml"),
    ):
        result = run("node", "init", "north", *more)
        assert result.returncode == 2
        assert message in result.stderr or "map.toml" in result.stderr
        assert not (here / "north").exists()


def test_a_roster_is_made_grows_and_shrinks(here: Path) -> None:
    lines = []
    for i, name in enumerate("cabd"):  # a function is not loaded into a process of its own
        result = run("node", "init", name, "--model", FUNCTION, "--listen", f"127.0.0.1:{7000 + i}")
        lines.append(result.stdout)
    result = run("roster", "make", *(f"{name}/{name}.line" for name in "cab"))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("wrote roster.toml: 3 members: a quorum is 2, nobody may lie, digest ")
    assert [each.name for each in Roster.read(here / "roster.toml")] == ["a", "b", "c"]
    assert_refused("--out must be a new file", "roster", "make", "a/a.line")

    told = run_json("roster", "add", "roster.toml", lines[3].strip())
    assert (told["n"], told["quorum"], told["faults"]) == (4, 3, 1)
    assert run_json("roster", "check", "roster.toml") == {"ok": True, "problems": [], **told}
    roster_add = ("roster", "add", "roster.toml")
    assert_refused(
        "members must differ: got 'd' twice, with the same", "roster", "add", "roster.toml", "d/d.line"
    )
    printed = "a line that folkmoot node init printed"
    assert_refused(
        f"{printed}, a file with such lines, or -: got 'nobody', which is no file", *roster_add, "nobody"
    )
    assert_refused("got 'd', which is a folder", *roster_add, "d")
    (here / "empty.line").write_text("\n# nothing\n")
    assert_refused(f"empty.line must have {printed}: it has none", *roster_add, "empty.line")
    assert_refused("node.toml: a participant's line must be as", *roster_add, "d/node.toml")
    assert run_json("roster", "remove", "roster.toml", "b", "d", "b")["n"] == 2
    assert_refused("name must be one of c: got 'b'", "roster", "remove", "roster.toml", "a", "b")
    assert len(Roster.read(here / "roster.toml")) == 2  # all or none

    run("node", "init", "e", "--model", FUNCTION, "--listen", "127.0.0.1:7000")
    result = run("roster", "make", "c/c.line", "e/e.line", "--out", "shared.toml")
    assert result.stderr == (
        "folkmoot: warning: c, e have the same address 127.0.0.1:7000; only one is reached there\n"
    )

    careful = ("--faults", 0, "--out", "careful.toml")
    assert run_json("roster", "make", *(f"{name}/{name}.line" for name in "abcd"), *careful)["quorum"] == 3


def test_everything_wrong_with_a_roster_is_said(here: Path) -> None:
    (here / "bad.toml").write_text('participants = [{ name = "a b" }]\nepoch = -1\n')
    result = run("roster", "check", "bad.toml")
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) > 2
    assert all(line.startswith("folkmoot: bad.toml: ") for line in result.stderr.splitlines())
