"""A roster replaces another by a quorum of signatures: every set of signers at small n, and wrong cases."""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import replace

import msgspec
import pytest

from folkmoot.network.wire import statements
from folkmoot.network.wire.statements import Consent, TwoSuccessors
from folkmoot.network.wire.succession import MOST_CONTENT, Succession, agrees
from folkmoot.node.membership.roster import Member, Roster, faults, quorum
from support.network.epochs import key_of, member, roster_of, signatures

NAMES = ["anna", "bert", "cleo", "dora", "emil", "fred", "gina"]
OLD = roster_of(NAMES)
JOINED = Succession.after(OLD, [*OLD, member("hugo")])
LEFT = Succession.after(OLD, [each for each in OLD if each.name != "gina"])


def with_new_key(roster: Roster, *names: str) -> list[Member]:
    return [member(each.name, 1) if each.name in names else each for each in roster]


def test_a_successor_names_its_epoch_and_the_digest_before_it() -> None:
    told = hashlib.sha256(b"folkmoot roster 2\n" + (1).to_bytes(8, "big") + bytes.fromhex(OLD.digest))
    for each in [*OLD, member("hugo")]:
        for text in (each.name, each.organisation, each.fingerprint):
            told.update(len(text.encode()).to_bytes(4, "big") + text.encode())
    assert JOINED.roster.digest == told.hexdigest()
    assert (JOINED.roster.epoch, JOINED.roster.previous) == (1, OLD.digest)
    again = Succession.after(JOINED.roster, OLD)  # the same members, later, are another moot
    assert again.roster.participants == OLD.participants
    assert len({OLD.digest, JOINED.roster.digest, again.roster.digest}) == 3


@pytest.mark.parametrize("n", range(1, 6))
def test_by_brute_force_no_two_successors_both_hold(n: int) -> None:
    """Each member signs nothing, one, or the other, and f of them sign both; real signatures, all ways."""
    old = roster_of(NAMES[:n])
    one = Succession.after(old, [*old, member("hugo")])
    other = Succession.after(old, [*old, member("iris")])
    first, second = signatures(one, old, NAMES[:n]), signatures(other, old, NAMES[:n])
    held = 0
    for said in itertools.product(["nothing", "one", "other", "both"], repeat=n):
        if said.count("both") > faults(n):
            continue
        holds = [
            succession.standing(old, {p: signed[p] for p in range(n) if said[p] in (word, "both")}).complete
            for succession, signed, word in ((one, first, "one"), (other, second, "other"))
        ]
        assert not all(holds)
        held += any(holds)
    assert held > 0


def test_by_counting_no_two_quorums_meet_in_f_members_only() -> None:
    """All sizes of the three groups of signers: of one successor, of the other, and of both."""
    for n in range(1, 41):
        q, f = quorum(n), faults(n)
        for both in range(f + 1):
            ways = ((one, other) for one in range(n + 1) for other in range(n + 1) if one + other + both <= n)
            assert not any(one + both >= q and other + both >= q for one, other in ways)
        assert n - f >= q  # and the honest alone can do it
    n, both = 25, faults(25) + 1  # one more that signs twice is enough, so the bound is not slack
    assert 2 * (quorum(n) - both) + both <= n


@pytest.mark.parametrize("signers", range(8))
def test_a_quorum_lets_somebody_in_and_fewer_do_not(signers: int) -> None:
    standing = JOINED.standing(OLD, signatures(JOINED, OLD, NAMES[:signers]))
    assert standing.signed == tuple(range(signers))
    assert (standing.counted, standing.needed, standing.owed) == (signers, 5, ())
    assert standing.complete == (signers >= 5)  # 7 members: f = 1, q = 5


def test_signatures_that_do_not_hold_are_left_out() -> None:
    right = signatures(JOINED, OLD, NAMES[:5])
    elsewhere = signatures(LEFT, OLD, NAMES[:5])  # of another successor
    swapped = {place: right[(place + 1) % 5] for place in range(5)}  # of another member
    for wrong in (elsewhere, swapped, dict.fromkeys(range(5), bytes(64)), {99: right[0], -1: right[0]}):
        assert JOINED.standing(OLD, wrong).signed == ()
        assert JOINED.standing(OLD, right | {5: wrong.get(0, b"")}).signed == (0, 1, 2, 3, 4)
    other = roster_of([*NAMES[:6], "hugo"])  # of another moot, by the same keys
    same = Succession.after(other, [*other, member("iris")])
    consent = Succession.after(OLD, [*OLD, member("iris")]).consent(0, signatures(same, other, ["anna"])[0])
    assert not agrees(OLD, consent)


def test_rotation_needs_the_old_key_besides_the_quorum() -> None:
    rotated = Succession.after(OLD, with_new_key(OLD, "anna"))
    assert rotated.changes(OLD).rotated == ("anna",)
    others = rotated.standing(OLD, signatures(rotated, OLD, NAMES[1:]))
    assert (others.counted, others.owed, others.complete) == (6, ("anna",), False)
    assert rotated.standing(OLD, signatures(rotated, OLD, NAMES[:5])).complete
    new_key = {0: rotated.signed_by(key_of("anna", 1), 0)}  # the new key is not the old one
    assert not rotated.standing(OLD, signatures(rotated, OLD, NAMES[1:]) | new_key).complete


