"""What a node remembers: what is read is what was written, after any crash, and damage is named."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from folkmoot.node.membership.identity import KEY, load
from folkmoot.node.rosters.history import RosterHistory
from folkmoot.node.service.node_file import read_node_file
from folkmoot.node.session.book import Evidence, contradict
from folkmoot.node.session.frames import Secret, encoded, read_stored
from folkmoot.node.session.header import Header, motion_of
from folkmoot.node.session.statement import Said
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.audit import check_export, check_goes_on
from folkmoot.node.storage.database import KEPT_OLD, VERSION, DamagedError, FullError
from folkmoot.node.storage.retention import Watermarks, until
from folkmoot.node.storage.storage import DATABASE, Part, Storage, create_storage, open_storage
from support.node.signed import SignedNode, SignedWorld, decided, play
from support.node.world import Node

TERMS = Terms(labels=("a", "b"), seconds=4.0)
VOTES = [[0, 1, 0], [0, 1, 1], [0, 1, 0], [0, 0, 0]]
PEOPLE = [("aa" * 32, "north"), ("bb" * 32, "south"), ("cc" * 32, "west"), ("dd" * 32, "east")]
OWNER = "ab" * 32
OF_0_2 = (
    Path(__file__).parent / "of_0_2"
)  # written by folkmoot 0.2 itself: one motion, one change of the roster


def header_of(number: int) -> bytes:
    return Header(bytes(32), 0, number.to_bytes(16), float(number), TERMS, 3).encoded()


def name_of(number: int) -> bytes:
    return motion_of(header_of(number))


def record(number: int, size: int = 1) -> bytes:
    return encoded(Secret(name_of(number), 0, bytes(32), bytes(size)))


def said(value: int) -> Said:
    return Said(3, 2, 0, 0, 0, -1, bytes([value]) * 32, bytes(64))


def fill(storage: Storage, first: int, last: int, *, over: bool = True) -> None:
    for number in range(first, last):
        name = name_of(number)
        storage.open_motion(name, header_of(number), bytes(64), PEOPLE, 1, float(number), number + 4.0)
        storage.append(name, [record(number), record(number, 2)], number + 1.0)
        if over:
            storage.conclude(name, b"answer", b"certificate %d" % number, number + 2.0, bytes_sent=7)


@pytest.fixture
def storage() -> Iterator[Storage]:
    storage = Storage(":memory:")
    yield storage
    storage.close()


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    storage = Storage(path)
    fill(storage, 1, 3)
    fill(storage, 3, 4, over=False)
    proof = Evidence(name_of(1), said(1), said(2))
    assert storage.accuse(name_of(1), proof, 5.0)
    assert not storage.accuse(name_of(1), Evidence(name_of(1), said(2), said(3)), 6.0)
    storage.tell(name_of(2), {0: "a", 2: "b"}, 7.0)
    storage.tell(name_of(2), {2: "a"}, 8.0)
    storage.amend(name_of(2), shown=[1])
    storage.close()
    storage = Storage(path)
    assert storage.check() == []
    one, two, three = map(storage.motion, storage.names())
    assert (one.state, two.state, three.state) == ("decided", "decided", "open")
    assert one.evidence == {3: proof}
    assert two.truths == {0: "a", 2: "a"}
    assert two.part == Part(bytes_sent=7, shown=[1])
    assert (two.answer, two.certificate, two.decided) == (b"answer", b"certificate 2", 4.0)
    assert (three.names, three.faults, three.ends) == (["north", "south", "west", "east"], 1, 7.0)
    assert three.header.terms == TERMS
    assert storage.journal(name_of(3)) == [record(3), record(3, 2)]
    assert storage.names("open") == [name_of(3)]
    assert storage.names("told") == [name_of(2)]
    assert storage.names("with evidence") == [name_of(1)]
    assert storage.find("last") == name_of(3)
    assert storage.find(name_of(2).hex()[:20]) == name_of(2)
    with pytest.raises(ValueError, match="there is no motion '0000'"):
        storage.find("0000")
    storage.close()


def test_a_motion_ends_once(storage: Storage) -> None:
    fill(storage, 1, 2)
    storage.conclude(name_of(1), b"another", b"other", 9.0)
    storage.stop(name_of(1), "the roster ended", 9.0)
    found = storage.motion(name_of(1))
    assert (found.answer, found.state) == (b"answer", "decided")
    fill(storage, 2, 3, over=False)
    storage.stop(name_of(2), "the roster ended", 9.0, bytes_sent=1)
    assert storage.motion(name_of(2)).part == Part(bytes_sent=1, why="the roster ended")
    storage.append(name_of(9), [record(9)], 1.0)  # nobody knows it
    assert not storage.knows(name_of(9))
    assert len(storage.check_audit()) == 8


class StoringNode(SignedNode):
    """A member whose journal is a file, and whose crash closes the file."""

    path: Path

    def start(self) -> None:
        """From the file."""
        storage = Storage(self.path)
        world = self.world
        if not storage.knows(world.motion):
            storage.open_motion(
                world.motion, world.header.encoded(), bytes(64), world.people, world.members.faults, 1e9, 2e9
            )
        self.journal = storage.journal(world.motion)
        storage.close()
        super().start()

    def _at_save(self, *, before: bool) -> None:
        if not before:
            storage = Storage(self.path)
            storage.append(self.world.motion, [self.journal[-1]], 1e9)
            storage.close()
        super()._at_save(before=before)


def storing(path: Path, crashes: list[int]) -> Callable[[SignedWorld, int, list[bytes]], Node]:
    def make(world: SignedWorld, me: int, votes: list[bytes]) -> Node:
        node = StoringNode(world, me, votes, crashes)
        node.path = path
        return node

    return make


def test_a_member_that_crashes_at_every_save_goes_on_from_the_file(tmp_path: Path) -> None:
    """Before and after each record in turn, in one motion; it never contradicts itself."""
    path = tmp_path / DATABASE
    world = play(TERMS, VOTES, kinds={0: storing(path, list(range(60)))})
    assert world.decided()
    assert world.nodes[0].starts > 16
    assert len({decided(world, i).answer for i in range(4)}) == 1
    storage = Storage(path)
    assert storage.check() == []
    own = []
    for each in map(read_stored, storage.journal(world.motion)):
        own += [] if isinstance(each, Secret) else [one for one in each.said if one.member == 0]
    storage.close()
    assert not any(contradict(one, other) for one in own for other in own)
    assert not any(0 in decided(world, i).evidence for i in range(4))


_WRITER = """
import sys
from folkmoot.node.storage.storage import Storage
from node.storage.test_storage import PEOPLE, header_of, name_of, record
storage = Storage(sys.argv[1])
storage.open_motion(name_of(1), header_of(1), bytes(64), PEOPLE, 1, 1.0, 5.0)
size = 0
while True:
    storage.append(name_of(1), [record(1, size), record(1, size + 1)], 2.0)
    size += 2
    print(size, flush=True)
