"""``folkmoot motions`` and ``truth``: what cannot be read is one line, and exit code 2."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import numpy as np
import pytest

from folkmoot.cli.network.motions import write_decisions
from folkmoot.network.storage.account import Account
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.node.membership.identity import create
from support.command import assert_refused, run, run_json
from support.network.moot_in_memory import Moot
from support.network.stored_motion import folder_of


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


def test_an_open_motion_is_not_played(node: Path, tmp_path: Path) -> None:
    path = tmp_path / "motion.html"
    said = "is still open at this node: --play shows it once it is over"
    assert_refused(said, "motions", "last", "--via", node, "--play", path)
    assert not path.exists()


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
        (b"label\nno\nno\nno\n", "line 4: the motion has 2 inputs, and this is one label more"),
        (b"0,no\n1,yes\n", "got '0, no'; its first line names them"),
        (b"label,weight\nno,1\n", "must have the columns input,label or label: got 'label, weight'"),
    ):
        told.write_bytes(data)
        assert_refused(message, "truth", "last", told, "--via", node)
    told.write_bytes(b"1," * 200)
    assert len(run("truth", "last", told, "--via", node).stderr) < 200


@pytest.mark.parametrize(
    ("text", "truths"),
    [
        ("input,label,agreement\n0,3,1.0000\n1,,0.5000\n", {0: "3"}),  # as --out writes it, one undecided
        ("Label,Input\n4,1\n3,0\n", {0: "3", 1: "4"}),
        ("input,label\n0,3.0\n1,4.0\n", {0: "3", 1: "4"}),  # as pandas writes labels when some are missing
        ("label\n\n4\n", {1: "4"}),
    ],
)
def test_truths_as_people_have_them(text: str, truths: dict[int, str], tmp_path: Path) -> None:
    folder = heard(tmp_path / "south", ("3", "4"))
    (tmp_path / "truth.csv").write_text(text)
    told = run_json("truth", "last", tmp_path / "truth.csv", "--via", folder)
    storage = Storage(folder / "moot.db")
    assert storage.truths(bytes.fromhex(told["motion"])) == truths
    storage.close()
    (tmp_path / "truth.csv").write_text("input,label\n0,3.5\n")
    assert_refused("must be one of 3, 4: got '3.5'", "truth", "last", tmp_path / "truth.csv", "--via", folder)


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
    told_of = run_json("truth", "last", out, "--via", folder)
    assert told_of["told"] == 2
    storage = Storage(folder / "moot.db")
    assert storage.truths(bytes.fromhex(account["motion"])) == dict(enumerate(labels))
    storage.close()


def test_decisions_told_as_truth_unchanged_are_doubted(tmp_path: Path) -> None:
    moot = Moot(np.array([[0, 1, 0, 1]] * 5, dtype=np.int8), seed=2)
    moot.put(k=4)
    moot.network.run(40.0)
    folder, out = folder_of(moot, 0, tmp_path / "p000"), tmp_path / "out.csv"
    assert run("motions", "last", "--via", folder, "--out", out).returncode == 0
    told = run("truth", "last", out, "--via", folder)
    assert told.returncode == 0
    assert "agreement is not truth" in told.stderr
    out.write_text(out.read_text().replace("0,a,", "0,b,", 1))
    assert run("truth", "last", out, "--via", folder).stderr == ""
