"""Mutated messages about check rows: everything is understood or refused, and nodes go on."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from folkmoot.network.wire import messages as m
from folkmoot.network.wire.invitation import Invitation, read_invitation
from folkmoot.network.wire.review import Review, read_map
from folkmoot.network.wire.schema import Column
from support.network.moot_in_memory import keys_and_roster
from support.network.mutated import mutated
from support.network.review_moot import ReviewMoot

ROWS = 30
GIVEN = m.Contribution(5, 10, bytes(32), bytes(32), bytes(64))
SAMPLES: dict[str, m.Message] = {
    "Rows": m.Rows(bytes(32), bytes(40), GIVEN),
    "Owners": m.Owners(bytes(32), 5, bytes(32), (m.Owned(GIVEN, (1, 7)),), bytes(64)),
    "Labels": m.Labels(bytes(32), bytes(32), 5, bytes(32), bytes(12), bytes(64)),
    "Unopened": m.Unopened(bytes(32), b"\x05"),
    "Invite": m.Invite(bytes(90), bytes(64)),
}
MANY = pytest.param(100_000, marks=pytest.mark.slow)


@pytest.mark.parametrize("times", [2000, MANY])
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_mutated_message_is_whole_or_refused(kind: str, times: int) -> None:
    rng, pool = random.Random(f"{kind} 40"), [m.encode(each) for each in SAMPLES.values()]
    own, seen = m.encode(SAMPLES[kind]), Counter[str]()
    for _ in range(times):
        data = mutated(rng, own, pool)
        try:
            message = m.decode(data)
        except (ValueError, RecursionError):
            seen["refused"] += 1
            continue
        seen[type(message).__name__] += 1
        assert m.decode(m.encode(message)) == message
        if isinstance(message, m.Owners):
            review = Review(22, bytes(32), bytes(32))
            try:
                owners = read_map(message.seed, review, message.owned, ROWS, 6)
            except ValueError:
                continue
            places = [*owners.asked, *(p for where, _ in owners.rows.values() for p in where)]
            assert sorted(places) == list(range(ROWS)), "every row has one owner"
    assert seen["refused"] > times / 4
    assert seen[kind] > times / 100


@pytest.mark.parametrize("times", [2000, MANY])
def test_a_mutated_invitation_is_whole_or_refused(times: int) -> None:
    moot, columns = bytes.fromhex(keys_and_roster(6)[1].digest), (Column("age", "years", 0.0, 120.0),)
    own = Invitation(moot, 5, bytes(16), 1e9, 3.0, ("a", "b"), 9, 1, "<i4", columns).encoded()
    rng, read = random.Random(41), 0
    for _ in range(times):
        data = mutated(rng, own, [own])
        try:
            found = read_invitation(data)
        except (ValueError, TypeError, RecursionError):
            continue
        read += 1
        assert found.encoded() == data
        assert len(found.name) == 32
        with pytest.raises(ValueError, match="check rows must be"):
            found.read_rows(bytes(3 * found.row_bytes + 1), 3)
    assert read > times / 50


@pytest.mark.parametrize("times", [3000, MANY])
def test_a_node_gets_mutated_frames_in_a_motion_by_peer_review_and_finishes_it(times: int) -> None:
    """Frames are real ones of the motion under way, so that many get past the decoder."""
    rng = random.Random(42)
    moot = ReviewMoot(6, 43, asked=30, each=12, shown=6, accuracy=0.9)
    victim = moot.nodes[1]
    assert victim is not None
    pool, carry, left = [m.encode(each) for each in SAMPLES.values()], moot.network.carry, times
    batches: dict[bytes, bytes] = {}
    about = (m.Invite, m.Rows, m.Owners, m.Labels, m.Unopened)

    def carried(sender: int, peer: int, frame: bytes) -> None:
        nonlocal left
        message = m.decode(frame)
        if isinstance(message, about) or len(pool) < 60:
            pool.append(frame)
        if isinstance(message, m.Chunk):
            batches[message.motion] = message.data  # they are short: one chunk
        carry(sender, peer, frame)
        for _ in range(min(left, times // 200)):
            left -= 1
            data = mutated(rng, rng.choice(pool[-300:]), pool)
            when = moot.network.time + rng.random() * 0.01
            moot.at(when, lambda data=data: victim.received(5, data))  # type: ignore[misc]

    moot.network.carry = carried  # type: ignore[method-assign]
    for number in range(2):
        moot.put_review(0, at=number * 25.0, rounds=6, created=1e9 + number * 25.0, seconds=20.0)
    moot.network.run(60.0)
    assert left == 0
    assert victim.counts["refused_malformed"] > times / 5
    assert len(moot.over) == 2
    for name in moot.over:
        for place in range(5):
            node = moot.nodes[place]
            session = None if node is None else node.session(name)
            assert session is not None
            assert session.phase.value == "over"
            assert session.cheats <= {5}, "nobody is accused of what p5 made up"
            checked = session.checked
            assert checked is not None
            assert {0, 1, 2, 3, 4} <= {*checked.publisher.tolist()}
            numbers = np.frombuffer(batches[name], "<i4")[checked.rows]  # input i holds i
            assert (checked.truth == moot.truth[numbers]).all()