"""


def test_what_was_appended_is_there_after_the_process_was_killed(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True,
        env={"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])},
    ) as child:  # fmt: skip
        assert child.stdout is not None
        while int(told := child.stdout.readline()) < 20:
            pass
        child.send_signal(signal.SIGKILL)
        told = [told, *child.stdout.readlines()][-1]
    storage = Storage(path)
    assert storage.check() == []
    found = storage.journal(name_of(1))
    assert len(found) >= int(told)
    assert found == [record(1, size) for size in range(len(found))]
    assert len(found) % 2 == 0, "two records of one append come together"
    storage.check_audit()
    storage.close()


# Damage


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with three motions, evidence and truths."""
    storage = Storage(":memory:")
    fill(storage, 1, 4)
    storage.accuse(name_of(3), Evidence(name_of(3), said(1), said(2)), 5.0)
    storage.tell(name_of(1), {0: "a", 1: "b"}, 7.0)
    path = tmp_path_factory.mktemp("lived") / DATABASE
    storage.database.change("VACUUM INTO ?", str(path))
    storage.close()
    return path


def shown(storage: Storage) -> dict[bytes, object]:
    found: dict[bytes, object] = {}
    for name in storage.names():
        try:
            found[name] = storage.motion(name), storage.journal(name)
        except DamagedError:
            continue
    return found


