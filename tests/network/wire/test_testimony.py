"""What peers told one node, and who told others something else."""

from __future__ import annotations

import hashlib
import random

import numpy as np

from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements, testimony
from folkmoot.network.wire.forms import LabelForm
from folkmoot.network.wire.packing import pack
from support.network.moot_in_memory import keys_and_roster

KEYS, ROSTER = keys_and_roster(4)
MOTION = bytes(32)


def new_book() -> testimony.Testimony:
    return testimony.Testimony(MOTION, [member.public_key for member in ROSTER], LabelForm(6, 2))


def answer(place: int, votes: list[int], version: int = 1, signer: int | None = None) -> m.Answer:
    packed = pack(np.array(votes, dtype=np.int8), 2)
    said = statements.state(MOTION, place, version, hashlib.sha256(packed).digest())
    key = KEYS[place if signer is None else signer]
    return m.Answer(MOTION, 0, version, packed, key.sign(said))


def heard(place: int, votes: list[int], version: int = 1) -> m.Heard:
    told = answer(place, votes, version)
    return m.Heard(place, version, hashlib.sha256(told.votes).digest(), told.signature)


A, B = [0, 1, 0, 1, 0, 1], [1, 1, 0, 1, 0, 1]


def test_a_signed_answer_is_taken_and_an_unsigned_one_is_not() -> None:
    book = new_book()
    votes, evidence = book.take(2, answer(2, A))
    assert votes is not None
    assert (votes.tolist(), evidence) == (A, None)
    assert book.packed(2) == answer(2, A).votes
    assert book.take(2, answer(2, B, version=2, signer=3)) == (None, None)
    assert book.packed(2) == answer(2, A).votes


def test_votes_of_another_length_are_no_answer() -> None:
    assert new_book().take(2, answer(2, [0] * 30)) == (None, None)


def test_a_new_version_may_differ_and_the_same_one_may_not() -> None:
    book = new_book()
    book.take(2, answer(2, A, version=1))
    assert book.take(2, answer(2, B, version=2))[1] is None
    votes, evidence = book.take(2, answer(2, B, version=1))
    assert votes is not None
    assert evidence is not None
    assert statements.proves(evidence, ROSTER[2].public_key, bytes.fromhex(ROSTER[2].fingerprint))


def test_what_another_heard_is_compared() -> None:
    book = new_book()
    book.take(2, answer(2, A, version=5))
    assert book.compare(heard(2, A, version=5)) is None
    assert book.compare(heard(2, B, version=6)) is None  # of that version we heard nothing
    assert book.compare(heard(3, B, version=5)) is None
    evidence = book.compare(heard(2, B, version=5))
    assert evidence is not None
    assert statements.proves(evidence, ROSTER[2].public_key, bytes.fromhex(ROSTER[2].fingerprint))
    unsigned = m.Heard(2, 5, bytes(32), bytes(64))
    assert book.compare(unsigned) is None


def test_what_is_passed_on_is_what_was_heard_last() -> None:
    book, rng = new_book(), random.Random(0)
    assert book.something(rng) is None
    book.take(2, answer(2, A, version=1))
    book.take(2, answer(2, B, version=2))
    book.take(3, answer(3, A, version=9))
    passed = {(told.node, told.version) for told in (book.something(rng) for _ in range(50)) if told}
    assert passed == {(2, 2), (3, 9)}


def test_only_so_many_states_of_a_peer_are_kept_and_the_newest_are() -> None:
    book = new_book()
    for version in range(1, 200):
        book.take(2, answer(2, A, version))
    assert book.compare(heard(2, B, 199)) is not None
    assert book.compare(heard(2, B, 199 - 63)) is not None
    assert book.compare(heard(2, B, 199 - 64)) is None
