"""Maps of owners and labels at one session whose peers the test plays: what is taken, told, and evidence."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.packing import pack
from folkmoot.network.wire.review import Review, owner_map, owners_digest
from support.network.moot_in_memory import keys_and_roster
from support.network.one_session import Table, colours

ASKED, ROWS = 4, 3  # of the asker, and of participants 2 and 3 each
INVITE, SEED, SALT = hashlib.sha256(b"invitation").digest(), bytes(range(32)), bytes(32)
LABELS = {2: colours(0, 1, 1), 3: colours(1, 0, 0)}
FIRST = colours(*[0, 1] * 5)


def given(place: int, **changes: Any) -> m.Contribution:
    """What a contributor has signed."""
    keys, roster = keys_and_roster(5)
    fingerprint = bytes.fromhex(roster[place].fingerprint)
    commitment = statements.commitment_to(INVITE, fingerprint, SALT, pack(LABELS[place], 2))
    bare = m.Contribution(place, ROWS, bytes(32), commitment, bytes(64))
    signed = replace(bare, signature=keys[place].sign(statements.contributed(INVITE, bare)))
    return replace(signed, **changes)


OWNED = (m.Owned(given(2), ()), m.Owned(given(3), ()))


class Reviewed(Table):
    """Participant 1 of five in a motion of participant 0; 2 and 3 have sent check rows."""

    def __init__(self, owned: tuple[m.Owned, ...] = OWNED, asked: int = ASKED, place: int = 1) -> None:
        self.owned = owned
        review = Review(asked, INVITE, owners_digest(SEED, owned))
        super().__init__(5, place=place, inputs=ASKED + 2 * ROWS, trust=True, review=review)

    def owners(self, *, key: int = 0, **changes: Any) -> m.Owners:
        bare = m.Owners(self.name, 0, SEED, self.owned, bytes(64))
        bare = replace(bare, **changes)
        return replace(bare, signature=self.keys[key].sign(statements.opens_owners(bare)))

    def labels(self, place: int, told: Any = None, **changes: Any) -> m.Labels:
        packed = pack(LABELS[place], 2) if told is None else told
        bare = replace(m.Labels(self.name, INVITE, place, SALT, packed, bytes(64)), **changes)
        return replace(bare, signature=self.keys[place].sign(statements.opens_labels(bare)))

    def frozen(self) -> None:
        """All have voted and committed."""
        self.vote(FIRST)
        self.gather(FIRST)
        assert self.phase() is Phase.REVEALING
        self.out()

    def learnt(self) -> dict[int, list[int]]:
        """The labels that it would learn from now, by contributor."""
        checked = self.session._opening.checked()
        if checked is None:
            return {}
        return {p: checked.truth[checked.publisher == p].tolist() for p in set(checked.publisher.tolist())}


def test_the_map_is_taken_from_whoever_relays_it_once_this_node_has_voted() -> None:
    table = Reviewed()
    table.session.receive(0.0, 0, table.owners())
    assert table.session.minutes.owners is None, "it has not voted"
    table.frozen()
    table.session.receive(0.0, 4, table.owners())
    assert table.session.minutes.owners is not None
    expected = owner_map(SEED, ASKED, OWNED).asked.tolist()
    assert table.session.minutes.owners.asked.tolist() == expected
    assert table.owners() in table.saves()
    table.session.receive(0.0, 4, table.owners())
    assert table.owners() not in table.saves(), "once"


@pytest.mark.parametrize("changes", [{"key": 4}, {"node": 4, "key": 4}, {"motion": bytes(32)}])
def test_a_map_that_the_asker_has_not_signed_for_this_motion_is_nothing(changes: dict[str, Any]) -> None:
    table = Reviewed()
    table.frozen()
    message = replace(table.owners(**changes), motion=table.name)
    table.session.receive(0.0, 4, message)
    assert table.session.minutes.owners is None
    assert table.session.cheats == set()


@pytest.mark.parametrize("after", [False, True])
def test_another_map_than_that_of_the_header_is_evidence_before_and_after_the_right_one(after: bool) -> None:
    table = Reviewed()
    table.frozen()
    if after:
        table.session.receive(0.0, 2, table.owners())
    table.session.receive(0.0, 2, table.owners(seed=bytes(32)))
    assert table.session.cheats == {0}
    table.session.receive(0.0, 2, table.owners())
    assert table.session.minutes.owners is not None, "the right one is taken all the same"
    (proof,) = [save for save in table.saves() if isinstance(save, statements.BrokenOwners)]
    member = table.roster[0]
    assert statements.proves(proof, member.public_key, bytes.fromhex(member.fingerprint))
    right = statements.BrokenOwners(proof.header, table.owners())
    assert not statements.proves(right, member.public_key, bytes.fromhex(member.fingerprint))
    for header in (b"", b"\x90", bytes(40), Reviewed(OWNED[:1], ASKED + ROWS).motion.encoded()):
        other = statements.BrokenOwners(header, proof.owners)
        assert not statements.proves(other, member.public_key, bytes.fromhex(member.fingerprint))


@pytest.mark.parametrize(
    "owned",
    [
        OWNED[:1],  # too few rows for the batch
        OWNED[::-1],
        (OWNED[0], OWNED[0]),
        (OWNED[0], m.Owned(given(3), (0, 0))),
        (OWNED[0], m.Owned(given(3), (7,))),
        (OWNED[0], m.Owned(given(3, node=9), ())),
        (OWNED[0], m.Owned(given(3, rows=1000), ())),
    ],
)
def test_a_map_that_cannot_be_one_is_as_good_as_none(owned: tuple[m.Owned, ...]) -> None:
    table = Reviewed(owned)
    table.frozen()
    table.session.receive(0.0, 0, table.owners())
    assert table.session.minutes.owners is None
    assert table.session.cheats == set()


def test_rows_that_the_asker_ascribes_to_somebody_are_dropped_unless_that_one_signed_for_them() -> None:
    table = Reviewed((OWNED[0], m.Owned(given(3, digest=bytes(31) + b"1"), ())))
    table.frozen()
    table.session.receive(0.0, 0, table.owners())
    table.session.receive(0.0, 2, table.labels(2))
    table.session.receive(0.0, 3, table.labels(3))
    assert table.learnt() == {2: [0, 1, 1]}
    assert table.session.cheats == set()


def test_labels_are_taken_once_from_whoever_relays_them_and_none_but_those_promised() -> None:
    table = Reviewed()
    table.frozen()
    table.session.receive(0.0, 2, table.labels(2))
    assert table.learnt() == {}, "nobody knows yet what they are of"
    table.session.receive(0.0, 0, table.owners())
    table.session.receive(0.0, 4, table.labels(2))
    assert table.learnt() == {2: [0, 1, 1]}
    forged = replace(table.labels(3), signature=bytes(64))
    replayed = replace(table.labels(3, motion=bytes(32)), motion=table.name)
    elsewhere = table.labels(3, invite=bytes(32))
    for message in (forged, replayed, elsewhere, table.labels(3, b"")):
        table.session.receive(0.0, 4, message)
        assert table.learnt() == {2: [0, 1, 1]}
    assert table.session.cheats == set()
    table.session.receive(0.0, 2, table.labels(2, pack(colours(1, 1, 1), 2)))
    assert table.session.cheats == {2}
    assert table.learnt() == {}, "what a proven cheat has shown is not learnt from"


@pytest.mark.parametrize("told", [b"\x02", bytes(900), pack(colours(0, -1, 1), 2)])
def test_labels_that_were_committed_to_and_are_none_are_not_learnt_from(told: bytes) -> None:
    keys, roster = keys_and_roster(5)
    promise = statements.commitment_to(INVITE, bytes.fromhex(roster[3].fingerprint), SALT, told)
    bare = given(3, commitment=promise)
    signed = replace(bare, signature=keys[3].sign(statements.contributed(INVITE, bare)))
    table = Reviewed((OWNED[0], m.Owned(signed, ())))
    table.frozen()
    table.session.receive(0.0, 0, table.owners())
    table.session.receive(0.0, 3, table.labels(3, told))
    assert table.learnt() == {}
    assert table.session.cheats == set()


def test_nobody_is_told_what_is_open_while_commitments_are_gathered_here_or_if_it_came_late() -> None:
    table = Reviewed()
    table.vote(FIRST)
    table.session.receive(0.0, 0, table.owners())
    assert table.session.minutes.owners is not None
    table.out()
    table.session.receive(0.0, 3, m.Unopened(table.name, b""))
    assert table.out() == [(3, m.Pending(table.name))]
    for place in (0, 2, 3):
        table.session.receive(0.0, place, table.commit(place, FIRST))
    table.session.tick(12.0)
    assert table.phase() is Phase.REVEALING
    table.session.receive(12.0, 4, table.commit(4, FIRST))
    table.session.receive(12.0, 2, table.labels(2))
    table.out()
    table.session.receive(12.0, 4, m.Unopened(table.name, b""))
    assert table.out() == [(4, m.Pending(table.name))], "it is late"
    table.session.receive(12.0, 3, m.Unopened(table.name, b""))
    assert table.out() == [(3, table.owners()), (3, table.labels(2))]
    table.session.receive(12.0, 3, m.Unopened(table.name, b"\x04"))
    assert table.out() == [], "it has those of place 2"


def test_who_was_late_at_the_asker_is_not_listened_to() -> None:
    """Whoever commits after the asker froze may know the map, whomever it commits to."""
    table = Reviewed()
    table.vote(FIRST)
    commits = {place: table.commit(place, FIRST) for place in table.others}
    table.gather(FIRST)
    table.session.receive(0.0, 0, table.owners())
    held = {1: table.session.minutes.own.commit} | commits
    for place in table.others:
        without = {p: commit for p, commit in held.items() if place != 0 or p != 4}
        table.session.receive(0.0, place, table.marks(place, without))
        table.session.receive(0.0, place, table.reveal(place, FIRST))
    for place in (2, 3):
        table.session.receive(0.0, place, table.labels(place))
    study = table.session.minutes.study
    assert study is not None
    assert (study[4] == -1).all()
    assert all((study[place] == FIRST).all() for place in (0, 1, 2, 3))
    checked = table.session.checked
    assert checked is not None
    assert np.bincount(checked.publisher).tolist() == [0, 0, 3, 3]
    assert checked.vanished == ()


def test_a_contributor_that_does_not_know_its_rows_any_more_says_so_and_nobody_waits_for_it() -> None:
    table = Reviewed(place=2)
    table.frozen()
    table.session.receive(0.0, 0, table.owners())
    told = table.sent(m.Labels)
    assert set(told) == {0, 1, 3, 4}
    nothing = told[0]
    assert isinstance(nothing, m.Labels)
    assert (nothing.node, nothing.labels) == (2, b"")
    other = Reviewed()
    other.frozen()
    other.session.receive(0.0, 0, other.owners())
    assert other.session._opening.lacking([0, 2, 3]) == {2, 3}
    other.session.receive(0.0, 2, nothing)
    assert other.session._opening.lacking([0, 2, 3]) == {3}
    assert other.session.cheats == set()
    checked = other.session._opening.checked()
    assert checked is not None
    assert checked.vanished == (2, 3)
