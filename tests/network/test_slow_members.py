"""Members that are slow, because they want to be or because they are far away, on the memory transport."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from folkmoot.network.session.phases import Phase
from folkmoot.network.session.session import Session
from folkmoot.network.wire import messages as m
from folkmoot.node.transports.memory import Weather
from support.network.moot_in_memory import Moot

INPUTS = 60
SECONDS = 30.0
PATIENCE = 2.0  # for an answer, in a motion of 30 s


def moot(seed: int = 0, n: int = 7, **options: Any) -> Moot:
    return Moot(np.tile(np.arange(INPUTS, dtype=np.int8) % 2, (n, 1)), seed, **options)


def delay(hall: Moot, place: int, seconds: float, *kinds: type[m.Message]) -> None:
    """Let what a member says (of these kinds, or all) leave so much later."""
    world, send = hall.network.of(place), hall.network.of(place).send

    def later(peer: int, frame: bytes) -> None:
        if kinds and not isinstance(m.decode(frame), kinds):
            send(peer, frame)
        else:
            hall.at(hall.network.time + seconds, lambda: send(peer, frame))

    world.send = later  # type: ignore[method-assign]


def sessions(hall: Moot) -> list[Session]:
    (name,) = hall.over
    found = [node.session(name) for node in hall.nodes if node is not None]
    return [session for session in found if session is not None]


@pytest.mark.parametrize("protocol", ["snowball", "slush"])
def test_a_member_that_answers_at_the_last_moment_does_not_stop_the_talk(protocol: str) -> None:
    hall = moot(weather=Weather(delay=0.002))
    delay(hall, 6, PATIENCE - 0.05, m.Answer)
    hall.put(0, seconds=SECONDS, protocol=protocol, beta=20, k=5, alpha=4, rounds=200, pace=0.0)
    talked: list[float] = []

    def look(place: int) -> None:
        node = hall.nodes[place]
        assert node is not None
        for running in node._running.values():
            if running.session.phase in (Phase.CLOSING, Phase.OVER):
                talked.append(hall.network.time)
                return
        hall.at(hall.network.time + 0.01, lambda: look(place))

    for place in range(6):
        hall.at(0.0, lambda place=place: look(place))  # type: ignore[misc]
    hall.network.run(SECONDS + 1.0)
    for session in sessions(hall)[:6]:
        assert session.verdict().undecided == 0
        assert session.verdict().decisions.tolist() == hall.votes[0].tolist()
    assert len(talked) == 6
    # Without it the talk of Snowball takes some 0.2 s; each node may be kept waiting three times.
    assert max(talked) < 3.0


def test_a_member_that_says_that_it_is_voting_does_not_hold_up_the_others() -> None:
    """Six of seven commit at once: the seventh has a second more, not a third of the motion."""
    hall = moot(weather=Weather(delay=0.002))
    send = hall.network.of(6).send

    def stall(peer: int, frame: bytes) -> None:
        message = m.decode(frame)
        if isinstance(message, m.Commit):
            frame = m.encode(m.Pending(message.motion))
        send(peer, frame)

    hall.network.of(6).send = stall  # type: ignore[method-assign]
    hall.put(0, seconds=SECONDS)
    hall.network.run(0.9)
    (name,) = hall.nodes[0]._running  # type: ignore[union-attr]
    found = [node.session(name) for node in hall.nodes[:6] if node is not None]
    assert all(session is not None and session.phase is Phase.GATHERING for session in found)
    hall.network.run(1.2)
    assert all(session is not None and session.phase is not Phase.GATHERING for session in found)
    hall.network.run(SECONDS + 1.0)
    assert all(session.verdict().undecided == 0 for session in sessions(hall)[:6])


def far_away(hall: Moot, places: range, seconds: float, loss: float) -> None:
    """Frames to and from these members take so long, and some are lost: all from the seed of the moot."""
    network, rng = hall.network, random.Random(f"far {hall.seed}")
    carry = network.carry

    def slowly(sender: int, peer: int, frame: bytes) -> None:
        if sender not in places and peer not in places:
            carry(sender, peer, frame)
        elif rng.random() >= loss:
            network.at(network.time + seconds, lambda: carry(sender, peer, frame))

    network.carry = slowly  # type: ignore[method-assign]


@pytest.mark.parametrize("protocol", ["slush", "snowball"])
@pytest.mark.parametrize("seed", range(5))
def test_an_honest_member_that_is_far_away_is_not_lost(protocol: str, seed: int) -> None:
    """200 ms each way, 5% of the frames lost: it votes, signs in time, and knows what was decided."""
    hall = moot(seed, weather=Weather(delay=0.002))
    far_away(hall, range(6, 7), 0.2, 0.05)
    hall.put(0, seconds=SECONDS, protocol=protocol, beta=10, k=5, alpha=4, rounds=50, pace=0.0)
    hall.network.run(SECONDS + 1.0)
    ((_, summary),) = hall.over.values()
    assert summary["late"] == []  # its first votes came in time
    for session in sessions(hall):
        assert session.verdict().decisions.tolist() == hall.votes[0].tolist()
    assert sum(6 in session.closes for session in sessions(hall)) >= 5  # one frame of twenty is lost
    far = sessions(hall)[6]
    assert sorted(far.closes) == list(range(7))


def test_a_moot_whose_members_are_all_far_away_decides() -> None:
    for seed in range(5):
        hall = moot(seed)
        far_away(hall, range(7), 0.2, 0.05)
        hall.put(0, seconds=SECONDS, k=5, alpha=4, rounds=15, pace=0.0)
        hall.network.run(SECONDS + 1.0)
        for session in sessions(hall):
            assert session.verdict().undecided == 0
            assert session.verdict().silent == []
