"""What is kept of the rounds of a talk is what went over the wire, and never more than its budget."""

from __future__ import annotations

from collections import defaultdict

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.network.service.node import Node
from folkmoot.network.session.series import NOT_KEPT, Series, read_series, series_bytes
from folkmoot.network.session.session import Session
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.packing import packed_size, unpack
from support.network.moot_in_memory import Moot


def node_of(moot: Moot, place: int) -> Node:
    node = moot.nodes[place]
    assert node is not None
    return node


def overheard(moot: Moot, place: int) -> tuple[dict[int, list[int]], dict[int, dict[int, bytes]]]:
    """From now on, by frames: whom a node asks in each round, and which votes come back."""
    asked: dict[int, list[int]] = defaultdict(list)
    answered: dict[int, dict[int, bytes]] = defaultdict(dict)
    world, node = moot.network.of(place), node_of(moot, place)
    send, received = world.send, node.received

    def sending(peer: int, frame: bytes) -> None:
        message = m.decode(frame)
        if isinstance(message, m.Ask):
            asked[message.round].append(peer)
        send(peer, frame)

    def receiving(peer: int, frame: bytes) -> None:
        message = m.decode(frame)
        if isinstance(message, m.Answer) and message.round == node.sessions()[0].rounds:
            answered[message.round][peer] = message.votes
        received(peer, frame)

    world.send = sending  # type: ignore[method-assign]
    node.received = receiving  # type: ignore[method-assign]
    return asked, answered


def test_rounds_are_kept_as_they_went_over_the_wire_and_stored_at_the_end() -> None:
    votes = np.random.default_rng(7).integers(0, 2, (7, 33)).astype(np.int8)
    moot = Moot(votes, seed=11)
    asked, answered = overheard(moot, 2)
    moot.put(0, at=1.0, k=4, rounds=12)
    moot.network.run(60.0)
    (name,) = moot.storages[2].names()
    stored = moot.storages[2].motion(name)
    kept = moot.storages[2].held(name).rounds
    assert len(kept.rounds) == len(asked) == 12
    held = votes[2]
    for number, each in enumerate(kept.rounds):
        assert list(each.asked) == asked[number]
        told = {place: kept.votes[which] for place, which in each.heard}
        assert told == answered[number]
        for place, colours in kept.answers(number, stored.motion).items():
            assert (colours == unpack(answered[number][place], 33, 2)).all()
        # Slush by hand: three equal answers of four win.
        ones = np.sum([unpack(each, 33, 2) for each in told.values()], axis=0)
        after = np.where(ones >= 3, 1, np.where(ones <= 1, 0, held))
        assert each.changed == int((after != held).sum())
        held = after
    assert sum(each.changed for each in kept.rounds) > 0
    assert [each.at for each in kept.rounds] == sorted(each.at for each in kept.rounds)
    assert len(set(kept.votes)) == len(kept.votes)


def test_a_view_is_a_copy_of_what_one_node_knows() -> None:
    votes = np.random.default_rng(3).integers(0, 2, (6, 20)).astype(np.int8)
    moot = Moot(votes, seed=5)
    seen: list[Session | None] = []
    node = node_of(moot, 1)
    node.observe(seen.append)
    asked, answered = overheard(moot, 1)
    moot.put(0, at=1.0, k=3, alpha=2, rounds=30, pace=0.1)
    moot.network.run(2.0)
    (session,) = node.sessions()
    before = session.view()
    assert (before.phase, before.asker, before.inputs, before.rounds) == ("talking", 0, 20, 30)
    assert 0 < before.round < 30
    assert before.committed == (0, 1, 2, 3, 4, 5)
    assert before.asked == tuple(asked[before.round - 1])
    last = [unpack(each, 20, 2) for each in answered[before.round - 1].values()]
    assert before.heard == len(last) == 3
    ones = float(np.mean(last))
    assert before.shares.get("b", 0.0) == round(ones, 6)
    assert before.shares.get("a", 0.0) == round(1 - ones, 6)
    moot.network.run(60.0)
    assert before.round < session.view().round == 30
    assert session.view().phase == "over"
    assert session.view().closed == (0, 1, 2, 3, 4, 5)
    assert session in seen  # observers are told of sessions
    assert node.seen[1] is None
    assert all(when is not None and when > 2.0 for place, when in enumerate(node.seen) if place != 1)


def test_observers_are_told_when_who_can_be_reached_changes() -> None:
    moot = Moot(np.zeros((3, 2), dtype=np.int8), seed=1)
    node = node_of(moot, 0)
    moot.network.run(1.0)
    seen: list[Session | None] = []
    node.observe(seen.append)
    node.unreachable(2)
    node.reached(2)
    assert seen == [None, None]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 400), st.integers(1, 40), st.sampled_from([1, 40, 3000, 100_000]), st.integers(0, 2**32)
)
def test_what_is_kept_is_within_what_is_charged(rounds: int, k: int, inputs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    moot = Moot(np.zeros((3, 1), dtype=np.int8), seed=1)
    size = packed_size(inputs, 2, open_votes=True)
    motion = msgspec.structs.replace(moot.motion()[0], rounds=rounds, k=k, inputs=inputs)
    different = [bytes([1]) + rng.bytes(size - 1) for _ in range(20)]
    series, told = Series(0.0), list[set[bytes]]()
    for number in range(rounds):
        asked = rng.integers(0, 60_000, 2 * k).tolist()  # with those asked in the place of late ones
        heard = {place: different[rng.integers(20)] for place in asked[:k]}
        told.append(set(heard.values()))
        series.add(1e6 + number / 7, asked, heard, changed=inputs)
    packed = series.packed()
    assert 0 < len(packed) <= series_bytes(motion)
    kept = read_series(packed)
    assert kept == series.kept()
    heard_then = set[bytes]().union(*told[: len(kept.rounds)])
    room_for_all = len(heard_then) * (size + 5) <= 48 << 10
    assert room_for_all == all(which != NOT_KEPT for each in kept.rounds for _, which in each.heard)


def test_no_round_no_bytes() -> None:
    assert Series(0.0).packed() == b""
    assert read_series(b"").rounds == ()
