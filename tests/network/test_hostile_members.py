"""Members that use the rules against the others, and a disk that fails, on the memory transport."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.network.service.admission import ANNOUNCEMENTS, FETCHES, MOST_OPEN_EACH, NEWS
from folkmoot.network.service.driver import MOST_KEPT, Driver
from folkmoot.network.service.parts import Running
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, motion_name, read_header
from folkmoot.node.transports.memory import Weather
from folkmoot.node.wire.schema import Column
from support.network.moot_in_memory import Moot

INPUTS = 12


def moot(seed: int = 0, n: int = 6, **options: Any) -> Moot:
    votes = np.tile(np.arange(INPUTS, dtype=np.int8) % 2, (n, 1))
    return Moot(votes, seed, **options)


def announced(hall: Moot, asker: int, remaining: float, **changes: Any) -> m.Announce:
    """A motion that its asker has really signed."""
    motion, _ = hall.motion(asker, **changes)
    header = motion.encoded()
    signature = hall.keys[asker].sign(statements.announcement(motion_name(header), asker))
    return m.Announce(header, signature, remaining)


def decided_by(hall: Moot, name: bytes) -> list[int]:
    """Who of all has signed a close of a motion and holds the right decisions."""
    found = []
    for place, node in enumerate(hall.nodes):
        session = None if node is None else node.session(name)
        if session is None or place not in session.closes:
            continue
        if session.verdict().decisions.tolist() == hall.votes[0].tolist():
            found.append(place)
    return found


@pytest.mark.parametrize("share", [1e-4, 0.3, 0.64, 0.66, 0.8])
def test_nobody_but_the_asker_can_cut_the_time_of_a_motion_short(share: float) -> None:
    hall = moot()
    early = announced(hall, 0, 30.0 * share)
    hall.network.divide([0, 4, 5], [1, 2, 3])  # they do not hear the asker itself
    hall.put(0)
    hall.network.run(0.01)
    hall.network.divide()
    for place in (1, 2, 3):
        node = hall.nodes[place]
        assert node is not None
        node.received(5, m.encode(early))
    hall.crash(5)
    hall.network.run(60.0)
    assert decided_by(hall, motion_name(early.header)) == [0, 1, 2, 3, 4]


def test_a_motion_is_not_prolonged_beyond_what_its_header_says() -> None:
    hall = moot()
    told = announced(hall, 0, 30.0)
    node = hall.nodes[1]
    assert node is not None
    hall.crash(0)
    node.received(0, m.encode(told))
    for when in range(1, 60):
        hall.at(float(when), lambda: node.received(0, m.encode(told)))
    hall.network.run(30.5)
    session = node.session(motion_name(told.header))
    assert session is not None
    assert session.phase is Phase.OVER


def test_announcements_take_no_room_from_other_askers() -> None:
    hall = moot()
    for number in range(400):
        mine = announced(hall, 5, 30.0, nonce=number.to_bytes(16, "big"))
        replayed = announced(hall, 0, 30.0, nonce=number.to_bytes(15, "big") + b"r")
        short = announced(hall, 5, 2.0, nonce=number.to_bytes(15, "big") + b"s", seconds=2.0)
        frames = [m.encode(each) for each in (mine, replayed, short)]

        def flood(frames: list[bytes] = frames) -> None:
            for place in range(5):
                node = hall.nodes[place]
                assert node is not None
                for frame in frames:
                    node.received(5, frame)

        hall.at(number * 0.1, flood)
    hall.put(0, at=20.0)
    hall.network.run(60.0)
    ((name, _),) = hall.over.items()
    assert decided_by(hall, name) == [0, 1, 2, 3, 4, 5]
    for place in range(5):
        node = hall.nodes[place]
        assert node is not None
        assert node.counts["refused_too_many_motions"] > 100
        assert len(node._running) <= MOST_KEPT + MOST_OPEN_EACH


@pytest.mark.parametrize("refused", [False, True])
def test_new_motions_without_end_are_not_looked_at(monkeypatch: pytest.MonkeyPatch, refused: bool) -> None:
    """To refuse a motion costs two signatures: a member has so many looked at, and those of others are."""
    hall = moot()
    changes: dict[str, Any] = {"k": 1, "alpha": 1} if refused else {}
    frames = [
        m.encode(announced(hall, 5, 30.0, nonce=number.to_bytes(16, "big"), **changes))
        for number in range(1000)
    ]
    node = hall.nodes[1]
    assert node is not None
    checked: list[object] = []
    holds = statements.holds

    def counted(*said: Any) -> bool:
        checked.append(said)
        return holds(*said)

    monkeypatch.setattr(statements, "holds", counted)
    for frame in frames:
        node.received(5, frame)
    hall.put(0)
    most, at_once = NEWS[1], len(checked)
    assert at_once <= most
    hall.network.run(60.0)
    ((name, _),) = hall.over.items()
    assert 1 in decided_by(hall, name)
    assert node.counts["refused_too_often"] >= 1000 - most
    for frame in frames[-100:]:  # a minute later there is room again
        node.received(5, frame)
    assert node.counts["refused_too_often"] < 1000 - most + 100


def test_long_headers_count_for_more() -> None:
    hall = moot()
    schema = tuple(Column(f"{number:0200d}") for number in range(1250))
    node = hall.nodes[1]
    assert node is not None
    for number in range(50):
        nonce = number.to_bytes(16, "big")
        node.received(5, m.encode(announced(hall, 5, 30.0, nonce=nonce, columns=1250, schema=schema)))
    assert node.counts["refused_too_often"] == 50 - 23  # of 257 kB: each costs 1 + 15.7, and 400 are there


class GivesInputs:
    """A member that puts motions and hands out their inputs, and does nothing else."""

    def __init__(self, hall: Moot, place: int) -> None:
        hall.nodes[place] = None
        self._world = hall.network.world(place)
        self._inputs = hall.motion(place)[1]
        self._world.attach(self)

    def received(self, peer: int, frame: bytes) -> None:
        message = m.decode(frame)
        if isinstance(message, m.Fetch):
            data = self._inputs.read(message.index)
            self._world.send(peer, m.encode(m.Chunk(message.motion, message.index, data)))

    def reached(self, peer: int) -> None:
        pass

    def unreachable(self, peer: int) -> None:
        pass


def test_motions_of_one_asker_do_not_charge_those_who_pass_them_on() -> None:
    """Day-long motions, four told to each: everybody hears of the rest from honest members."""
    hall = moot(n=7)
    GivesInputs(hall, 6)
    day = 86_400.0
    for place in range(6):
        for number in range(MOST_OPEN_EACH):
            slow: dict[str, Any] = {"seconds": day, "pace": 60.0, "rounds": 500}
            told = announced(hall, 6, day, nonce=bytes([place, number]) * 8, **slow)
            hall.network.of(6).send(place, m.encode(told))
    for asker in range(6):
        hall.put(asker, at=20.0 + asker)
    hall.network.run(19.0)
    for node in hall.nodes[:6]:
        assert node is not None
        assert MOST_OPEN_EACH < node.open_motions <= 2 * MOST_OPEN_EACH
    hall.network.run(100.0)
    assert len(hall.over) == 6
    for name in hall.over:
        assert decided_by(hall, name) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("restarted", [False, True])
def test_motions_replayed_take_no_place_of_their_asker(restarted: bool) -> None:
    """They were put while all others were away; nobody can say that they are old but the asker."""
    hall = moot()
    for place in range(1, 5):
        node = hall.nodes[place]
        assert node is not None
        for number in range(2 * MOST_OPEN_EACH):
            old = announced(hall, 0, 3600.0, nonce=bytes([number]) * 16, seconds=3600.0)
            node.received(5, m.encode(old))
        assert node.open_motions == MOST_OPEN_EACH
    hall.crash(5)
    if restarted:
        for place in range(1, 5):
            hall.start(place)
    for number in range(MOST_OPEN_EACH):
        hall.put(0, at=2.0, nonce=bytes([100 + number]) * 16)
    hall.network.run(60.0)
    assert len(hall.over) == MOST_OPEN_EACH
    for name in hall.over:
        assert decided_by(hall, name) == [0, 1, 2, 3, 4]


def test_a_node_does_not_play_a_motion_of_its_own_that_it_has_not_stored() -> None:
    """It is told of one that it signed before its database was lost: it might sign a second close."""
    hall = moot()
    node = hall.nodes[0]
    assert node is not None
    node.received(5, m.encode(announced(hall, 0, 30.0)))
    assert node.open_motions == 0
    assert node.counts["refused_own_motion"] == 1


def test_an_asker_gets_no_more_places_by_confirming_what_others_passed_on() -> None:
    hall = moot()
    node = hall.nodes[1]
    assert node is not None
    for number in range(40):
        told = m.encode(announced(hall, 5, 3600.0, nonce=bytes([number]) * 16, seconds=3600.0))
        node.received(2 + number % 3, told)
        node.received(5, told)
    assert MOST_OPEN_EACH <= node.open_motions <= 2 * MOST_OPEN_EACH


@pytest.mark.parametrize("restarted", [False, True])
def test_one_asker_cannot_fill_the_disk_of_the_others(restarted: bool) -> None:
    """As many motions of two seconds and 240 kB as there are places for, for a minute."""
    disk = 20_000_000
    hall = moot(disk=disk)
    hall.crash(5)
    long_header: dict[str, Any] = {
        "seconds": 2.0, "inputs": 7000, "chunk_rows": 1, "chunks": (bytes(32),) * 7000,
    }  # fmt: skip

    def flood(number: int) -> None:
        told = announced(hall, 5, 2.0, nonce=number.to_bytes(16, "big"), **long_header)
        assert len(told.header) > 230_000
        for node in hall.nodes[1:5]:
            assert node is not None
            node.received(5, m.encode(told))

    def restart() -> None:
        for place in range(1, 5):
            hall.start(place)

    for number in range(120):
        hall.at(number * 0.5, lambda number=number: flood(number))  # type: ignore[misc]
    if restarted:
        hall.at(30.0, restart)
    hall.put(0, at=50.0)
    hall.network.run(90.0)
    for place in range(1, 5):
        node = hall.nodes[place]
        assert node is not None
        theirs = [each for each in hall.storages[place].motions() if each.motion.asker == 5]
        assert len(theirs) >= 2
        assert hall.storages[place].used() <= 0.8 * disk / 6 + 500_000  # and what the other motion takes
        assert node.counts["refused_over_budget"] > 40
    ((name, _),) = hall.over.items()
    assert decided_by(hall, name) == [0, 1, 2, 3, 4]


def test_who_has_forgotten_a_motion_does_not_keep_others_waiting() -> None:
    hall = moot()
    hall.put(0)
    hall.network.run(20.0)
    (name,) = hall.over
    hall.start(1)  # after the motion is over for it
    sent: list[m.AnyMessage] = []
    hall.network.carry = lambda *event: sent.append(m.decode(event[2]))  # type: ignore[method-assign]
    node = hall.nodes[1]
    assert node is not None
    node.received(2, m.encode(m.Ask(name, 7, None)))
    assert sent == [m.Unready(name, 7)]


@pytest.mark.parametrize("when", [0.3, 10.0])
def test_a_member_away_at_the_announcement_is_told_when_it_comes_back(when: float) -> None:
    hall = moot()
    hall.crash(4)
    hall.put(0, rounds=400, pace=0.05)
    hall.at(when, lambda: hall.start(4))
    hall.network.run(40.0)
    ((name, _),) = hall.over.items()
    assert decided_by(hall, name) == [0, 1, 2, 3, 4, 5]
    session = hall.over[name][0]
    assert session.late == ({4} if when > 5.0 else set())


def test_a_member_that_comes_back_again_and_again_is_not_told_for_ever() -> None:
    hall = moot()
    hall.crash(4)
    hall.put(0, rounds=400, pace=0.05)
    hall.network.run(1.0)
    node = hall.nodes[0]
    assert node is not None
    before = node.counts["frames_sent"]
    for _ in range(1000):
        node.reached(4)
    assert node.counts["frames_sent"] == before + ANNOUNCEMENTS
    assert node.counts["refused_too_often"] == 1000 - ANNOUNCEMENTS


def test_fetches_are_counted_and_end_with_the_motion() -> None:
    hall = moot()
    hall.put(0)
    hall.network.run(0.001)
    node = hall.nodes[0]
    assert node is not None
    (name,) = node._running
    for _ in range(100):
        node.received(5, m.encode(m.Fetch(name, 0)))
    assert node.counts["refused_too_often"] >= 100 - 2 * FETCHES
    hall.network.run(31.0)
    assert len(decided_by(hall, name)) == 6
    node.received(4, m.encode(m.Fetch(name, 0)))  # the inputs are gone
    assert node.counts["refused_fetch"] == 1


def test_a_motion_that_no_node_could_hold_is_refused() -> None:
    hall = moot()
    big: list[dict[str, Any]] = [
        {"protocol": "snowball", "labels": tuple(map(str, range(100))), "beta": 20},
        {"protocol": "snowflake", "beta": 10**9},
        {"rounds": 10**9},
        {"k": 10**9, "alpha": 10**9},
        {"seconds": float("inf")},
        {"seconds": float("nan")},
        {"pace": float("nan")},
        {"created": float("inf")},
        {"inputs": 2**62, "chunk_rows": 2**62},
        {"columns": 2**62},
        {"chunk_rows": 0},
        {"labels": ("a",)},
        {"labels": ("a", "a")},
        {"dtype": "O"},
    ]
    node = hall.nodes[1]
    assert node is not None
    for changes in big:
        motion, _ = hall.motion(0, **changes)
        header = motion.encoded()
        signature = hall.keys[0].sign(statements.announcement(motion_name(header), 0))
        node.received(0, m.encode(m.Announce(header, signature, 30.0)))
    assert node.counts["refused_announcement"] == len(big)
    assert not node._running


def test_a_motion_too_long_for_a_frame_is_not_put() -> None:
    hall = moot()
    motion, inputs = hall.motion(0, chunk_rows=1, inputs=40_000, chunks=(bytes(32),) * 40_000)
    assert isinstance(read_header(motion.encoded()), Motion)
    node = hall.nodes[0]
    assert node is not None
    with pytest.raises(ValueError, match="too long to announce"):
        node.propose(motion, inputs, lambda *_: None)
    assert not hall.storages[0].motions()


def test_a_liar_that_is_done_early_rests() -> None:
    for seed in range(10):
        hall = moot(seed, adversaries={5: PerfectlyMalicious()}, weather=Weather(delay=0.002))
        hall.crash(4)
        hall.put(0)
        woken = 0

        def count(driver: Driver) -> Callable[[Running], None]:
            tick = driver.tick

            def counted(running: Running) -> None:
                nonlocal woken
                woken += 1
                assert woken < 10_000, "it is woken again and again"
                tick(running)

            return counted

        for node in hall.nodes:
            if node is not None:
                setattr(node._driver, "tick", count(node._driver))  # noqa: B010 (a method is counted)
        hall.network.run(100.0)
        assert len(hall.over) == 1


@pytest.mark.parametrize("victim", [0, 1])
def test_a_node_that_cannot_store_says_nothing_more(victim: int) -> None:
    """Whenever its disk fails: what others have of it afterwards is in its database."""
    for step in range(1, 16):
        hall = moot(step, weather=Weather(delay=0.003))
        hall.put(0)
        broken = False

        def fill(hall: Moot = hall) -> None:
            hall.storages[victim]._db.change("PRAGMA query_only = ON")

        hall.at(step * 0.02, fill)
        for _ in range(1000):  # the driver goes on for a while, as an event loop does
            try:
                hall.network.run(31.0)
            except sqlite3.OperationalError:  # nothing can be written
                broken = True
            else:
                break
        storage = hall.storages[victim]
        storage._db.change("PRAGMA query_only = OFF")
        stored = {each.name: storage.closes(each.name).get(victim) for each in storage.motions()}
        hall.network.weather = Weather()
        hall.start(victim)
        hall.network.run(40.0)
        for place in range(6):
            for name, own in stored.items():
                theirs = hall.storages[place].closes(name).get(victim)
                assert theirs is None or theirs == storage.closes(name)[victim]
                assert own is None or storage.closes(name)[victim] == own
                assert not hall.storages[place].evidence(name)
        assert broken or step > 3
