"""Commands as processes of their own: they say what they say when tests call them, one of every group."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from folkmoot.node.membership.identity import create
from folkmoot.node.membership.roster import Roster
from support.command import run
from support.process import assert_control_c_says_interrupted, run_process

VOTES = "task,worker,label\n" + "".join(f"t{t},w{w},{(t * w) % 3 > 0}\n" for t in range(9) for w in range(5))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the commands below read: a node, a roster of it, and votes."""
    node = create(tmp_path / "north", name="north", organisation="Öst")
    Roster([node.member()]).write(tmp_path / "roster.toml")
    (tmp_path / "votes.csv").write_text(VOTES)
    return tmp_path


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (0, "--version"),
        (2, ""),
        (2, "nothing"),
        (0, "theory threshold --n 31 --malicious 20 --plot {}/picture.svg"),  # with a warning
        (0, "theory absorption --n 61 --json"),
        (0, "deliberate {}/votes.csv --protocol slush --repeats 2"),
        (2, "demo --out {}/votes.csv"),
        (0, "roster check {}/roster.toml"),
        (2, "node init {}/north --model folkmoot.files.terminal:printable"),
        (2, "ask {}/votes.csv --node {}/north"),
        (2, "motions list --node {}/north"),
        (2, "local --nodes 0"),
    ],
)
def test_a_process_says_the_same(folder: Path, code: int, command: str) -> None:
    arguments = [part.format(folder) for part in command.split()]
    called, ran = run(*arguments), run_process(*arguments)
    assert (called.returncode, ran.returncode) == (code, code), ran.stderr
    assert _without_seconds(called.stdout) == _without_seconds(ran.stdout)
    assert called.stderr == ran.stderr
    assert called.stdout or called.stderr


def _without_seconds(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? (ms|s)\b", "some time", text)


def test_what_is_piped_in_and_the_environment_reach_a_command(folder: Path) -> None:
    line = create(folder / "south", name="south", listen="127.0.0.1:7699").member().line()
    for each in (run, run_process):
        result = each("roster", "add", folder / "roster.toml", "-", stdin=line)
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.startswith("added south: 2 members")
        run("roster", "remove", folder / "roster.toml", "south")
        table = each("theory", "absorption", "--n", "11", "--k", "5", env={"COLUMNS": "30"}).stdout
        assert max(map(len, table.splitlines())) < 60
        traced = each("theory", "absorption", "--n", "5", env={"FOLKMOOT_DEBUG": "1"})
        assert traced.returncode == 1
        assert "Traceback" in traced.stderr
    assert "FOLKMOOT_DEBUG" not in os.environ


def test_a_name_that_the_encoding_of_stdout_does_not_have_is_escaped(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text(VOTES.replace("True", "Süd").replace("False", "\U0001f600"), encoding="utf-8")
    narrow = {"PYTHONIOENCODING": "ascii"}
    table = run_process("deliberate", votes, "--why", "t1", env=narrow)
    assert (table.returncode, table.stderr) == (0, "")
    assert "S\\u00fcd" in table.stdout
    whole = run_process("deliberate", votes, "--json", env=narrow)
    assert json.loads(whole.stdout)["labels"] == ["Süd", "\U0001f600"]


def test_control_c_while_a_certificate_is_read_is_one_line(tmp_path: Path) -> None:
    Roster([create(tmp_path / "north", name="north").member()]).write(tmp_path / "roster.toml")
    os.mkfifo(tmp_path / "pipe")  # nobody writes into it
    roster = ("--roster", tmp_path / "roster.toml")
    assert_control_c_says_interrupted("verify", tmp_path / "pipe", *roster, inside="pathlib")
