"""What a peer may draw from a node with short questions: little, and more than the honest ever need."""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot.network import Terms
from folkmoot.network.service.admission import MOST_OPEN_EACH
from folkmoot.network.service.drawing import BURST, RATE, Drawing, answer_size
from folkmoot.network.service.policy import Policy
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.motion import MOST_CELLS, MOST_INPUTS
from folkmoot.network.wire.packing import pack
from support.network.moot_in_memory import Moot
from support.network.one_session import Table


def carried(hall: Moot, source: int, target: int) -> list[int]:
    """The sizes of all frames that one sends to the other from now on."""
    sizes: list[int] = []
    carry = hall.network.carry

    def counted(sender: int, peer: int, frame: bytes) -> None:
        if (sender, peer) == (source, target):
            sizes.append(len(frame))
        carry(sender, peer, frame)

    hall.network.carry = counted  # type: ignore[method-assign]
    return sizes


def asking(hall: Moot, **changes: Any) -> bytes:
    """A long talk in which everybody has committed; its name."""
    hall.put(0, seconds=600.0, k=5, alpha=3, rounds=10_000, pace=60.0, **changes)
    hall.network.run(5.0)
    node = hall.nodes[1]
    assert node is not None
    (name,) = node._running
    return name


def test_short_questions_do_not_draw_answers_without_limit() -> None:
    votes = np.tile(np.arange(100_000) % 2, (7, 1)).astype(np.int8)
    hall = Moot(votes, 1, policies=dict.fromkeys(range(7), Policy(most_rounds=10_000)))
    name = asking(hall)
    sizes = carried(hall, 1, 6)
    node, seconds = hall.nodes[1], 4
    assert node is not None
    question = m.encode(m.Ask(name, 1, None))
    assert len(question) < 50
    for tick in range(2000 * seconds):
        hall.at(5.0 + tick / 2000, lambda: node.received(6, question))
    hall.network.run(5.0 + seconds)
    answer = len(pack(votes[0], 2))
    assert 8000 * answer > 1.3 * (BURST + RATE * seconds)  # without limit it would be more
    assert 0.5 * BURST < sum(sizes) <= BURST + RATE * seconds + 8000 * len(question)
    assert node.counts["refused_drew_too_much"] > 1000
    assert len(sizes) == 8000  # everybody is told at once that there is no more, and does not wait
    others = carried(hall, 1, 5)
    node.received(5, m.encode(m.Ask(name, 1, None)))
    assert others[-1] > answer  # what one has drawn is not the others'


def test_wants_are_counted_with_what_they_draw() -> None:
    votes = np.tile(np.arange(100_000) % 10, (7, 1)).astype(np.int8)
    hall = Moot(votes, 1)
    hall.put(0, k=5, alpha=3, rounds=3, labels=tuple("0123456789"))
    hall.network.run(29.0)
    (name,) = hall.over
    sizes = carried(hall, 1, 6)
    node = hall.nodes[1]
    assert node is not None
    for tick in range(400):
        hall.at(29.0 + tick / 40, lambda: node.received(6, m.encode(m.Want(name, b""))))
    hall.network.run(39.0)
    assert sum(sizes) <= BURST + RATE * 10.0
    assert node.counts["refused_drew_too_much"] > 0


def test_the_honest_are_answered_in_the_largest_motions() -> None:
    """All rounds of as many motions as one may put, at once, whatever the number of labels."""
    for labels in range(2, 128):
        inputs = min(MOST_INPUTS, MOST_CELLS // labels)
        votes = np.full(inputs, labels - 1, dtype=np.int8)
        votes[0] = -1
        table = Table(labels=tuple(map(str, range(labels))), inputs=inputs)
        size = answer_size(table.session)
        assert size >= len(m.encode(m.Answer(bytes(32), 10**4, 2**60, pack(votes, labels), bytes(64))))
        drawing = Drawing(5)
        assert all(drawing.allows(3, 0.0, size) for _ in range(MOST_OPEN_EACH * Terms().rounds))
