"""Damaged frames and files, 100,000 of each kind: all are understood or refused, and a node goes on."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest

from folkmoot.node.session import frames
from folkmoot.node.wire import messages
from support.node.decoders import OWN, Reader, damaged, decoders, kinds, readers, some_rows
from support.node.moot import Moot, model
from support.node.mutated import mutated

THROWN = 6000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    return {each.name: each for each in readers(tmp_path_factory.mktemp("damaged"))}


def test_every_decoder_is_in_the_table(table: dict[str, Reader]) -> None:
    """By what the code has, not by a list: whatever is new fails here until it has samples."""
    covered = {name for reader in table.values() for name in reader.covers}
    assert covered | OWN == decoders()
    assert not covered & OWN


def test_every_kind_of_frame_is_among_the_samples(table: dict[str, Reader]) -> None:
    pools = ("frames of a session", "messages about motions", "frames about rosters", "greetings")
    there = set[int]().union(*(kinds(table[name].pool) for name in pools))
    assert there == {0, 1, 3, 4, *range(10, 15), *messages.ROSTERS, 20}


def test_damaged_frames_and_files_are_whole_or_refused_in_words(table: dict[str, Reader]) -> None:
    for reader in table.values():
        assert reader.pool, reader.name
        for each in reader.pool:
            reader.whole(each, reader.read(each))
        damaged(reader, reader.quick)


@pytest.mark.slow
def test_a_hundred_thousand_damaged_ones_of_each(table: dict[str, Reader]) -> None:
    for reader in table.values():
        damaged(reader, 100_000)


def test_damaged_frames_reach_every_kind(table: dict[str, Reader]) -> None:
    rng, seen = random.Random(20), Counter[str]()
    for name, many in (("frames of a session", 4), ("messages about motions", 5)):
        reader, seen = table[name], Counter()
        for _ in range(10_000):
            try:
                seen[type(reader.read(mutated(rng, rng.choice(reader.pool), reader.pool))).__name__] += 1
            except ValueError:
                seen["refused"] += 1
        assert seen["refused"] > 5000
        assert len(seen) == 1 + many, seen


def test_a_node_gets_damaged_frames_in_a_motion_and_decides_it() -> None:
    """Frames are real ones of the motion under way, so that many get past the decoder."""
    rng = random.Random(21)
    moot = Moot([model(lambda rows: ["yes"] * len(rows), ["no", "yes"]) for _ in range(5)])
    victim, liar = moot.nodes[1], moot.peers[4]
    assert victim is not None
    carry, pool, thrown = moot.network.carry, list[bytes](), 0

    def carried(sender: bytes, peer: bytes, frame: bytes) -> None:
        nonlocal thrown
        pool.append(frame)
        carry(sender, peer, frame)
        for _ in range(min(THROWN - thrown, 30)):
            thrown += 1
            data = mutated(rng, rng.choice(pool[-300:]), pool)
            moot.network.at(
                moot.network.time + rng.random() * 0.01,
                lambda data=data: victim.received(liar, data),  # type: ignore[misc]
            )

    moot.network.carry = carried  # type: ignore[method-assign]
    for _ in range(3):
        name = moot.put(0, some_rows(), labels=["no", "yes"])
        account, *_ = moot.play(name)
        assert account.decisions == ["yes"] * len(some_rows())
        assert set(account.evidence) <= {"node004"}, "nobody is accused of what node004 made up"
    assert thrown == THROWN
    assert sum(many for why, many in victim.counts().items() if why.startswith("refused_")) > THROWN / 3


def test_what_is_nested_without_end_is_refused() -> None:
    deep = b"\x91" * 100_000 + b"\xc0"
    for read in (frames.read, messages.read_message, messages.read_hello):
        for head in (b"\x93\x00", b"\x93\x0a", b"\x92\x14", b""):
            with pytest.raises(ValueError, match=r"."):
                read(head + deep)


def test_the_decoder_refuses_what_is_large_before_it_is_made() -> None:
    """A frame of a few bytes that promises four billion items costs nothing."""
    for data in (
        b"\x93\x0c\xc6\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff\x00",
        b"\x93\x01\xdf\xff\xff\xff\xff",
    ):
        with pytest.raises(msgspec.DecodeError):
            frames.read(data)
        with pytest.raises(msgspec.DecodeError):
            messages.read_message(data)
