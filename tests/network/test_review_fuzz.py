"""Mutated frames in a motion by peer review: nodes go on, and learn from what was said in earnest."""

from __future__ import annotations

import random

import numpy as np
import pytest

from folkmoot.network.wire import messages as m
from support.network.decoders.messages import messages
from support.network.mutated import mutated
from support.network.review_moot import ReviewMoot

MANY = pytest.param(100_000, marks=pytest.mark.slow)


@pytest.mark.parametrize("times", [3000, MANY])
def test_a_node_gets_mutated_frames_in_a_motion_by_peer_review_and_finishes_it(times: int) -> None:
    """Frames are real ones of the motion under way, so that many get past the decoder."""
    rng = random.Random(42)
    moot = ReviewMoot(6, 43, asked=30, each=12, shown=6, accuracy=0.9)
    victim = moot.nodes[1]
    assert victim is not None
    pool, carry, left = messages(), moot.network.carry, times
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
