"""``folkmoot audit export`` and ``verify`` from the shell, and what they say of what does not hold."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.node.membership import identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.wire.batch import Batch
from support.command import assert_refused, run, run_json


@pytest.fixture
def north(tmp_path: Path) -> Path:
    """A node that was asked twice by itself, and its roster beside it."""
    me = identity.create(tmp_path / "north", name="north", listen="127.0.0.1:0", addresses=["127.0.0.1:1"])
    other = identity.create(tmp_path / "east", name="east", listen="127.0.0.1:0", addresses=["127.0.0.1:2"])
    roster = Roster([me.member(), other.member()])
    roster.write(tmp_path / "roster.toml")
    Roster([other.member()]).write(tmp_path / "others.toml")
    storage = Storage(me_folder := tmp_path / "north" / DATABASE)
    put(storage, roster, 0)
    put(storage, roster, 1)
    storage.close()
    assert me_folder.is_file()
    return tmp_path / "north"


def put(storage: Storage, roster: Roster, number: int) -> None:
    batch = Batch(np.ones((3, 2)))
    motion = Motion(
        bytes.fromhex(roster.digest), 0, number.to_bytes(16, "big"), 1e9, 30.0, "slush", 1, 1, 20, 5, 0.0,
        False, False, ("a", "b"), 3, 2, batch.dtype, batch.chunk_rows, batch.digests(),
    )  # fmt: skip
    header = motion.encoded()
    people = [(each.fingerprint, each.name) for each in roster]
    storage.open_motion(motion_name(header), header, bytes(64), people, 1e9 + number, 1e9 + 30)


def test_an_export_holds_and_a_later_one_goes_on_from_it(north: Path) -> None:
    folder = north.parent
    out, later, roster = folder / "one.jsonl", folder / "two.jsonl", folder / "roster.toml"
    told = run("audit", "export", "--via", north, "--out", out)
    assert told.returncode == 0
    assert f"wrote {out}: 2 entries, head " in " ".join(told.stdout.split())
    assert run_json("audit", "verify", out, "--roster", roster)["entries"] == 2
    assert "holds: 2 entries" in " ".join(run("audit", "verify", north).stdout.split())
    storage = Storage(north / DATABASE)
    put(storage, Roster.read(roster), 2)
    storage.close()
    assert run_json("audit", "export", "--via", north, "--out", later)["last"] == 3
    assert run_json("audit", "verify", later, "--roster", roster, "--since", out)["holds"] is True
    assert run_json("audit", "verify", north, "--roster", roster, "--since", out)["last"] == 3
    assert_refused("cut short", "audit", "verify", out, "--roster", roster, "--since", later)


def test_what_does_not_hold_is_one_line(north: Path) -> None:
    folder = north.parent
    out, roster = folder / "one.jsonl", folder / "roster.toml"
    run("audit", "export", "--via", north, "--out", out)
    lines = out.read_text().splitlines()
    (folder / "short.jsonl").write_text("\n".join([*lines[:1], *lines[2:]]) + "\n")
    short = folder / "short.jsonl"
    assert_refused(f"{short} does not hold: ", "audit", "verify", short, "--roster", roster)
    assert_refused("is not in the roster", "audit", "verify", out, "--roster", folder / "others.toml")
    assert_refused("give --roster ROSTER.toml", "audit", "verify", out)
    (folder / "noise").write_bytes(b"\xff\xfe\x00")
    assert_refused("it is not text", "audit", "verify", folder / "noise", "--roster", roster)
    (folder / "empty").write_text("")
    assert_refused(
        "does not hold: it is not a whole export of an audit log",
        "audit",
        "verify",
        folder / "empty",
        "--roster",
        roster,
    )
    assert_refused("there is no node in", "audit", "export", "--via", folder, "--out", out)
    assert_refused("--out must name a file", "audit", "export", "--via", north, "--out", folder / "x" / "y")
    assert_refused("gone", "audit", "verify", folder / "gone", "--roster", roster)
    # The file that is wrong is named: not the log, but what it is to go on from.
    for wrong in ("noise", "roster.toml"):
        command = ["audit", "verify", out, "--roster", roster, "--since", folder / wrong]
        assert_refused(f"{folder / wrong} does not hold: it is not", *command)
    assert_refused(f"there is no node in {folder}: give the folder", "audit", "verify", folder)
    assert_refused(
        f"--out must name a file: {folder} is a folder", "audit", "export", "--via", north, "--out", folder
    )
    database = sqlite3.connect(north / DATABASE)
    database.execute("DELETE FROM audit WHERE seq = 2")
    database.commit()
    database.close()
    assert_refused("was asked: entries were cut off", "audit", "verify", north)
    assert_refused("was asked: entries were cut off", "audit", "export", "--via", north, "--out", out)
