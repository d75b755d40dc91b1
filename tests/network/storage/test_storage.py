"""What a node remembers: what is read is what was written, and only what is shown is read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.network.session.minutes import Ended
from folkmoot.network.storage.account import account, as_dict, find
from folkmoot.network.storage.database import _VERSION, DamagedError
from folkmoot.network.storage.records import TrackRecords
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.network.wire.statements import TwoCloses
from folkmoot.node.membership.identity import create
from support.command import assert_refused, run, run_json
from support.network.moot_in_memory import Moot

MEMBERS = [("aa", "north"), ("bb", "south"), ("cc", "west")]


def header_of(number: int, **changes: Any) -> bytes:
    settings: dict[str, Any] = {
        "moot": bytes(32), "asker": 0, "nonce": number.to_bytes(16), "created": float(number),
        "seconds": 30.0, "protocol": "slush", "k": 2, "alpha": 2, "beta": 20, "rounds": 50, "pace": 0.02,
        "weighted": False, "trust": False, "labels": ("no", "yes"), "inputs": 2, "columns": 1, "dtype": "<f8",
        "chunk_rows": 2, "chunks": (bytes(32),),
    } | changes  # fmt: skip
    return Motion(**settings).encoded()


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which three motions were played: votes, commits, closes, evidence and truths."""
    votes = np.random.default_rng(0).integers(0, 2, (5, 24)).astype(np.int8)
    moot = Moot(votes, seed=5)
    for asker in range(3):
        moot.put(asker, at=1.0 + asker, k=3, alpha=2)
    moot.network.run(40.0)
    storage = moot.storages[0]
    first, _, third = storage.names()
    close = storage.closes(third)[1]
    other = msgspec.structs.replace(close, reason="another")
    other = msgspec.structs.replace(other, signature=moot.keys[1].sign(statements.closing(other)))
    storage.save(third, [TwoCloses(close, other)])
    storage.tell(first, {0: "a", 7: "b"})
    storage.tell(first, {7: "a", 8: "b"})
    path = tmp_path_factory.mktemp("lived") / "moot.db"
    storage._db.change("VACUUM INTO ?", str(path))
    return path


def accounts(path: Path) -> dict[bytes, Any]:
    """By name: what people are shown, or None where it is said to be damaged."""
    storage = Storage(path)
    found: dict[bytes, Any] = {}
    try:
        for name in storage.names():
            try:
                held = storage.held(name)
                told = (
                    as_dict(account(storage, storage.motion(name))),
                    held.commits,
                    held.truths,
                    held.voted,
                )
                found[name] = told
            except DamagedError:
                found[name] = None
    finally:
        storage.close()
    return found


def test_what_is_read_is_what_was_written(lived: Path) -> None:
    found = accounts(lived)
    assert len(found) == 3
    assert all(found.values())
    first, _, third = found.values()
    assert first[2] == {0: "a", 7: "a", 8: "b"}
    assert third[0]["evidence"] == {"p001": "two closes"}


def test_no_changed_byte_is_shown(lived: Path, tmp_path: Path) -> None:
    """Any byte, anywhere in the file: the accounts are the same, or said to be damaged, or the file is."""
    before, whole = accounts(lived), lived.read_bytes()
    rng = np.random.default_rng(1)
    places = rng.choice(len(whole), 700, replace=False).tolist()
    copy = tmp_path / "moot.db"
    noticed = 0
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        copy.write_bytes(changed)
        for beside in tmp_path.glob("moot.db-*"):
            beside.unlink()
        try:
            found = accounts(copy)
        except (ValueError, OSError, sqlite3.Error):  # one line at the prompt
            noticed += 1
            continue
        shown = {name: told for name, told in found.items() if told is not None}
        noticed += len(shown) < 3
        assert all(before.get(name) == told for name, told in shown.items()), f"byte {place}"
    assert noticed > 30  # the rest is room that is not used, and pages of indexes


@pytest.mark.parametrize("table", ["motions", "voted", "commits", "closes", "evidence", "truths"])
def test_a_row_that_changes_comes_or_goes_is_noticed(lived: Path, tmp_path: Path, table: str) -> None:
    column = "name" if table == "motions" else "motion"
    database = sqlite3.connect(lived)
    (name,) = database.execute(f"SELECT {column} FROM {table}").fetchone()  # noqa: S608
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    database.close()
    values = {"BLOB": b"other", "TEXT": "other", "REAL": 1.5, "INTEGER": 9}
    for change in [*columns, "DELETE"]:
        copy = tmp_path / f"{change}.db"
        copy.write_bytes(lived.read_bytes())
        with sqlite3.connect(copy) as database:
            if change == "DELETE":
                database.execute(f"DELETE FROM {table} WHERE {column} = ?", (name,))  # noqa: S608
            else:
                kind = next(r[2] for r in database.execute(f"PRAGMA table_info({table})") if r[1] == change)
                where = f"rowid = (SELECT min(rowid) FROM {table} WHERE {column} = ?)"  # noqa: S608
                query = f"UPDATE {table} SET {change} = ? WHERE {where}"  # noqa: S608
                database.execute(query, (values[kind], name))
        database.close()
        storage = Storage(copy)
        with pytest.raises(
            DamagedError, match="is damaged: what is stored of it is not what this node wrote"
        ):
            storage.motion(name)
        storage.close()


