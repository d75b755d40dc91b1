"""What is signed, byte by byte, and what proves that somebody contradicts itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import combinations

import pytest
from msgspec.structs import replace

from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.statements import (
    BrokenCommitment,
    BrokenReveal,
    Evidence,
    TwoCloses,
    TwoCommits,
    TwoStates,
)
from support.network.moot_in_memory import keys_and_roster

KEYS, ROSTER = keys_and_roster(3)
MOTION, OTHER = hashlib.sha256(b"motion").digest(), hashlib.sha256(b"other").digest()
PRINT = [bytes.fromhex(member.fingerprint) for member in ROSTER]
PLACE = 1
MARKS = m.Marks(MOTION, b"s" * 16, b"m" * 24, bytes(64), want=False)


def commit(value: bytes, motion: bytes = MOTION, place: int = PLACE) -> m.Commit:
    said = statements.committed(motion, place, value)
    return m.Commit(motion, place, value, KEYS[PLACE].sign(said), want=False)


def close(decisions: bytes, salt: bytes = bytes(32), motion: bytes = MOTION, reason: str = "") -> m.Close:
    bare = m.Close(motion, PLACE, decisions, salt, b"\x00\x05", reason, bytes(64))
    return replace(bare, signature=KEYS[PLACE].sign(statements.closing(bare)))


def reveal(salt: bytes = bytes(32), motion: bytes = MOTION, place: int = PLACE) -> m.Reveal:
    bare = m.Reveal(motion, salt, b"\x00\x05", bytes(64), want=False)
    return replace(bare, signature=KEYS[PLACE].sign(statements.revealed(bare, place)))


def heard(version: int, votes: bytes, motion: bytes = MOTION) -> m.Heard:
    digest = hashlib.sha256(votes).digest()
    said = statements.state(motion, PLACE, version, digest)
    return m.Heard(PLACE, version, digest, KEYS[PLACE].sign(said))


def opening(salt: bytes = bytes(32), first: bytes = b"\x00\x05") -> bytes:
    return statements.commitment_to(MOTION, PRINT[PLACE], salt, first)


CONTRADICTIONS: list[Evidence] = [
    TwoStates(MOTION, heard(3, b"one"), heard(3, b"other")),
    TwoCommits(commit(bytes(32)), commit(bytes(31) + b"x")),
    TwoCloses(close(b"\x00\x01"), close(b"\x00\x02")),
    BrokenCommitment(commit(opening(salt=b"x" * 32)), close(b"\x00\x01"), PRINT[PLACE]),
    BrokenReveal(commit(opening(salt=b"x" * 32)), reveal(), PRINT[PLACE]),
]
CONSISTENT: list[Evidence] = [
    TwoStates(MOTION, heard(3, b"one"), heard(3, b"one")),
    TwoStates(MOTION, heard(3, b"one"), heard(4, b"other")),
    TwoStates(MOTION, heard(3, b"one"), heard(3, b"other", OTHER)),
    TwoCommits(commit(bytes(32)), commit(bytes(32))),
    TwoCommits(commit(bytes(32)), commit(bytes(31) + b"x", OTHER)),
    TwoCloses(close(b"\x00\x01"), close(b"\x00\x01")),
    TwoCloses(close(b"\x00\x01"), close(b"\x00\x02", motion=OTHER)),
    BrokenCommitment(commit(opening()), close(b"\x00\x01"), PRINT[PLACE]),
    BrokenCommitment(commit(opening()), close(b"\x00\x01"), PRINT[0]),
    BrokenCommitment(commit(opening(salt=b"x" * 32)), close(b"\x00\x01"), PRINT[0]),
    BrokenCommitment(commit(opening(salt=b"x" * 32)), close(b"\x00\x01", motion=OTHER), PRINT[PLACE]),
    BrokenReveal(commit(opening()), reveal(), PRINT[PLACE]),
    BrokenReveal(commit(opening()), reveal(), PRINT[0]),
    BrokenReveal(commit(opening(salt=b"x" * 32)), reveal(), PRINT[0]),
    BrokenReveal(commit(opening(salt=b"x" * 32)), reveal(motion=OTHER), PRINT[PLACE]),
    BrokenReveal(commit(opening(salt=b"x" * 32)), reveal(place=2), PRINT[PLACE]),
]


def test_statements_are_what_the_page_on_the_wire_says() -> None:
    body = MOTION + (1).to_bytes(4, "big")
    cases: list[tuple[bytes, bytes, list[bytes]]] = [
        (statements.announcement(MOTION, 1), b"announce", []),
        (statements.committed(MOTION, 1, b"c" * 32), b"commit", [b"c" * 32]),
        (statements.revealed(reveal(), 1), b"reveal", [bytes(32), hashlib.sha256(b"\x00\x05").digest()]),
        (statements.marked(MARKS, 1), b"marks", [b"s" * 16, b"m" * 24]),
        (statements.state(MOTION, 1, 7, b"d" * 32), b"state", [(7).to_bytes(8, "big"), b"d" * 32]),
    ]
    prefix = statements.announcement(MOTION, 1).split(b"announce")[0]
    assert prefix.startswith(b"folkmoot")
    for said, kind, parts in cases:
        told = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        assert said == prefix + kind + b"\0" + body + told


def test_no_two_things_are_said_in_the_same_bytes() -> None:
    """A signature under one statement is none under another."""
    closes = [
        close(b"\x00\x01"), close(b"\x00\x01", reason="a"), close(b"\x00\x01", salt=b"x" * 32),
        close(b"\x00", reason="b"), close(b"\x00\x01", motion=OTHER),
    ]  # fmt: skip
    said = [
        *(statements.announcement(motion, place) for motion in (MOTION, OTHER) for place in (0, 1, 256)),
        *(statements.committed(MOTION, place, bytes(32)) for place in (0, 1, 256)),
        *(statements.state(MOTION, 1, version, bytes(32)) for version in (0, 1, 256, 2**40)),
        *(statements.closing(each) for each in closes),
        *(statements.revealed(reveal(salt), place) for salt in (bytes(32), b"x" * 32) for place in (0, 1)),
        *(statements.marked(MARKS, place) for place in (0, 1, 256)),
    ]
    assert len(set(said)) == len(said)
    for one, other in combinations(said, 2):
        assert not statements.holds(ROSTER[0].public_key, KEYS[0].sign(one), other)


@pytest.mark.parametrize("evidence", CONTRADICTIONS, ids=statements.kind)
def test_a_contradiction_proves_itself_against_its_author_only(evidence: Evidence) -> None:
    assert statements.proves(evidence, ROSTER[PLACE].public_key, PRINT[PLACE])
    assert not statements.proves(evidence, ROSTER[0].public_key, PRINT[0])
    assert statements.accused(evidence) == PLACE
    assert statements.motion_of(evidence) == MOTION
    assert statements.read_evidence(statements.write_evidence(evidence)) == evidence


@pytest.mark.parametrize("evidence", CONSISTENT, ids=statements.kind)
def test_who_said_nothing_contradictory_cannot_be_framed(evidence: Evidence) -> None:
    assert not statements.proves(evidence, ROSTER[PLACE].public_key, PRINT[PLACE])


@pytest.mark.parametrize(
    "forge",
    [
        lambda: TwoStates(MOTION, heard(3, b"one"), replace(heard(3, b"o"), signature=bytes(64))),
        lambda: TwoCommits(commit(bytes(32)), replace(commit(b"x" * 32), signature=bytes(64))),
        lambda: TwoCloses(close(b"\x00\x01"), replace(close(b"\x00\x01"), decisions=b"\x00\x02")),
        lambda: BrokenReveal(
            commit(opening(salt=b"x" * 32)), replace(reveal(), first=b"\x00\x06"), PRINT[PLACE]
        ),
        lambda: BrokenCommitment(
            replace(commit(opening()), commitment=bytes(32)), close(b"\x00\x01"), PRINT[PLACE]
        ),
    ],
)  # fmt: skip
def test_what_was_not_signed_proves_nothing(forge: Callable[[], Evidence]) -> None:
    assert not statements.proves(forge(), ROSTER[PLACE].public_key, PRINT[PLACE])


def test_a_commitment_is_bound_to_who_votes_on_what_with_which_salt() -> None:
    found = {
        statements.commitment_to(motion, fingerprint, salt, first)
        for motion in (MOTION, OTHER)
        for fingerprint in PRINT
        for salt in (bytes(32), b"x" * 32)
        for first in (b"\x00\x01", b"\x00\x02")
    }
    assert len(found) == 2 * 3 * 2 * 2


def test_marks_tell_commitments_apart_and_depend_on_the_salt() -> None:
    commits = [commit(bytes(31) + bytes([value]), place=place) for value in (0, 1) for place in (1, 2)]
    salts = (bytes(16), b"x" * 16)
    assert len({statements.mark(salt, each) for salt in salts for each in commits} - {bytes(8)}) == 8
    twice = replace(commits[0], signature=bytes(64), want=True)  # what it says counts, not how it is signed
    assert statements.mark(salts[0], twice) == statements.mark(salts[0], commits[0])
    said = statements.committed(MOTION, 1, bytes(32))
    assert statements.mark(salts[0], commits[0]) == hashlib.sha256(salts[0] + said).digest()[:8]
