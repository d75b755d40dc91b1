"""What a frame of junk of the worst kind costs who reads it: counted, not timed.

The budget of processor time (``transports/test_processor.py``) holds what many of them cost; these hold what
one costs, for so long the loop stands still.
"""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.node.ballots import Ballots
from folkmoot.node.review import ballots_of
from folkmoot.node.session.frames import MOST_BYTES, MOST_PARTS, Body, Reveal, Told, encoded, read, split
from folkmoot.node.session.header import Header, motion_of
from folkmoot.node.session.motion import Motion
from folkmoot.node.session.sets import Commitments, most_bytes, value_of
from folkmoot.node.session.sets import encoded as encoded_set
from folkmoot.node.session.statement import Kind, Members, Said, commitment, words
from folkmoot.node.session.terms import Terms
from support.node.world import sign_of, verify

N, INPUTS = 4, 100_000
HEADER = Header(bytes(32), 0, bytes(16), 1e9, Terms(labels=("no", "yes")), inputs=INPUTS)
NAME = motion_of(HEADER.encoded())
LIAR = 3


def said(member: int, kind: Kind, number: int, value: bytes, *, forged: bool) -> Said:
    slot = int(kind), 0, 0, number
    signed = words(NAME, member, slot, -1, value)
    signature = bytes(64) if forged else sign_of(member)(signed)
    return Said(member, int(kind), 0, 0, number, -1, value, signature)


def digest(number: int) -> bytes:
    return number.to_bytes(32, "big")


class Costs:
    """A member's part in a motion, and what it does for each frame of the liar."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.verified = self.parsed = 0

        def counted(member: int, told: bytes, signature: bytes) -> bool:
            self.verified += 1
            return verify(member, told, signature)

        parse = Ballots.unpack

        def unpack(form: Ballots, data: bytes) -> Any:
            self.parsed += 1
            return parse(form, data)

        monkeypatch.setattr(Ballots, "unpack", unpack)
        self.motion = Motion(HEADER, Members(N, 1, counted), 0, sign_of(0), delta=0.25)

    def of(self, told: Told) -> tuple[int, int]:
        """Signatures that were verified, and votes that were parsed, for a frame."""
        frame = encoded(told)
        assert len(frame) <= MOST_BYTES
        self.verified = self.parsed = 0
        self.motion.received(LIAR, frame, 0.0)
        return self.verified, self.parsed


@pytest.mark.parametrize("kind", ["forged", "signed", "far"])
def test_a_frame_of_statements_costs_a_bounded_number_of_signatures(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    costs = Costs(monkeypatch)
    for frame in range(3):
        numbers = range(1 + frame * MOST_PARTS, 1 + (frame + 1) * MOST_PARTS)
        statements = tuple(
            said(1, Kind.PREVOTE, 0, digest(number), forged=True)
            if kind == "forged"
            else said(LIAR, Kind.PREVOTE, number if kind == "far" else 0, digest(number), forged=False)
            for number in numbers
        )
        with suppress(ValueError):  # a forged statement is reason enough to refuse the frame
            costs.of(Told(NAME, statements))
        verified = costs.verified
        assert verified <= (1 if kind == "forged" else MOST_PARTS)
        if kind == "signed":
            assert verified <= 3, "of two values for one slot no more than these are of use"


def test_a_frame_of_very_many_parts_is_refused_before_it_is_parsed() -> None:
    """A megabyte of empty sets would be fourteen in memory."""
    frame = encoded(Told(NAME, bodies=(Body(0, 0, b""),) * 200_000))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="length"):
            read(frame)
        assert tracemalloc.get_traced_memory()[1] < 50_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("part", ["said", "bodies", "reveals"])
def test_a_frame_of_more_parts_is_refused_before_any_of_them_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    costs = Costs(monkeypatch)
    one: dict[str, Any] = {
        "said": said(1, Kind.PREVOTE, 0, digest(1), forged=True),
        "bodies": Body(0, 0, b"junk"),
        "reveals": Reveal(0, 1, bytes(32), b""),
    }
    told = replace_part(Told(NAME), part, (one[part],) * (MOST_PARTS + 1))
    with pytest.raises(ValueError, match=f"length <= {MOST_PARTS}"):
        costs.of(told)
    assert (costs.verified, costs.parsed) == (0, 0)
    with suppress(ValueError):  # a forged statement is reason enough, too
        costs.of(replace_part(told, part, (one[part],) * MOST_PARTS))
    assert costs.verified <= 1


def replace_part(told: Told, part: str, parts: tuple[Any, ...]) -> Told:
    return msgspec.structs.replace(told, **{part: parts})


def test_votes_are_not_parsed_before_a_commitment_binds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as fit into a frame, all of a form that takes long to parse."""
    costs = Costs(monkeypatch)
    votes = ballots_of(HEADER, 0).pack(np.zeros(INPUTS, dtype=np.int64))
    many = (MOST_BYTES - 100) // (len(votes) + 80)
    assert many >= 30
    salt = digest(7)
    value = commitment(NAME, 0, bytes(32), LIAR, salt, votes)
    costs.of(Told(NAME, (said(LIAR, Kind.COMMIT, 0, value, forged=False),)))
    junk = tuple(Reveal(0, LIAR, digest(number), votes) for number in range(100, 100 + many))
    assert costs.of(Told(NAME, reveals=junk)) == (0, 0)
    _, parsed = costs.of(Told(NAME, reveals=(Reveal(0, LIAR, salt, votes),) * many))
    assert parsed == 1, "the one that it has committed to, once"


def test_what_honest_members_send_has_fewer_parts() -> None:
    """All that a motion of 101 members can have is sent in frames that are read."""
    statements = [said(number % 101, Kind.PREVOTE, number, digest(1), forged=True) for number in range(5000)]
    reveals = [Reveal(0, number % 101, bytes(32), b"") for number in range(3000)]
    frames = list(split(NAME, [*statements, *reveals]))
    assert sum(len(frame.said) for frame in frames) == 5000
    assert sum(len(frame.reveals) for frame in frames) == 3000
    for frame in frames:
        assert len(frame.said) + len(frame.bodies) + len(frame.reveals) <= MOST_PARTS


def test_a_named_set_is_kept_only_if_it_is_no_longer_than_a_set_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A liar names junk of a megabyte wherever it may say something, and sends it."""
    costs = Costs(monkeypatch)
    tracemalloc.start()
    for number in range(20):
        for kind in (Kind.PROPOSE, Kind.PREVOTE, Kind.PRECOMMIT):
            junk = bytes([kind, number]) + bytes(MOST_BYTES - 1000)
            named = said(LIAR, kind, number, value_of(NAME, 0, 0, junk), forged=False)
            costs.of(Told(NAME, (named,), (Body(0, 0, junk),)))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 3 * MOST_BYTES, "60 were sent; of each peer the last frame may wait for its time"
    signed = ((bytes(32), bytes(64)), (bytes(31) + b"\1", bytes(64)))
    assert len(encoded_set(Commitments(N - 1, (signed,) * N))) <= most_bytes(N)