def test_at_the_prompt_a_damaged_motion_is_one_line(lived: Path, tmp_path: Path) -> None:
    folder = tmp_path / "north"
    create(folder, name="north")
    (folder / "moot.db").write_bytes(lived.read_bytes())
    first, second, third = (each["motion"] for each in run_json("motions", "--via", folder)["motions"])
    with sqlite3.connect(folder / "moot.db") as database:
        database.execute(
            "UPDATE closes SET frame = zeroblob(length(frame)) WHERE motion = ?", (bytes.fromhex(second),)
        )
    database.close()
    assert_refused(f"motion {second[:12]} in", "motions", second[:12], "--via", folder)
    for options in ([], ["--json"]):
        listed = run("motions", "--via", folder, *options)
        assert listed.returncode == 2
        assert listed.stderr.count("\n") == 1
        assert f"1 motion damaged and not shown ({second[:12]})" in listed.stderr
        assert first[:12] in listed.stdout
        assert third[:12] in listed.stdout
    assert run("motions", first[:8], "--via", folder).returncode == 0
    newest = run_json("motions", "--via", folder, "--last", 1)  # does not read the damaged one
    assert [each["motion"] for each in newest["motions"]] == [third]
    for wrong in (["--last", 0], ["--last", 2, "--all"], ["last", "--last", 2]):
        assert_refused("--last must be a number of at least 1", "motions", "--via", folder, *wrong)
    storage = Storage(folder / "moot.db")
    storage._db.change("INSERT INTO truths VALUES (?, 0, 'a')", bytes.fromhex(second))
    assert TrackRecords(storage).read()  # of the first motion; the damaged one says nothing
    storage.close()


@pytest.mark.parametrize("version", [1, 9, _VERSION + 1])
def test_a_database_of_another_version_is_left_alone(version: int, lived: Path, tmp_path: Path) -> None:
    copy = tmp_path / "moot.db"
    copy.write_bytes(lived.read_bytes())
    with sqlite3.connect(copy) as database:
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    with pytest.raises(ValueError, match=rf"another version of folkmoot \(schema {version}"):
        Storage(copy)
    with sqlite3.connect(copy) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (version,)
    database.close()


# ---- many motions ----------------------------------------------------------------------------


@pytest.fixture
def storage() -> Iterator[Storage]:
    storage = Storage(":memory:")
    yield storage
    storage.close()


def fill(storage: Storage, first: int, last: int) -> None:
    for number in range(first, last):
        header = header_of(number)
        storage.open_motion(motion_name(header), header, bytes(64), MEMBERS, float(number), number + 30.0)
        storage.save(motion_name(header), [Ended(0, 0)], {"rounds": number})


def steps(storage: Storage, call: Any) -> int:
    """How many instructions SQLite carries out: what is read, without a clock."""
    taken = [0]

    def step() -> int:
        taken[0] += 1
        return 0

    storage._db._db.set_progress_handler(step, 1)
    call()
    storage._db._db.set_progress_handler(None, 1)
    return taken[0]


def test_a_list_reads_what_it_shows_and_no_more(storage: Storage) -> None:
    def listed() -> None:
        assert storage.count() > 0
        for name in storage.names(last=20):
            account(storage, storage.motion(name))

    def found() -> None:
        name = motion_name(header_of(77))
        assert find(storage, name.hex()[:12]).name == name
        assert find(storage, "last").summary["rounds"] == storage.count() - 1
        assert storage.names("open") == storage.names("told") == storage.names("with evidence") == []

    fill(storage, 0, 200)
    few = [steps(storage, call) for call in (listed, found)]
    fill(storage, 200, 4000)
    many = [steps(storage, call) for call in (listed, found)]
    assert storage.count() == 4000
    assert many[0] < 1.2 * few[0]
    assert many[1] < 1.2 * few[1]


def test_names_by_what_they_begin_with(storage: Storage) -> None:
    fill(storage, 0, 300)
    everything = [motion_name(header_of(number)) for number in range(300)]
    assert storage.names() == everything
    assert storage.names(last=7) == everything[-7:]
    for name in everything[:40]:
        for digits in (1, 2, 3, 5, 64):
            prefix = name.hex()[:digits]
            assert storage.names(prefix=prefix) == [x for x in everything if x.hex().startswith(prefix)]
    for wrong in ("abc", "xyzw", "0" * 65, "12 4", ""):
        with pytest.raises(ValueError, match="there is no motion"):
            find(storage, wrong)
