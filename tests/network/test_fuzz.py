"""100,000 mutated frames, and mutated files: everything is understood or refused, and the node goes on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.network.membership.roster import Member, Roster
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, read_header
from folkmoot.network.wire.packing import pack, unpack
from support.network.federated_moot import FederatedMoot
from support.network.moot_in_memory import Moot, keys_and_roster
from support.network.mutated import mutated
from support.network.number_moot import NumberMoot

DECODED, DELIVERED = 80_000, 20_000
INPUTS = 30


def samples() -> list[bytes]:
    """A valid frame of every kind, with and without what is optional."""
    heard = m.Heard(3, 1 << 40, bytes(32), bytes(64))
    motion, name = Moot(np.zeros((6, INPUTS), np.int8), 0).motion()[0], bytes(range(32))
    votes = pack(np.zeros(INPUTS, np.int8), 2)
    return [m.encode(each) for each in (
        m.Hello(name, 1.5e9), m.Announce(motion.encoded(), bytes(64), 3.0), m.Unknown(name), m.Fetch(name, 3),
        m.Chunk(name, 3, bytes(100)), m.Commit(name, 5, bytes(32), bytes(64), want=True), m.Pending(name),
        m.Ask(name, 7, None), m.Ask(name, 7, heard), m.Answer(name, 7, 9, votes, bytes(64)),
        m.Unready(name, 7),
        m.Close(name, 5, votes, bytes(32), votes, "why ü", bytes(64)), m.Want(name, b"\x3f"),
        m.Refuse(name, 5, "why ü", bytes(64)),
        m.Reveal(name, bytes(32), votes, bytes(64), True),
        m.Marks(name, bytes(16), bytes(48), bytes(64), True),
        m.Held((name, bytes(32)), ((name, b"\x05"),)),
        m.Successor(name, b"\x94" + bytes(40), ((0, bytes(64)), (5, bytes(range(64))))),
        m.Choice(name, 5, m.SetForm(2, ("p000", "p001"), (m.SetForm(1, ("p002",), ()),)), bytes(64)),
        m.Ballot(name, 5, 3, bytes(32), bytes(40), bytes(64)), m.Lacking(name, bytes(96)),
    )]  # fmt: skip


def test_every_kind_of_message_is_among_the_samples() -> None:
    kinds = {type(m.decode(frame)) for frame in samples()}
    assert kinds == set(m.AnyMessage.__args__)


def test_mutated_frames_are_messages_or_refused() -> None:
    rng, pool, seen = random.Random(20), samples(), Counter[str]()
    for _ in range(DECODED):
        data = mutated(rng, rng.choice(pool), pool)
        try:
            message = m.decode(data)
        except (ValueError, RecursionError):
            seen["refused"] += 1
        else:
            assert m.decode(m.encode(message)) == message or m.encode(message) == data, "NaN is not itself"
            seen[type(message).__name__] += 1
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
    pool: list[bytes] = samples()
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


def test_a_node_gets_mutated_frames_in_a_motion_about_numbers_and_finishes_it() -> None:
    rng, values = random.Random(31), np.random.default_rng(31).normal(size=(6, 4))
    hall = NumberMoot(values, 32)
    victim = hall.nodes[1]
    assert victim is not None
    pool, carry, left = samples(), hall.network.carry, 6000

    def carried(sender: int, peer: int, frame: bytes) -> None:
        nonlocal left
        if len(pool) < 600:
            pool.append(frame)
        carry(sender, peer, frame)
        for _ in range(min(left, 30)):
            left -= 1
            data = mutated(rng, rng.choice(pool[-300:]), pool)
            hall.at(hall.network.time + rng.random() * 0.01, lambda data=data: victim.received(5, data))  # type: ignore[misc]

    hall.network.carry = carried  # type: ignore[method-assign]
    hall.put(0, rounds=10, tol=0.2)
    hall.network.run(60.0)
    assert left == 0
    ((session, _),) = hall.over.values()
    own = victim.session(session.name)
    assert own is not None
    for found in (session, own):
        assert found.phase.value == "over"
        assert found.verdict().undecided == 0
        assert found.cheats <= {5}, "nobody is accused of what p5 made up"


def test_a_node_gets_mutated_frames_in_a_federated_motion_and_finishes_it() -> None:
    rng, votes = random.Random(41), np.tile(np.array([0, 1, 1, 0], np.int8), (6, 1))
    hall = FederatedMoot(votes, 42)
    victim = hall.nodes[1]
    assert victim is not None
    pool, carry, left = samples(), hall.network.carry, 6000

    def carried(sender: int, peer: int, frame: bytes) -> None:
        nonlocal left
        if len(pool) < 900:
            pool.append(frame)
        carry(sender, peer, frame)
        for _ in range(min(left, 30)):
            left -= 1
            data = mutated(rng, rng.choice(pool[-300:]), pool)
            hall.at(hall.network.time + rng.random() * 0.01, lambda data=data: victim.received(5, data))  # type: ignore[misc]

    hall.network.carry = carried  # type: ignore[method-assign]
    hall.put(0)
    hall.network.run(60.0)
    assert left == 0
    ((session, _),) = hall.over.values()
    own = victim.session(session.name)
    assert own is not None
    for found in (session, own):
        assert found.phase.value == "over"
        assert found.verdict().decisions.tolist() == [0, 1, 1, 0]
        assert found.cheats <= {5}, "nobody is accused of what p5 made up"


def test_mutated_votes_are_what_pack_makes_or_refused() -> None:
    rng, generator = random.Random(23), np.random.default_rng(23)
    pool = []
    for classes in (2, 3, 10, 127):
        for low in (0, -1):
            votes = generator.integers(low, classes, INPUTS).astype(np.int8)
            pool.append((pack(votes, classes), classes))
    read = 0
    for _ in range(20_000):
        data, classes = rng.choice(pool)
        data = mutated(rng, data, [each for each, _ in pool])[:400]
        try:
            votes = unpack(data, INPUTS, classes)
        except ValueError:
            continue
        read += 1
        assert pack(votes, classes) == data, "one encoding each"
        assert votes.shape == (INPUTS,)
        assert -1 <= votes.min() <= votes.max() < classes
    assert read > 100


def evidence_samples() -> list[bytes]:
    heard = m.Heard(3, 9, bytes(32), bytes(64))
    commit = m.Commit(bytes(32), 5, bytes(32), bytes(64), want=True)
    close = m.Close(bytes(32), 5, b"1", bytes(32), b"2", "", bytes(64))
    choice = m.Choice(bytes(32), 5, m.SetForm(1, ("p000",), ()), bytes(64))
    ballot = m.Ballot(bytes(32), 5, 3, bytes(32), bytes(40), bytes(64))
    return [statements.write_evidence(each) for each in (
        statements.TwoStates(bytes(32), heard, heard), statements.TwoCommits(commit, commit),
        statements.TwoCloses(close, close), statements.BrokenCommitment(commit, close, bytes(32)),
        statements.BrokenReveal(
            commit, m.Reveal(bytes(32), bytes(32), b"2", bytes(64), want=True), bytes(32)
        ),
        statements.TwoQuorumSets(choice, choice), statements.TwoQuorumSets(choice, ballot),
        statements.TwoBallots(ballot, ballot),
    )]  # fmt: skip


def header_samples() -> list[bytes]:
    hall = Moot(np.zeros((6, INPUTS), np.int8), 0)
    changes: list[dict[str, Any]] = [{}, {"protocol": "snowball"}, {"alpha": 0}, {"weighted": True}]
    numbers = NumberMoot(np.zeros((6, INPUTS)), 0)
    chances = NumberMoot(np.zeros((6, INPUTS, 3), np.int16), 0)
    federated = FederatedMoot(np.zeros((6, INPUTS), np.int8), 0)
    others = [moot.motion()[0].encoded() for moot in (numbers, chances, federated)]
    return [*others, *(hall.motion(**each)[0].encoded() for each in changes)]


@pytest.mark.parametrize(
    ("read", "pool"),
    [(read_header, header_samples()), (statements.read_evidence, evidence_samples())],
    ids=["headers", "evidence"],
)
def test_mutated_headers_and_evidence_are_refused_or_whole(
    read: Callable[[bytes], Motion | statements.Evidence], pool: list[bytes]
) -> None:
    rng, key = random.Random(24), keys_and_roster(6)[1][5].public_key
    for _ in range(15_000):
        data = mutated(rng, rng.choice(pool), pool)
        try:
            found = read(data)
        except (ValueError, TypeError, RecursionError):
            continue
        if isinstance(found, Motion):
            assert found.encoded() == data
            if not found.federated:
                assert found.rule(found.alpha or found.k // 2 + 1) if found.is_labels else found.aggregation()
            assert found.form.held_bytes < m.MOST_BYTES / 2
        else:
            assert statements.accused(found) >= 0
            assert not statements.proves(found, key, bytes(32)), "nothing was ever signed"


def test_mutated_rosters_are_whole_or_refused_in_words(tmp_path: Path) -> None:
    rng, path = random.Random(25), tmp_path / "roster.toml"
    whole = Roster(keys_and_roster(6)[1].participants[:3])
    whole.write(path)
    text = path.read_bytes()
    line = whole[0].line()
    for _ in range(400):
        path.write_bytes(mutated(rng, text, [text]))
        changed = mutated(rng, line.encode(), [line.encode()]).decode(errors="surrogateescape")
        for refused in (_refusal(Roster.read, path), _refusal(Member.parse, changed)):
            assert "\n" not in refused
            assert len(refused) < 700


def _refusal(read: Callable[[Any], object], source: object) -> str:
    try:
        read(source)
    except ValueError as error:
        return str(error) or "without a word\n"
    return ""


def test_the_decoder_refuses_what_is_large_before_it_is_made() -> None:
    """A frame of a few bytes that promises four billion items costs nothing."""
    for data in (
        b"\x93\x0c\xc6\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff\x00",
        b"\x93\x01\xdf\xff\xff\xff\xff",
    ):
        with pytest.raises(msgspec.DecodeError):
            m.decode(data)
