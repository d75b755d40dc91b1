"""Old motions make room; nothing that could be played again goes, and what is gone is never signed twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.network.session.minutes import Ended
from folkmoot.network.session.series import series_bytes
from folkmoot.network.storage.retention import LONGEST_KEPT, Watermarks, stored_bytes
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.motion import Motion, motion_name, read_header
from folkmoot.network.wire.packing import packed_size
from folkmoot.node.transports.budget import Allowances
from support.command import assert_refused
from support.network.moot_in_memory import Moot

HOUR = 3600.0
START = 1e9  # where the clock of moots in memory begins


def played(seed: int = 4) -> tuple[Moot, m.Announce, bytes]:
    """A moot in which one motion is over, and its announcement."""
    votes = np.random.default_rng(0).integers(0, 2, (5, 24)).astype(np.int8)
    moot = Moot(votes, seed=seed)
    moot.put(0, at=1.0, k=3, alpha=2)
    moot.network.run(200.0)
    (name,) = moot.storages[1].names()
    stored = moot.storages[1].motion(name)
    return moot, m.Announce(stored.header, stored.signature, stored.motion.seconds), name


def signed(moot: Moot, place: int) -> list[m.Close | m.Commit]:
    """From now on: what a node sends that it has signed."""
    world, sent = moot.network.of(place), list[m.Close | m.Commit]()
    send = world.send

    def look(peer: int, frame: bytes) -> None:
        message = m.decode(frame)
        if isinstance(message, m.Close | m.Commit):
            sent.append(message)
        send(peer, frame)

    world.send = look  # type: ignore[method-assign]
    return sent


@pytest.mark.parametrize("clock", ["right", "set back", "restarted and set back"])
def test_a_motion_that_was_forgotten_is_not_signed_again(clock: str) -> None:
    moot, announce, name = played()
    motion = read_header(announce.header)
    assert motion.until == motion.created + motion.seconds + 2 * HOUR
    storage, world = moot.storages[1], moot.network.of(1)
    assert storage.prune(motion.until - 0.001, 0) == 0  # it might still be announced again
    assert storage.knows(name)
    assert storage.prune(motion.until, 0) == 1
    assert not storage.knows(name)
    node = moot.nodes[1]
    assert node is not None
    node._driver._forget(name)
    sent = signed(moot, 1)
    if clock == "restarted and set back":
        moot.crash(1)
        moot.start(1)
        sent = signed(moot, 1)
        node = moot.nodes[1]
        assert node is not None
        world = moot.network.of(1)
    now = motion.until + 1.0 if clock == "right" else motion.created + 1.0
    world.clock = lambda: now  # type: ignore[method-assign]
    before = node.counts["refused_announcement"]
    for peer in (0, 2):
        node.received(peer, m.encode(announce))
    moot.network.run(moot.network.time + 100.0)
    assert node.counts["refused_announcement"] == before + 2
    assert not storage.knows(name)
    assert not sent


def test_without_the_mark_it_would_be_signed_again() -> None:
    """The attack as it would work: the test above can fail."""
    moot, announce, name = played()
    storage, world, node = moot.storages[1], moot.network.of(1), moot.nodes[1]
    assert node is not None
    assert storage.prune(START * 2, 0) == 1
    storage._forgotten = float("-inf")
    node._driver._forget(name)
    sent = signed(moot, 1)
    world.clock = lambda: START + 1.0  # type: ignore[method-assign]
    node.received(0, m.encode(announce))
    moot.network.run(moot.network.time + 100.0)
    assert sent


# ---- what goes, and in which order -----------------------------------------------------------


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    storage = Storage(tmp_path / "moot.db")
    yield storage
    storage.close()


def motion(number: int, *, created: float, seconds: float = 30.0, labels: int = 2, inputs: int = 2) -> Motion:
    return Motion(
        bytes(32), 0, number.to_bytes(16), created, seconds, "slush", 2, 2, 20, 50, 0.02, False, False,
        tuple(f"l{i}" for i in range(labels)), inputs, 1, "<f8", inputs, (bytes(32),),
    )  # fmt: skip


def keep(storage: Storage, each: Motion, *, over: bool = True) -> bytes:
    header = each.encoded()
    name = motion_name(header)
    storage.open_motion(name, header, bytes(64), [("aa", "north"), ("bb", "south")], each.created, 0.0)
    if over:
        storage.save(name, [Ended(0, 0)], {})
    return name


def test_the_oldest_go_first_and_precious_ones_last(storage: Storage) -> None:
    names = [keep(storage, motion(i, created=100.0 * i)) for i in range(10)]
    storage.tell(names[0], {0: "l0"})
    still_open = keep(storage, motion(99, created=0.0), over=False)
    young = keep(storage, motion(100, created=5e6))
    clock = 1e5
    gone = []
    while storage.prune(clock, 0, most=1):
        gone += [name for name in names if not storage.knows(name) and name not in gone]
    assert gone == [*names[1:], names[0]]
    assert set(storage.names()) == {still_open, young}
    assert storage.motion(young).closed is not None
    for table in ("closes", "commits", "voted", "evidence", "truths"):
        assert storage._db.one(f"SELECT count(*) FROM {table}")[0] == 0  # noqa: S608


def test_what_comes_late_to_a_forgotten_motion_is_not_kept(storage: Storage) -> None:
    name = keep(storage, motion(0, created=0.0))
    assert storage.prune(1e9, 0) == 1
    storage.save(name, [m.Close(name, 1, b"x", bytes(32), b"y", "", bytes(64))])
    assert storage._db.one("SELECT count(*) FROM closes")[0] == 0


def test_a_flood_stays_below_its_watermark(storage: Storage) -> None:
    """Motions with long headers, a new one every second for a virtual day: the file stops growing."""
    marks = Watermarks(most=3 << 20, least_free=0)
    largest, clock = 0, 0.0
    storage._db._db.execute("PRAGMA synchronous = OFF")
    for number in range(1200):
        clock += 72.0
        if storage.has_room:
            each = motion(number, created=clock, inputs=200)
            keep(storage, msgspec.structs.replace(each, chunk_rows=1, chunks=(bytes(32),) * 200))
        while storage.tend(clock, marks):
            pass
        largest = max(largest, storage.used())
    assert largest <= 3 << 20
    assert storage.has_room
    assert storage.count() > 100  # the newest are there
    assert Path(storage.path).stat().st_size < 4 << 20


def test_no_room_is_found_out_before_the_disk_is_full(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(storage, motion(0, created=1e12))  # far too young to go
    free = [1000]
    monkeypatch.setattr(Storage, "_free", lambda _: free[0])
    assert storage.tend(0.0, Watermarks(most=1 << 30, least_free=100)) == 0
    assert storage.has_room
    free[0] = 99
    assert storage.tend(0.0, Watermarks(most=1 << 30, least_free=100)) == 0
    assert not storage.has_room
    free[0] = 1000
    storage.tend(0.0, Watermarks(most=1 << 30, least_free=100))
    assert storage.has_room
    storage.tend(0.0, Watermarks(most=1000, least_free=100))
    assert not storage.has_room
    assert storage.count() == 1


def test_a_node_without_room_takes_no_new_motion() -> None:
    votes = np.zeros((5, 24), dtype=np.int8)
    moot = Moot(votes, seed=1)
    moot.storages[1].has_room = False
    moot.put(0, at=1.0, k=3, alpha=2)
    moot.network.run(40.0)
    node = moot.nodes[1]
    assert node is not None
    assert node.counts["refused_disk_full"] > 0
    assert moot.storages[1].count() == 0
    (session, _) = next(iter(moot.over.values()))
    assert session.verdict().undecided == 0  # four of five decide without it
    with pytest.raises(ValueError, match="disk of this node is nearly full"):
        node.propose(*moot.motion(1), lambda *_: None)


# ---- figures ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "inputs", "labels"), [(5, 10, 2), (25, 10, 2), (5, 20_000, 2), (25, 3000, 10)])
def test_what_a_motion_takes_is_at_most_what_is_charged(
    storage: Storage, n: int, inputs: int, labels: int
) -> None:
    votes = bytes([0]) + bytes(packed_size(inputs, labels, open_votes=True) - 1)
    before, charged = storage.used(), 0
    for number in range(8):
        each = motion(number, created=0.0, labels=labels, inputs=inputs)
        header = each.encoded()
        name = motion_name(header)
        people = [("a" * 64, "n" * 64) for _ in range(n)]
        storage.open_motion(name, header, bytes(64), people, 0.0, 0.0)
        for node in range(n):
            close = m.Close(name, node, votes, bytes(32), votes, "", bytes(64))
            storage.save(name, [m.Commit(name, node, bytes(32), bytes(64), want=True), close])
        storage.save(name, [Ended(50, 100, bytes(series_bytes(each)))])
        charged += stored_bytes(each, len(header), n)
    taken = storage.used() - before
    assert taken <= charged
    assert charged <= 3 * taken + 8 * 4096 * 12  # and not much more; small motions take whole pages


@given(
    st.integers(1, 9),
    st.integers(1000, 10**9),
    st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 7200), st.integers(1, 10**8), st.integers(1, 180_000)),
        max_size=80,
    ),
)
def test_askers_never_have_more_stored_than_there_is(
    askers: int, most: int, wishes: list[tuple[int, int, int, int]]
) -> None:
    """At every time, by adding up what must be kept; and each wish is granted if and only if it fits."""
    allowances = Allowances(askers, most)
    now, taken = 0, list[tuple[int, int, int, int]]()
    for asker, wait, cost, kept in wishes:
        now, place = now + wait, asker % askers
        held = sum(size for whose, _, size, until in taken if whose == place and until > now)
        paid = allowances.pay(place, now, cost, now + kept)
        assert paid == (held + cost <= most // askers)
        if paid:
            taken.append((place, now, cost, now + kept))
    for _, start, _, _ in taken:
        assert sum(cost for _, since, cost, until in taken if since <= start < until) <= most


def test_how_long_things_are_kept_at_the_most() -> None:
    """A motion may be of the future by its seconds and two hours, run a day, and stays two hours longer."""
    assert LONGEST_KEPT == 2 * (24 + 2) * HOUR


def test_sizes_at_the_prompt(tmp_path: Path) -> None:
    command = ["node", "run", tmp_path, "--roster", tmp_path / "r.toml", "--model", "a:b", "--disk"]
    for wrong in ("much", "1", "-1GB", "9MB", "1e9", "2PB", ""):
        assert_refused("--disk must be a size of at least 10MB, such as 500MB or 2GB", *command, wrong)
    for right in ("10MB", "0.5 GB", "2gb", "1TB"):
        assert_refused("must hold a node", *command, right)