def test_no_changed_byte_is_shown_and_the_start_tells_of_it(lived: Path, tmp_path: Path) -> None:
    """Any byte: all is as before, or the start names the damaged motions, or refuses the file in a line.

    Most of a small file are zeros that nobody reads, so bytes that say something are changed.
    """
    storage = Storage(lived)
    before = shown(storage)
    storage.close()
    whole = lived.read_bytes()
    rng = np.random.default_rng(1)
    copy, noticed, harmless = tmp_path / DATABASE, 0, 0
    for place in rng.choice(np.flatnonzero(np.frombuffer(whole, np.uint8)), 120, replace=False).tolist():
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        copy.write_bytes(changed)
        for beside in tmp_path.glob("moot.db-*"):
            beside.unlink()
        refusal = ""
        try:
            storage, damaged = open_storage(tmp_path, OWNER, 1e9)
        except (ValueError, OSError) as error:
            refusal = str(error)
        if refusal:
            assert str(copy) in refusal
            assert "\n" not in refusal
            noticed += 1
            continue
        found = shown(storage)
        assert all(before[name] == told for name, told in found.items()), f"byte {place}"
        assert {*before} - {*found} <= {*damaged}, f"byte {place}"
        noticed += bool(damaged)
        harmless += not damaged
        storage.close()
    assert noticed > 10
    assert harmless > 10  # room that is not used


@pytest.mark.parametrize("table", ["motions", "journal", "results", "evidence", "truths"])
def test_a_row_that_changes_comes_or_goes_is_noticed(lived: Path, tmp_path: Path, table: str) -> None:
    column = "name" if table == "motions" else "motion"
    copy = tmp_path / DATABASE
    with sqlite3.connect(lived) as database:
        (name,) = database.execute(f"SELECT {column} FROM {table}").fetchone()  # noqa: S608
        kinds = {row[1]: row[2] for row in database.execute(f"PRAGMA table_info({table})")}
    database.close()
    values = {"BLOB": b"other", "TEXT": "other", "REAL": 1.5, "INTEGER": 9}
    for change in [*kinds, "DELETE"]:
        copy.write_bytes(lived.read_bytes())
        with sqlite3.connect(copy) as database:
            if change == "DELETE":
                database.execute(f"DELETE FROM {table} WHERE {column} = ?", (name,))  # noqa: S608
            else:
                where = f"rowid = (SELECT min(rowid) FROM {table} WHERE {column} = ?)"  # noqa: S608
                query = f"UPDATE {table} SET {change} = ? WHERE {where}"  # noqa: S608
                database.execute(query, (values[kinds[change]], name))
        database.close()
        storage, damaged = open_storage(tmp_path, OWNER, 1e9)
        assert name in damaged
        with pytest.raises(DamagedError, match="what is stored of it is not what this node wrote"):
            storage.motion(name)
        assert storage.knows(name) or change in ("DELETE", column), "it is not signed in again"
        counted = {motion_of(header) for _, header, _ in storage.since(float("-inf"))}
        assert counted == {*storage.names()} - {*damaged}, "a start counts what is whole, and ends with it"
        storage.close()


def test_a_damaged_motion_is_not_forgotten_to_make_room_and_others_are(lived: Path, tmp_path: Path) -> None:
    copy = tmp_path / DATABASE
    copy.write_bytes(lived.read_bytes())
    with sqlite3.connect(copy) as database:
        database.execute("UPDATE journal SET record = x'00' WHERE motion = ?", (name_of(1),))
    database.close()
    storage, damaged = open_storage(tmp_path, OWNER, 1e9)
    assert damaged == [name_of(1)]
    while storage.prune(1e9, 0):
        pass
    assert storage.names() == [name_of(1)]
    storage.close()


