"""A node takes over names of files and labels from a folder that somebody else exported, and no more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from folkmoot.node.membership.exported import read_exported
from folkmoot.node.membership.identity import create
from folkmoot.node.service.node_file import ModelTable, read_node_file
from support.command import assert_refused, run, run_json

GOOD = (
    'model = "model.skops"\nschema = "model.schema.toml"\nholdout = "holdout.npz"\nlabels = ["no", "yes"]\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "north"
    found.mkdir()
    for name in ("model.skops", "model.schema.toml", "holdout.npz", "model.pkl", "own.py"):
        (found / name).write_text("")
    (tmp_path / "outside.skops").write_text("")
    (found / "link.skops").symlink_to(tmp_path / "outside.skops")
    return found


def export(folder: Path, text: str) -> None:
    (folder / "exported.toml").write_text(text)


def test_what_is_harmless_is_taken_over_and_shown(folder: Path) -> None:
    export(folder, "# a comment of whoever exported it\n" + GOOD)
    told = run("node", "init", folder)
    assert told.returncode == 0, told.stderr
    shown = (
        'model = "model.skops"; schema = "model.schema.toml"; holdout = "holdout.npz"; labels = ["no", "yes"]'
    )
    assert shown in " ".join(told.stderr.split())
    read = read_node_file(folder)
    schema = folder / "model.schema.toml"
    assert read.model == ModelTable("file", str(folder / "model.skops"), labels=("no", "yes"), schema=schema)
    assert read.holdout == folder / "holdout.npz"
    assert "comment" not in (folder / "node.toml").read_text()


def test_it_is_shown_as_json(folder: Path) -> None:
    export(folder, GOOD)
    told = run_json("node", "init", folder)
    assert told["exported"] == read_exported(folder)
    assert told["exported"]["labels"] == ["no", "yes"]


def test_without_an_export_nothing_is_taken_over(tmp_path: Path) -> None:
    create(tmp_path / "n", name="north")
    assert read_exported(tmp_path / "n") == {}
    assert (
        run_json("node", "init", tmp_path / "m", "--model", "folkmoot.files.terminal:printable")["exported"]
        == {}
    )


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('allow = ["posix.system"]', "allow"),
        ('roster = "theirs.toml"', "roster"),
        ('weights = "weights.json"', "weights"),
        ("[policy]\nmost_rounds = 1", "policy"),
        ('[improve]\nestimator = "own:factory"', "improve"),
        ('[quorum_set]\nthreshold = 1\nmembers = ["evil"]', "quorum_set"),
        ('name = "evil"', "name"),
        ('listen = "0.0.0.0:1"', "listen"),
        ("anything = 1", "anything"),
    ],
)
def test_other_keys_are_refused_and_nothing_is_made(folder: Path, line: str, key: str) -> None:
    export(folder, GOOD + line)
    before = sorted(folder.iterdir())
    assert_refused(
        f"must hold model, schema, holdout, labels only: got '{key}'",
        *["node", "init", folder],
    )
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('model = "own:run"', "model must be the name of a file in the folder"),
        ('model = "os:getcwd"', "model must be the name of a file"),
        ('model = "model.pkl"', "model must be the name of a file"),
        ('model = "../outside.skops"', "model must be the name of a file"),
        ('model = "/etc/passwd"', "model must be the name of a file"),
        ('model = "link.skops"', "there is no link.skops, or it is a link"),
        ('model = "none.skops"', "there is no none.skops"),
        ('model = ["model.skops"]', "model must be the name of a file"),
        ('schema = "node.toml"', "schema must be the name of a file"),
        ('schema = "../model.schema.toml"', "schema must be the name of a file"),
        ('holdout = "key.pem"', "holdout must be the name of a file"),
        ('holdout = "/tmp/holdout.npz"', "holdout must be the name of a file"),
        ('labels = "no"', "labels must be a list of texts or numbers"),
        ("labels = [1979-05-27, 1979-05-28]", "labels must be a list"),
        ("labels = [nan, 1.0]", "labels must be a list"),
        ('labels = [["no"], ["yes"]]', "labels must be a list"),
    ],
)
def test_other_values_are_refused_and_nothing_is_made(folder: Path, line: str, message: str) -> None:
    export(folder, line)
    assert_refused(message, "node", "init", folder)
    assert not (folder / "key.pem").exists()


def test_labels_are_written_anew(folder: Path) -> None:
    """A text of TOML stays one: no line of it becomes a line of node.toml."""
    export(
        folder,
        'model = "model.skops"\nlabels = [\'x"]\\nallow = ["posix.system\', "a\\nallow = 1", true, 2, 0.5]',
    )
    create(folder, name="north")
    found = read_node_file(folder).chosen_model()
    assert found.labels == ('x"]\\nallow = ["posix.system', "a\nallow = 1", "True", "2", "0.5")
    assert found.allow == ()


def test_a_command_of_an_export_is_not_run(folder: Path, tmp_path: Path) -> None:
    """The attack on 0.2: a function beside the model, which ran at the first look at the node."""
    (folder / "own.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\ndef run(X):\n    return [1] * len(X)\n"
    )
    export(folder, 'model = "own:run"\n')
    told = run("node", "init", folder)
    if told.returncode == 0:  # as 0.2 did
        before = Path.cwd()
        os.chdir(folder)
        try:
            run("roster", "make", folder / "north.line")
            run("doctor", "--node", folder)
        finally:
            os.chdir(before)
    assert not (tmp_path / "ran").exists()
    assert told.returncode == 2
