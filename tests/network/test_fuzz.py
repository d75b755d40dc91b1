"""Damaged frames and files, 100,000 of each kind: all are understood or refused, and a node goes on."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import numpy as np
import pytest

from folkmoot.network.service import control
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from support.network.decoders.messages import messages
from support.network.decoders.reader import INPUTS, Reader, damaged
from support.network.decoders.table import enumerated, kinds_of, readers
from support.network.moot_in_memory import Moot
from support.network.mutated import mutated
from support.network.number_moot import NumberMoot

DECODED, DELIVERED = 20_000, 20_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    return {each.name: each for each in readers(tmp_path_factory.mktemp("damaged"))}


def test_every_decoder_and_reader_is_in_the_table(table: dict[str, Reader]) -> None:
    """By what the code has, not by a list: whatever is new fails here until it has samples."""
    covered = {name for reader in table.values() for name in reader.covers}
    assert covered == enumerated()


def test_every_kind_that_a_decoder_tells_apart_is_among_the_samples(table: dict[str, Reader]) -> None:
    for name, decoder in (
        ("messages", m._DECODER),
        ("evidence", statements._DECODER),
        ("requests at the door", control._REQUEST),
        ("replies at the door", control._REPLY),
    ):
        reader = table[name]
        assert {type(reader.read(each)) for each in reader.pool} == kinds_of(decoder), name


def test_damaged_frames_and_files_are_whole_or_refused_in_words(table: dict[str, Reader]) -> None:
    for reader in table.values():
        for each in reader.pool:
            reader.whole(each, reader.read(each))
        damaged(reader, reader.quick, mutated)


@pytest.mark.slow
def test_a_hundred_thousand_damaged_ones_of_each(table: dict[str, Reader]) -> None:
    for reader in table.values():
        damaged(reader, 100_000, mutated)


def test_damaged_frames_reach_every_kind_of_message(table: dict[str, Reader]) -> None:
    rng, pool, seen = random.Random(20), table["messages"].pool, Counter[str]()
    for _ in range(DECODED):
        try:
            seen[type(m.decode(mutated(rng, rng.choice(pool), pool))).__name__] += 1
        except ValueError:
            seen["refused"] += 1
    assert seen["refused"] > DECODED / 2
    assert len(seen) == 1 + len(m.AnyMessage.__args__)


@pytest.mark.parametrize("trust", [False, True])
def test_a_node_gets_mutated_frames_in_a_motion_and_finishes_it(trust: bool) -> None:
    """Frames are real ones of the motion under way, so that many get past the decoder."""
    rng = random.Random(21)
    votes = np.tile(rng.choices([0, 1], k=INPUTS), (6, 1)).astype(np.int8)
    sure = Holdout([("a", "a")] * 20 + [("b", "b")] * 20 + [("a", "b")])
    hall = Moot(votes, 22, holdouts=dict.fromkeys(range(6), sure))
    victim = hall.nodes[1]
    assert victim is not None
    pool = messages()
    carry, sent = hall.network.carry, 0

    def carried(sender: int, peer: int, frame: bytes) -> None:
        nonlocal sent
        if len(pool) < 600:
            pool.append(frame)
        carry(sender, peer, frame)
        for _ in range(40):
            if sent < DELIVERED:
                sent += 1
                data = mutated(rng, rng.choice(pool[-300:]), pool)
                hall.at(hall.network.time + rng.random() * 0.01, lambda data=data: receive(data))  # type: ignore[misc]

    def receive(data: bytes) -> None:
        assert victim is not None
        victim.received(5, data)

    hall.network.carry = carried  # type: ignore[method-assign]
    for number in range(3):
        hall.put(0, at=number * 3.0, rounds=20 + number, trust=trust)
    hall.network.run(60.0)
    assert sent == DELIVERED
    assert victim.counts["refused_malformed"] > DELIVERED / 3
    assert len(hall.over) == 3
    for name in hall.over:
        for place in range(5):
            node = hall.nodes[place]
            assert node is not None
            session = node.session(name)
            assert session is not None
            assert session.phase.value == "over"
            assert session.verdict().decisions.tolist() == votes[0].tolist()
            assert session.cheats <= {5}, "nobody is accused of what p5 made up"
            for node_, close in session.closes.items():
                said = statements.closing(close)
                assert statements.holds(hall.roster[node_].public_key, close.signature, said)


def pelt(hall: Moot, most: int, rng: random.Random) -> list[bytes]:
    """Throw 6,000 damaged frames at node 1, as of node 5, thirty with each that is carried; those thrown."""
    victim, pool, carry, thrown = hall.nodes[1], messages(), hall.network.carry, list[bytes]()
    assert victim is not None

    def carried(sender: int, peer: int, frame: bytes) -> None:
        if len(pool) < most:
            pool.append(frame)
        carry(sender, peer, frame)
        for _ in range(min(6000 - len(thrown), 30)):
            thrown.append(mutated(rng, rng.choice(pool[-300:]), pool))
            when, data = hall.network.time + rng.random() * 0.01, thrown[-1]
            hall.at(when, lambda data=data: victim.received(5, data))  # type: ignore[misc]

    hall.network.carry = carried  # type: ignore[method-assign]
    return thrown


def test_a_node_gets_mutated_frames_in_a_motion_about_numbers_and_finishes_it() -> None:
    rng, values = random.Random(31), np.random.default_rng(31).normal(size=(6, 4))
    hall = NumberMoot(values, 32)
    victim = hall.nodes[1]
    assert victim is not None
    thrown = pelt(hall, 600, rng)
    hall.put(0, rounds=10, tol=0.2)
    hall.network.run(60.0)
    assert len(thrown) == 6000
    ((session, _),) = hall.over.values()
    own = victim.session(session.name)
    assert own is not None
    for found in (session, own):
        assert found.phase.value == "over"
        assert found.verdict().undecided == 0
        assert found.cheats <= {5}, "nobody is accused of what p5 made up"


def test_what_is_nested_without_end_in_a_field_that_nobody_knows_is_refused(table: dict[str, Reader]) -> None:
    deep = b"\xa1x" + b"\x91" * 100_000 + b"\xc0"
    tagged = {"evidence": b"\xaatwo closes", "requests at the door": b"\xa4Look"}
    for name, tag in tagged.items():
        with pytest.raises(ValueError, match="nested too deeply"):
            table[name].read(b"\x82\xa4type" + tag + deep)
    with pytest.raises(ValueError, match="nested too deeply"):
        table["kept rounds"].read(b"\x93\x90\x90" + deep[2:])


def test_the_decoder_refuses_what_is_large_before_it_is_made() -> None:
    """A frame of a few bytes that promises four billion items costs nothing."""
    for data in (
        b"\x93\x0c\xc6\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff\x00",
        b"\x93\x01\xdf\xff\xff\xff\xff",
    ):
        with pytest.raises(msgspec.DecodeError):
            m.decode(data)