def test_a_stolen_key_is_replaced_by_a_quorum_alone_and_does_not_count() -> None:
    replaced = Succession.after(OLD, with_new_key(OLD, "anna"), ["anna"])
    assert (replaced.changes(OLD).rotated, replaced.changes(OLD).replaced) == ((), ("anna",))
    assert replaced.standing(OLD, signatures(replaced, OLD, NAMES[1:6])).complete
    thief = replaced.standing(OLD, signatures(replaced, OLD, NAMES[:5]))  # the stolen key and four others
    assert (len(thief.signed), thief.counted, thief.complete) == (5, 4, False)


def test_two_signatures_under_one_roster_are_evidence_and_nothing_else_is() -> None:
    one, other = (each.consent(0, each.signed_by(key_of("anna"), 0)) for each in (JOINED, LEFT))
    proof = TwoSuccessors(one, other)
    key, fingerprint = OLD[0].public_key, bytes.fromhex(OLD[0].fingerprint)
    assert statements.proves(proof, key, fingerprint)
    assert (statements.accused(proof), statements.kind(proof)) == (0, "two successors")
    assert statements.motion_of(proof).hex() == OLD.digest
    assert statements.read_evidence(statements.write_evidence(proof)) == proof
    assert not statements.proves(proof, OLD[1].public_key, fingerprint)
    later = Succession.after(JOINED.roster, OLD)
    next_epoch = later.consent(0, later.signed_by(key_of("anna"), 0))
    forged = msgspec.structs.replace(other, signature=bytes(64))
    elsewhere = msgspec.structs.replace(other, node=1)
    for innocent in (one, next_epoch, forged, elsewhere):
        assert not statements.proves(TwoSuccessors(one, innocent), key, fingerprint)


def test_what_is_signed_word_for_word() -> None:
    consent = Consent(bytes.fromhex(OLD.digest), 3, JOINED.name, bytes(64))
    said = b"folkmoot/2 succeed\0" + bytes.fromhex(OLD.digest) + (3).to_bytes(4, "big")
    assert statements.succeeds(consent) == said + (32).to_bytes(4, "big") + JOINED.name
    fields = [bytes.fromhex(OLD.digest), 1, [], [each.line() for each in JOINED.roster]]
    assert JOINED.name == hashlib.sha256(msgspec.msgpack.encode(fields)).digest()


def test_changes_are_told_by_name() -> None:
    moved = replace(member("bert"), addresses=("elsewhere.example:1",))
    members = [member("hugo"), moved, member("cleo", 1), member("dora", 1), *OLD.participants[4:]]
    told = Succession.after(OLD, members, ["dora"]).changes(OLD)
    assert (told.joined, told.left) == (("hugo",), ("anna",))
    assert (told.rotated, told.replaced, told.edited) == (("cleo",), ("dora",), ("bert",))


def test_what_is_no_successor_is_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match="a successor must change something"):
        Succession.after(OLD, OLD)
    for names in (["hugo"], ["anna", "nobody"]):
        with pytest.raises(ValueError, match="replaced must name members whose certificates change"):
            Succession.after(OLD, [*OLD, member("hugo")], names)
    with pytest.raises(ValueError, match="a successor must follow the roster of epoch 1"):
        JOINED.check(JOINED.roster)
    skipped = Succession(Roster([*OLD, member("hugo")], epoch=2, previous=OLD.digest))
    with pytest.raises(ValueError, match="a successor must follow the roster of epoch 0"):
        skipped.check(OLD)
    twice = Succession(Roster(with_new_key(OLD, "anna"), epoch=1, previous=OLD.digest), ("anna", "anna"))
    with pytest.raises(ValueError, match="replaced must name each member once"):
        twice.check(OLD)
    with pytest.raises(ValueError, match="names must differ"):
        Succession.after(OLD, [*OLD, member("anna", 1)])


def test_contents_are_read_again_and_every_other_way_to_write_them_is_refused() -> None:
    read = Succession.read(JOINED.content, OLD)
    assert (read, read.name) == (JOINED, JOINED.name)
    fields = msgspec.msgpack.decode(JOINED.content)
    backwards = [*fields[:3], fields[3][::-1]]
    spaced = [*fields[:3], [fields[3][0] + " ", *fields[3][1:]]]
    for other in (backwards, spaced, [*fields[:2], ["anna"], fields[3]], fields[:3], [*fields, 1]):
        with pytest.raises(ValueError, match=r".+"):
            Succession.read(msgspec.msgpack.encode(other), OLD)
    with pytest.raises(ValueError, match="at most"):
        Succession.read(JOINED.content + bytes(MOST_CONTENT), OLD)
    with pytest.raises(ValueError, match=r".+"):
        Succession.read(JOINED.content + b"\0", OLD)


def test_contents_with_changed_bytes_are_refused_or_another_successor() -> None:
    rng = random.Random(3)
    for _ in range(2000):
        data = bytearray(JOINED.content)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            read = Succession.read(bytes(data), OLD)
        except ValueError:
            continue
        assert read.content == bytes(data)
        assert read.name != JOINED.name
