"""Quorum sets and statements as bytes: one encoding each, and ballots that exclude each other are found."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from folkmoot.federated.agreement import Statement
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.ballots import (
    contradict,
    form_of,
    pack_statement,
    phases_of,
    read_set,
    statement_bytes,
    unpack_statement,
)
from support.network.moot_in_memory import keys_and_roster

NAME = bytes(range(32))


def statement(rng: np.random.Generator, inputs: int = 5, classes: int = 3, counters: int = 16) -> Statement:
    said = rng.integers(-1, classes, (4, counters, inputs)).astype(np.int8)
    return Statement(
        bytes(32).hex(), said, rng.integers(0, 17, inputs), rng.integers(-1, classes, inputs).astype(np.int8)
    )


def test_a_statement_comes_back_as_it_was() -> None:
    rng = np.random.default_rng(0)
    for classes in (2, 3, 10, 127):
        for counters in (0, 1, 5, 16):
            one = statement(rng, int(rng.integers(1, 40)), classes, counters)
            data = pack_statement(one, classes)
            found, labels = unpack_statement(data, bytes(32))
            used = found.said.shape[1]
            assert labels == classes
            assert np.array_equal(found.said, one.said[:, :used])
            assert (one.said[:, used:] == -1).all()
            assert np.array_equal(found.counter, one.counter)
            assert np.array_equal(found.wanted, one.wanted)
            assert len(data) <= statement_bytes(len(one.counter), classes)


def test_no_statement_of_a_motion_is_longer_than_half_a_frame() -> None:
    for classes in range(2, 128):
        assert statement_bytes(64_000 // classes.bit_length(), classes) < m.MOST_BYTES * 0.6


def test_a_statement_with_a_length_that_lies_is_refused_before_it_is_made() -> None:
    for data in (b"", b"\xff\xff\xff\xff\x02\x10\x01", b"\xff\xff\xff\xff\x7f\x10" + bytes(100)):
        with pytest.raises(ValueError, match="statement"):
            unpack_statement(data, bytes(32))
    whole = pack_statement(statement(np.random.default_rng(2)), 3)
    for wrong in (whole[:-1], whole + b"\0", b"\0\0\0\0" + whole[4:], whole[:4] + b"\x01" + whole[5:]):
        with pytest.raises(ValueError, match=r"."):
            unpack_statement(wrong, bytes(32))


# ---- quorum sets ---------------------------------------------------------------------------------


def test_a_quorum_set_has_one_form_whatever_its_order() -> None:
    inner = [QuorumSet(1, ["x", "y"]), QuorumSet(2, ["p", "q", "r"], [QuorumSet(1, ["s"])])]
    one = QuorumSet(2, ["b", "a"], inner)
    other = QuorumSet(2, ["a", "b"], inner[::-1])
    assert form_of(one) == form_of(other)
    assert read_set(form_of(one)).digest() == one.digest() == other.digest()


def test_a_quorum_set_in_another_order_or_that_is_none_is_refused() -> None:
    fine = form_of(QuorumSet(2, ["a", "b"], [QuorumSet(1, ["c"]), QuorumSet(1, ["d"])]))
    deep = fine
    for name in "efgh":
        deep = m.SetForm(1, (name,), (deep,))
    for wrong in (
        replace(fine, members=("b", "a")), replace(fine, inner=fine.inner[::-1]), replace(fine, threshold=5),
        replace(fine, members=("a", "a")), replace(fine, members=("a", "c")), deep, m.SetForm(1, (), ()),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            read_set(wrong)


# ---- evidence ------------------------------------------------------------------------------------


def signed_choice(chosen: QuorumSet, place: int = 3, motion: bytes = NAME) -> m.Choice:
    bare = m.Choice(motion, place, form_of(chosen), bytes(64))
    return replace(bare, signature=keys_and_roster(5)[0][place].sign(statements.chosen(bare)))


def signed_ballot(
    number: int, said: Statement, chosen: QuorumSet | None = None, place: int = 3, motion: bytes = NAME
) -> m.Ballot:
    digest = bytes.fromhex((chosen or QuorumSet(1, ["a"])).digest())
    bare = m.Ballot(motion, place, number, digest, pack_statement(said, 3), bytes(64))
    return replace(bare, signature=keys_and_roster(5)[0][place].sign(statements.balloted(bare)))


def proves(evidence: statements.Evidence) -> bool:
    member = keys_and_roster(5)[1][3]
    fingerprint = bytes.fromhex(member.fingerprint)
    again = statements.read_evidence(statements.write_evidence(evidence))
    assert again == evidence
    assert statements.accused(evidence) == 3
    return statements.proves(evidence, member.public_key, fingerprint)


def test_two_quorum_sets_of_one_node_in_one_motion_are_evidence() -> None:
    one, other = QuorumSet(2, ["a", "b", "c"]), QuorumSet(2, ["a", "b", "d"])
    same = QuorumSet(2, ["c", "b", "a"])
    said = statement(np.random.default_rng(3))
    assert proves(statements.TwoQuorumSets(signed_choice(one), signed_choice(other)))
    assert proves(statements.TwoQuorumSets(signed_choice(one), signed_ballot(1, said, other)))
    assert proves(statements.TwoBallots(signed_ballot(1, said, one), signed_ballot(2, said, other)))
    assert not proves(statements.TwoQuorumSets(signed_choice(one), signed_choice(same)))
    assert not proves(statements.TwoQuorumSets(signed_choice(one), signed_ballot(1, said, same)))
    elsewhere = signed_choice(other, motion=bytes(32))
    assert not proves(statements.TwoQuorumSets(signed_choice(one), elsewhere))
    forged = replace(signed_choice(other), signature=bytes(64))
    assert not proves(statements.TwoQuorumSets(signed_choice(one), forged))
    unsorted = replace(signed_choice(one), quorum_set=m.SetForm(2, ("b", "a"), ()))
    assert not proves(statements.TwoQuorumSets(unsorted, signed_choice(other)))


def test_two_ballots_of_which_the_later_takes_something_back_are_evidence() -> None:
    before = statement(np.random.default_rng(4), counters=3)
    said = before.said.copy()
    spoken = np.argwhere(said != -1)[0]
    more, less, other = said.copy(), said.copy(), said.copy()
    more[more == -1] = 1
    less[tuple(spoken)] = -1
    other[tuple(spoken)] = (other[tuple(spoken)] + 1) % 3
    grown = Statement(before.quorum_set, more, np.minimum(before.counter + 1, 16), before.wanted)
    back = Statement(before.quorum_set, more, np.maximum(before.counter - 1, 0), before.wanted)
    shorter = statement(np.random.default_rng(5), inputs=4)

    def found(number: int, after: Statement) -> bool:
        return proves(statements.TwoBallots(signed_ballot(5, before), signed_ballot(number, after)))

    assert not found(6, grown), "facts grow"
    assert found(4, grown), "and never shrink"
    assert found(6, Statement(before.quorum_set, less, before.counter, before.wanted))
    assert found(6, Statement(before.quorum_set, other, before.counter, before.wanted))
    assert found(6, back)
    assert found(5, grown), "of one number there is one ballot"
    assert not found(5, before)
    assert found(6, shorter)
    wants = Statement(before.quorum_set, said, before.counter, (before.wanted + 2) % 4 - 1)
    assert not found(6, wants), "what one wants may change"
    assert contradict(signed_ballot(1, grown), signed_ballot(2, before))


def test_a_ballot_that_nobody_can_read_proves_nothing() -> None:
    said = statement(np.random.default_rng(6))
    broken = replace(signed_ballot(2, said), ballots=b"?")
    broken = replace(broken, signature=keys_and_roster(5)[0][3].sign(statements.balloted(broken)))
    assert not proves(statements.TwoBallots(signed_ballot(1, said), broken))


def test_how_far_a_node_is_with_each_input() -> None:
    said = np.full((4, 2, 5), -1, dtype=np.int8)
    said[0, 0, 1] = 1  # prepare at 1
    said[:3, 0, 2], said[0, 1, 2] = 1, 0  # commit at 1, then prepare at 2
    said[:, 1, 3] = 0
    said[:, 0, 4] = 2
    one = Statement("", said, np.ones(5, dtype=np.int64), np.zeros(5, dtype=np.int8))
    decided = np.array([-1, -1, -1, -1, 2])
    assert phases_of(one, decided) == ["nothing said", "prepare", "prepare", "committed", "decided"]