def test_a_malformed_file_is_not_tended(lived: Path, tmp_path: Path) -> None:
    copy = tmp_path / DATABASE
    copy.write_bytes(lived.read_bytes())
    storage = Storage(copy)
    whole = bytearray(lived.read_bytes())
    whole[4096 * 2 :] = bytes(len(whole) - 4096 * 2)
    copy.write_bytes(whole)
    with pytest.raises(DamagedError):
        storage.tend(1e9, Watermarks(most=1, least_free=0))
    storage.close()
    assert copy.read_bytes()[4096 * 2 :] == whole[4096 * 2 :]


def test_a_key_without_its_database_is_refused_unless_it_may_forget(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"moot.db is missing, .* signed what it no longer knows.*--forget"):
        open_storage(tmp_path, OWNER, 1e9)
    (tmp_path / DATABASE).touch()
    with pytest.raises(ValueError, match=r"moot\.db is empty"):
        open_storage(tmp_path, OWNER, 1e9)
    storage, damaged = open_storage(tmp_path, OWNER, 1000.0, forget=True)
    assert damaged == []
    before, after = (msgspec.msgpack.decode(header_of(at), type=Header) for at in (1000, 1001))
    assert storage.has_forgotten(before), "it may have signed in it"
    assert not storage.has_forgotten(after)
    storage.close()
    with pytest.raises(ValueError, match="is of another node"):
        open_storage(tmp_path, "cd" * 32, 1e9)


def test_a_new_node_has_a_database_that_only_its_owner_reads(tmp_path: Path) -> None:
    create_storage(tmp_path, OWNER, 5.0)
    assert (tmp_path / DATABASE).stat().st_mode & 0o777 == 0o600
    storage, damaged = open_storage(tmp_path, OWNER, 6.0)
    assert (damaged, storage.count()) == ([], 0)
    assert storage.start(100.0) == 100
    assert storage.start(99.0) == 101
    storage.close()


def test_inputs_that_are_asked_are_bounded_and_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("folkmoot.node.storage.storage.MOST_ASKED", 3000)
    storage = Storage(tmp_path / DATABASE)
    secret = b"a patient's values " * 100
    assert storage.asked.keep(name_of(1), b"head", [secret[:1000], secret[1000:]], len(secret))
    assert not storage.asked.keep(name_of(2), b"head", [secret], len(secret))
    assert (storage.asked.names(), storage.asked.head(name_of(1))) == ([name_of(1)], b"head")
    assert storage.asked.inputs(name_of(1)) == secret
    assert storage.asked.inputs(name_of(2)) == b""
    storage.asked.drop(name_of(1))
    storage.close()
    assert b"patient" not in (tmp_path / DATABASE).read_bytes()


