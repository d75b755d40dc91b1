"""``folkmoot motions`` and ``truth``: what cannot be read is one line, and exit code 2."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from folkmoot.cli.network.motions import write_decisions
from folkmoot.network.membership.identity import create
from folkmoot.network.storage.account import Account
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire.motion import Motion, motion_name
from support.command import assert_refused, run, run_json


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node that has heard of one motion."""
    return heard(tmp_path / "north", ("no", "yes"))


def heard(folder: Path, labels: tuple[str, ...]) -> Path:
    create(folder, name=folder.name)
    motion = Motion(
        bytes(32), 0, bytes(16), 0.0, 30.0, "slush", 2, 2, 20, 50, 0.02, False, False, labels, 2, 1,
        "<f8", 2, (bytes(32),),
    )  # fmt: skip
    header = motion.encoded()
    storage = Storage(folder / "moot.db")
    storage.open_motion(
        motion_name(header), header, bytes(64), [("aa", "north"), ("bb", "south"), ("cc", "west")], 0.0, 30.0
    )
    storage.close()
    return folder


def test_a_motion_without_a_quorum_says_what_is_missing(node: Path) -> None:
    assert run("motions", "--via", node).stdout.startswith("1 motion at this node")
    shown = run("motions", "last", "--via", node).stdout
    assert "0 of 2 inputs decided" in shown
    assert "undecided: 2 (fewer than 2 signed the same)" in shown


def test_a_damaged_database_is_one_line(node: Path) -> None:
    with sqlite3.connect(node / "moot.db") as database:
        database.execute("DROP TABLE closes")
    assert_refused("the database of the node cannot be used", "motions", "last", "--via", node)


def test_truths_that_cannot_be_read(node: Path, tmp_path: Path) -> None:
    told = tmp_path / "truth.csv"
    for data, message in (
        (b"\xff\xfe", "is not a text file in UTF-8: line 1 has the mark of UTF-16"),
        (
            b"1," * 200,
            "must have different column names: got '1' more than once; is its first line a header?",
        ),
        (b"a;b;c\n1;2;3\n", "must have the columns input,label or label: got 'a, b, c'"),
        (b"input;label\n0;yes\n\n2;no\n", "line 4: input must be 0 to 1: got '2'"),
        (b"label\n\n", "has a header and no truths"),
        (b"label\n", "has a header and no rows"),
        (b"label\nmaybe\n", "label must be one of no, yes: got 'maybe'"),
    ):
        told.write_bytes(data)
        assert_refused(message, "truth", "last", told, "--via", node)
    told.write_bytes(b"1," * 200)
    assert len(run("truth", "last", told, "--via", node).stderr) < 200


def test_labels_that_are_formulas_are_written_harmless_and_read_back(tmp_path: Path) -> None:
    labels = ("=cmd|' /C calc'!A0", "'@x")
    folder = heard(tmp_path / "south", labels)
    account = run_json("motions", "last", "--via", folder)
    assert account["labels"] == list(labels)
    out = tmp_path / "out.csv"
    decided = msgspec.convert(account | {"decisions": list(labels)}, Account)
    write_decisions(out, decided)
    lines = out.read_text().splitlines()
    assert lines[1:] == ["0,'=cmd|' /C calc'!A0,0.0000", "1,''@x,0.0000"]
    told = tmp_path / "truth.csv"
    told.write_text("\n".join(line.rpartition(",")[0] for line in lines))
    told_of = run_json("truth", "last", told, "--via", folder)
    assert told_of["told"] == 2
    storage = Storage(folder / "moot.db")
    assert storage.truths(bytes.fromhex(account["motion"])) == dict(enumerate(labels))
    storage.close()
