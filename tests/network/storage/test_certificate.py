"""Certificates: no character can be changed, and who trusts nothing of ours can check one by hand."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.network.session.minutes import MAP
from folkmoot.network.storage.account import account_of
from folkmoot.network.storage.certificate import Certificate, read_certificate, write_certificate
from folkmoot.network.storage.storage import Held, StoredMotion
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.network.wire.packing import pack
from folkmoot.node.membership.roster import Roster
from support.network.moot_in_memory import Moot, keys_and_roster
from support.network.review_moot import ReviewMoot

N = 7


def played(**changes: Any) -> tuple[Moot, StoredMotion, Held]:
    """A motion of seven, one of whom signs two closes, as the first one that saw it has it."""
    votes = np.tile(np.arange(5, dtype=np.int8) % 2, (N, 1))
    hall = Moot(votes, 1, two_faced=[2])
    hall.put(0, k=4, alpha=3, rounds=5, **changes)
    hall.network.run(60.0)
    for storage in hall.storages:
        (stored,) = storage.motions()
        held = storage.held(stored.name)
        if held.evidence:
            return hall, stored, held
    raise AssertionError("nobody has seen both closes")


@pytest.fixture(scope="module")
def case() -> tuple[Moot, StoredMotion, Held]:
    return played()


def with_evidence(case: tuple[Moot, StoredMotion, Held], kind: str) -> bytes:
    """The certificate with evidence of this kind against participant 3 alone."""
    hall, stored, held = case
    key, close = hall.keys[3], held.closes[3]

    def commit(commitment: bytes) -> m.Commit:
        signature = key.sign(statements.committed(stored.name, 3, commitment))
        return m.Commit(stored.name, 3, commitment, signature, want=True)

    def heard(digest: bytes) -> m.Heard:
        return m.Heard(3, 1 << 40, digest, key.sign(statements.state(stored.name, 3, 1 << 40, digest)))

    bare = m.Reveal(stored.name, bytes(32), close.first, want=True, signature=bytes(64))
    reveal = msgspec.structs.replace(bare, signature=key.sign(statements.revealed(bare, 3)))
    proofs: dict[str, statements.Evidence] = {
        "two answers": statements.TwoStates(stored.name, heard(bytes(32)), heard(b"1" * 32)),
        "two commitments": statements.TwoCommits(commit(bytes(32)), commit(b"1" * 32)),
        "broken commitment": statements.BrokenCommitment(
            commit(bytes(32)), close, bytes.fromhex(hall.roster[3].fingerprint)
        ),
        "broken reveal": statements.BrokenReveal(
            commit(bytes(32)), reveal, bytes.fromhex(hall.roster[3].fingerprint)
        ),
    }
    return write_certificate(stored, replace(held, evidence=[(3, proofs[kind])]))


def assert_nothing_can_be_changed(data: bytes, roster: Roster) -> None:
    for place, byte in enumerate(data):
        # The neighbours, and what could pass for the same: another case, a space, another digit.
        for other in {byte ^ 1, byte ^ 2, byte ^ 32, 32, 48, (place * 31) % 256} - {byte}:
            changed = data[:place] + bytes([other]) + data[place + 1 :]
            with pytest.raises(ValueError, match=r"."):
                read_certificate(changed, roster)
    for changed in (data[:-1], data + b"\n", b" " + data, data[1:], b""):
        with pytest.raises(ValueError, match=r"."):
            read_certificate(changed, roster)


def test_a_certificate_says_what_the_node_says(case: tuple[Moot, StoredMotion, Held]) -> None:
    hall, stored, held = case
    data = write_certificate(stored, held)
    shown, kept = read_certificate(data, hall.roster)
    mine, theirs = account_of(stored, held), account_of(shown, kept)
    for field in (
        "motion", "asker", "decisions", "agreement", "first_votes", "majority", "why_undecided", "took_part",
        "silent", "abstained", "evidence", "quorum", "least_voters", "created", "labels",
    ):  # fmt: skip
        assert getattr(theirs, field) == getattr(mine, field)
    assert theirs.evidence == {"p002": "two closes"}
    assert write_certificate(shown, kept) == data


def test_no_byte_of_a_certificate_can_be_changed(case: tuple[Moot, StoredMotion, Held]) -> None:
    hall, stored, held = case
    few = {place: held.closes[place] for place in (0, 2, 5)}
    assert_nothing_can_be_changed(write_certificate(stored, replace(held, closes=few)), hall.roster)


@pytest.mark.parametrize("kind", ["two answers", "two commitments", "broken commitment", "broken reveal"])
def test_no_byte_of_any_evidence_can_be_changed(case: tuple[Moot, StoredMotion, Held], kind: str) -> None:
    data = with_evidence(case, kind)
    shown, kept = read_certificate(data, case[0].roster)
    assert account_of(shown, kept).evidence == {"p003": kind}
    start = data.index(b'"evidence"')
    end = data.index(b'"format"')
    for place in range(start, end):
        for other in {data[place] ^ 1, data[place] ^ 32} - {data[place]}:
            with pytest.raises(ValueError, match=r"."):
                read_certificate(data[:place] + bytes([other]) + data[place + 1 :], case[0].roster)
    assert b"true" not in data
    if b"false" in data:  # whether a commitment asks for another is not signed, so it cannot be told either
        with pytest.raises(ValueError, match="something in it was changed"):
            read_certificate(data.replace(b"false", b"true"), case[0].roster)


def test_what_is_nested_deeply_is_refused(case: tuple[Moot, StoredMotion, Held]) -> None:
    """In a field that nobody knows, which the decoder passes over."""
    data = with_evidence(case, "two answers")
    deep = data.replace(b'"evidence":[{', b'"evidence":[{"x":' + b"[" * 100_000 + b"]" * 100_000 + b",", 1)
    assert deep != data
    with pytest.raises(ValueError, match="not a certificate"):
        read_certificate(deep, case[0].roster)


def test_it_can_be_checked_without_any_of_our_code(case: tuple[Moot, StoredMotion, Held]) -> None:
    """As docs/wire.md says: hashes, signatures, packed votes and a count."""
    hall, stored, held = case
    told = json.loads(write_certificate(stored, held))
    header = base64.b64decode(told["header"])
    name = hashlib.sha256(header).digest()
    assert name.hex() == told["motion"]
    fields = msgspec.msgpack.decode(header)
    assert (fields[0].hex(), fields[14], fields[13]) == (told["moot"], 5, ["a", "b"])
    prefix = b"folkmoot/2 announce\0" + name + fields[1].to_bytes(4, "big")
    hall.keys[0].public_key().verify(base64.b64decode(told["signature"]), prefix)
    held_by: Counter[tuple[int, int]] = Counter()
    voted_by: Counter[tuple[int, int]] = Counter()
    for _, motion, node, decisions, salt, first, reason, signature in told["closes"]:
        if node == 2:
            continue  # it signed two
        decisions, first, salt = map(base64.b64decode, (decisions, first, salt))
        parts = (hashlib.sha256(decisions).digest(), salt, hashlib.sha256(first).digest(), reason.encode())
        said = b"folkmoot/2 close\0" + base64.b64decode(motion) + node.to_bytes(4, "big")
        said += b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        hall.keys[node].public_key().verify(base64.b64decode(signature), said)
        assert base64.b64decode(motion) == name
        assert decisions[0] == first[0] == 0  # one bit a vote
        held_by.update((i, decisions[1] >> i & 1) for i in range(5))
        voted_by.update((i, first[1] >> i & 1) for i in range(5))
    decided = account_of(*read_certificate(write_certificate(stored, held), hall.roster)).decisions
    for i, label in enumerate(decided):
        found = [x for x in (0, 1) if held_by[i, x] >= 5 and voted_by[i, x] >= 2]
        assert [label] == [["a", "b"][x] for x in found]


def test_certificates_that_do_not_hold(case: tuple[Moot, StoredMotion, Held]) -> None:
    hall, stored, held = case
    good = write_certificate(stored, held)
    told = msgspec.json.decode(good)

    def refused(match: str, roster: Roster = hall.roster, **changes: Any) -> None:
        data = msgspec.json.encode(told | changes, order="sorted") + b"\n"
        with pytest.raises(ValueError, match=match):
            read_certificate(data, roster)

    refused("it is of another moot, with the digest", keys_and_roster(6)[1])
    refused("it is of another moot", moot="0" * 64)
    refused("its header is not that of the motion", motion="0" * 64)
    refused("not signed by its asker, p000", signature=base64.b64encode(bytes(64)).decode())
    refused("its closes are not of different participants", closes=told["closes"][::-1])
    refused("its closes are not of different participants", closes=told["closes"] + told["closes"][-1:])
    refused("its evidence are not of different participants", evidence=told["evidence"] * 2)
    refused("it is not a certificate", format="folkmoot certificate 2")
    refused("it is not a certificate", more=1)
    outside = [*told["closes"][-1][:2], 7, *told["closes"][-1][3:]]
    refused("its closes are not of different participants", closes=[*told["closes"], outside])
    foreign = played(nonce=bytes(16))
    other = msgspec.json.decode(write_certificate(*foreign[1:]))
    refused("the close of p000 in it was not signed by p000 in this motion", closes=other["closes"])
    refused("the evidence against p002 in it does not hold in this motion", evidence=other["evidence"])
    with pytest.raises(ValueError, match="something in it was changed"):
        read_certificate(json.dumps(told).encode(), hall.roster)


def resigned(hall: Moot, motion: Motion, held: Held | None = None) -> bytes:
    header = motion.encoded()
    name = motion_name(header)
    signature = hall.keys[0].sign(statements.announcement(name, 0))
    stored = StoredMotion(name, header, signature, [], [], 0.0, 0.0, None, {})
    return write_certificate(stored, held or Held(None, {}, {}, [], {}))


def test_what_hostile_participants_may_have_signed(case: tuple[Moot, StoredMotion, Held]) -> None:
    hall, stored, _ = case
    motion = stored.motion
    found = account_of(*read_certificate(resigned(hall, motion), hall.roster))
    assert found.undecided == 5
    elsewhere = resigned(hall, msgspec.structs.replace(motion, moot=bytes(32)))
    with pytest.raises(ValueError, match="it is of another moot"):
        read_certificate(elsewhere, hall.roster)
    name = motion_name(motion.encoded())
    votes = pack(np.zeros(4, dtype=np.int8), 2)  # one too few, in as many bytes
    bare = m.Close(name, 3, b"\x00\xff", bytes(32), votes, "", bytes(64))
    close = msgspec.structs.replace(bare, signature=hall.keys[3].sign(statements.closing(bare)))
    with pytest.raises(ValueError, match="packed votes must end with zero bits"):
        read_certificate(resigned(hall, motion, Held(None, {}, {3: close}, [], {})), hall.roster)


def test_a_motion_with_trust_has_none(case: tuple[Moot, StoredMotion, Held]) -> None:
    hall, stored, _ = case
    trusting = msgspec.structs.replace(stored.motion, trust=True)
    with pytest.raises(ValueError, match="a motion with trust has no certificate"):
        resigned(hall, trusting)


def test_a_motion_about_numbers_with_check_rows_has_one_with_its_map() -> None:
    moot = ReviewMoot(5, 3, asked=4, each=3, answers="numbers")
    moot.put_review(0, seconds=20.0, rounds=6)
    moot.network.run(until=30.0)
    storage = moot.storages[2]
    (stored,) = storage.motions()
    held = storage.held(stored.name)
    data = write_certificate(stored, held)
    checked, shown = read_certificate(data, moot.roster)
    theirs, ours = account_of(checked, shown), account_of(stored, held)
    assert theirs.claims == ours.claims
    assert None not in theirs.claims
    assert theirs.first_numbers == ours.first_numbers
    owners = held.opened[MAP]
    assert isinstance(owners, m.Owners)
    other = msgspec.structs.replace(owners, seed=bytes(32))
    unsigned = msgspec.structs.replace(owners, signature=bytes(64))
    stranger = msgspec.structs.replace(owners, node=1)
    for maps, why in (
        ([other], "its map of owners is not the one that the header of the motion names"),
        ([unsigned], "its map of owners was not signed by the asker, "),
        ([stranger], "it has a map of owners that is not that of its motion"),
        ([owners, owners], "it has a map of owners that is not that of its motion"),
    ):
        forged = msgspec.json.decode(data, type=Certificate)
        forged = msgspec.structs.replace(forged, owners=maps)
        with pytest.raises(ValueError, match=why):
            read_certificate(msgspec.json.Encoder(order="sorted").encode(forged) + b"\n", moot.roster)
    without = msgspec.structs.replace(msgspec.json.decode(data, type=Certificate), owners=[])
    unmapped = read_certificate(msgspec.json.Encoder(order="sorted").encode(without) + b"\n", moot.roster)
    assert account_of(*unmapped).claims == [None] * 4  # whose rows are whose is not known