def test_a_full_disk_stores_nothing_and_says_so(tmp_path: Path) -> None:
    storage = Storage(tmp_path / DATABASE)
    fill(storage, 1, 2)
    pages = storage.database.one("PRAGMA page_count")[0]
    storage.database.one(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(FullError, match="make room on the disk"):
        storage.append(name_of(1), [record(1, 3), record(1, 30_000)], 9.0)
    assert storage.journal(name_of(1)) == [record(1), record(1, 2)]
    storage.database.one("PRAGMA max_page_count = 1000000")
    storage.append(name_of(1), [record(1, 30_000)], 9.0)
    assert storage.check() == []
    storage.close()


# Versions


def test_a_folder_that_a_node_of_0_2_wrote_goes_on(tmp_path: Path) -> None:
    """It had taken part in a motion, and gone over to a roster with one member more, which stays in force."""
    for file in OF_0_2.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / DATABASE).write_bytes(gzip.decompress((tmp_path / "moot.db.gz").read_bytes()))
    for secret in (KEY, DATABASE):
        (tmp_path / secret).chmod(0o600)
    me = load(tmp_path)
    first = read_node_file(tmp_path).read_roster(tmp_path / "roster.toml")
    assert [member.name for member in first] == ["east", "mid", "north"]
    before, _ = check_export((tmp_path / "audit.jsonl").read_text(), first)
    storage, damaged = open_storage(tmp_path, me.fingerprint, 1e9)
    assert (damaged, storage.count(), len(before)) == ([], 0, 5)
    entries = list(storage.audit.entries())
    check_goes_on(entries, before)
    assert storage.check_audit()
    assert [entry.details["event"] for entry in entries[5:]] == ["upgraded"]
    assert entries[5].details["motions"] == 1
    history = RosterHistory(storage, first)
    assert [member.name for member in history.tip] == ["east", "mid", "north", "south"]
    assert (history.tip.epoch, history.tip.digest[:16]) == (1, "92e25fe68d9458cf")
    assert not history.proposals
    storage.close()
    copy = tmp_path / KEPT_OLD
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with sqlite3.connect(copy) as database:
        assert database.execute("SELECT count(*) FROM motions").fetchone() == (1,)
    database.close()


def test_what_members_of_0_2_signed_of_a_roster_to_come_does_not_hold_any_more(tmp_path: Path) -> None:
    data = gzip.decompress((OF_0_2 / "moot.db.gz").read_bytes())
    (tmp_path / DATABASE).write_bytes(data)
    with sqlite3.connect(tmp_path / DATABASE) as database:
        database.execute("INSERT INTO successors VALUES (x'02', x'0b', 'b')")
        database.execute("INSERT INTO consents VALUES (x'02', 0, x'0b', 'signed in the words of 0.2')")
    database.close()
    storage = Storage(tmp_path / DATABASE)
    in_force = storage.database.all("SELECT name FROM adopted")
    assert storage.database.all("SELECT name FROM successors") == in_force
    assert len(in_force) == 1
    assert storage.database.all("SELECT * FROM consents") == []
    storage.close()


@pytest.mark.parametrize("version", [1, 8, VERSION + 1])
def test_a_database_of_another_version_is_left_alone(version: int, lived: Path, tmp_path: Path) -> None:
    copy = tmp_path / DATABASE
    copy.write_bytes(lived.read_bytes())
    with sqlite3.connect(copy) as database:
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    with pytest.raises(ValueError, match=rf"another version of folkmoot \(schema {version}"):
        open_storage(tmp_path, OWNER, 1e9)
    with sqlite3.connect(copy) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (version,)
    database.close()


# Retention


def test_the_oldest_go_first_but_not_what_is_open_new_or_precious(storage: Storage) -> None:
    fill(storage, 1, 11)
    fill(storage, 11, 12, over=False)
    storage.accuse(name_of(1), Evidence(name_of(1), said(1), said(2)), 5.0)
    storage.tell(name_of(2), {0: "a"}, 5.0)
    assert storage.prune(7000.0, 0) == 0, "others may still announce them"
    ends = [until(storage.motion(name_of(number)).header) for number in range(1, 12)]
    assert storage.prune(ends[4], 0) == 5
    assert storage.names() == [name_of(number) for number in range(6, 12)]
    fill(storage, 21, 23)
    storage.accuse(name_of(21), Evidence(name_of(21), said(1), said(2)), 25.0)
    assert storage.prune(1e9, 0, most=6) == 6
    assert storage.names() == [name_of(11), name_of(21)], "what is open, and what has evidence"
    assert storage.prune(1e9, 0) == 1
    assert storage.names() == [name_of(11)], "open"
    header = storage.motion(name_of(11)).header
    assert storage.has_forgotten(header)
    assert storage.check_audit()
    assert [entry.details for entry in storage.audit.entries()].count({}) > 20
