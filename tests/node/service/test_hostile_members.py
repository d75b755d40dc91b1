"""What one hostile member can do to nodes that follow the rules: it costs little, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.node import Node
from folkmoot.node.service.running_motion import REPLACED
from folkmoot.node.session import frames
from folkmoot.node.session.header import motion_of
from folkmoot.node.session.statement import NO_ROUND, Kind, Said, words
from folkmoot.node.wire import messages as m
from support.node.moot import Moot, model

X = np.arange(6.0).reshape(3, 2)
LABELS = ("no", "yes")


class Puppet:
    """A member whose frames a test writes: it has a key and a place, and no node."""

    def __init__(self, moot: Moot, place: int) -> None:
        self.moot, self.place, self.heard = moot, place, list[tuple[bytes, bytes]]()
        moot.crash(place)
        self.world = moot.network.world(moot.peers[place])
        self.world.attach(self)

    def received(self, peer: bytes, frame: bytes) -> None:
        """Keep it."""
        self.heard.append((peer, frame))

    def reached(self, peer: bytes) -> None:
        """Nothing to do."""

    def unreachable(self, peer: bytes) -> None:
        """Nothing to do."""

    def sign(self, data: bytes) -> bytes:
        """With the member's key."""
        return self.moot.identities[self.place].key.sign(data)

    def tell(self, frame: bytes, to: int | None = None) -> None:
        """Send a frame to a node, or to all."""
        for i, peer in enumerate(self.moot.peers):
            if i != self.place and to in (None, i):
                self.world.send(peer, frame)

    def says(self, name: bytes, kind: Kind, value: bytes, number: int = 0) -> Said:
        """A statement of its own."""
        slot = int(kind), 0, 0, number
        signature = self.sign(words(name, self.place, slot, NO_ROUND, value))
        return Said(self.place, *slot, NO_ROUND, value, signature)


@pytest.fixture
def moot() -> Moot:
    """Four nodes that say yes to everything."""
    return Moot([model(lambda rows: ["yes"] * len(rows), LABELS)] * 4)


def node_of(moot: Moot, i: int) -> Node:
    """A node that is there."""
    node = moot.nodes[i]
    assert node is not None
    return node


def counting(moot: Moot, i: int) -> Callable[[], int]:
    """How many signatures a node has verified in its motions."""
    seen = 0
    members = node_of(moot, i).roster.members
    plain = members.verify

    def verify(member: int, data: bytes, signature: bytes) -> bool:
        nonlocal seen
        seen += 1
        return plain(member, data, signature)

    object.__setattr__(members, "verify", verify)
    return lambda: seen


def test_a_frame_of_forged_statements_costs_one_signature(moot: Moot) -> None:
    puppet = Puppet(moot, 3)
    seen = counting(moot, 0)
    name = moot.put(0, X, labels=LABELS, seconds=30.0)
    moot.run(0.5)
    before, refused = seen(), node_of(moot, 0).counts()["refused_malformed"]
    junk = tuple(Said(1, Kind.PREVOTE, 0, 0, number, -1, bytes([1] * 32), bytes(64)) for number in range(30))
    puppet.tell(frames.encoded(frames.Told(name, junk)), 0)
    moot.run(0.2)
    assert node_of(moot, 0).counts()["refused_malformed"] == refused + 1
    assert seen() - before <= 1
    moot.play(name, but=[3])


def test_who_says_two_things_is_accused_by_all_and_struck_from_the_votes(moot: Moot) -> None:
    puppet = Puppet(moot, 3)
    name = moot.put(0, X, labels=LABELS, seconds=20.0)
    for value in (b"1", b"2"):
        puppet.tell(frames.encoded(frames.Told(name, (puppet.says(name, Kind.COMMIT, value * 32),))))
    accounts = moot.play(name, but=[3])
    for account in accounts:
        assert account.decisions == ["yes"] * 3
        assert account.struck == ["node003"]
        assert list(account.evidence) == ["node003"]


def test_a_refusal_that_nobody_signed_is_not_believed_and_one_of_its_own_ends_the_waiting(moot: Moot) -> None:
    puppet = Puppet(moot, 3)
    name = moot.put(0, X, labels=LABELS, seconds=40.0)
    puppet.tell(m.encode(m.Refuse(name, 1, "forged", bytes(64))))
    moot.run(2.0)
    assert not moot.decided(name, but=[3])
    signature = puppet.sign(m.refusal(name, 3, "no time"))
    puppet.tell(m.encode(m.Refuse(name, 3, "no time", signature)), 0)
    account = moot.play(name, 4.0, but=[3])[0]
    assert account.refused == {"node003": "no time"}
    assert account.first_votes == [{"yes": 3}] * 3


def test_a_commitment_after_a_refusal_is_taken_while_frames_arrive_in_time(moot: Moot) -> None:
    puppet = Puppet(moot, 3)
    name = moot.put(0, X, labels=LABELS, seconds=8.0)
    signature = puppet.sign(m.refusal(name, 3, "no time"))
    puppet.tell(m.encode(m.Refuse(name, 3, "no time", signature)), 0)
    puppet.tell(frames.encoded(frames.Told(name, (puppet.says(name, Kind.COMMIT, b"3" * 32),))))
    account = moot.play(name, but=[3])[0]
    assert account.withheld == ["node003"]


def test_an_announcement_is_taken_only_from_a_member_that_signed_it_for_this_roster(moot: Moot) -> None:
    puppet = Puppet(moot, 3)
    name = moot.put(0, X, labels=LABELS)
    stored = moot.storages[0].motion(name)
    moot.run(0.2)
    others = [
        msgspec.structs.replace(stored.header, nonce=bytes(16)),  # signed for another
        msgspec.structs.replace(stored.header, asker=3, moot=bytes(32)),
    ]
    for header in others:
        data = header.encoded()
        signature = puppet.sign(b"folkmoot/3 asked\n" + motion_of(data))
        puppet.tell(m.encode(m.Announce(data, signature, 30.0)))
    moot.run(0.5)
    for i in range(3):
        assert moot.storages[i].names() == [name]
        assert node_of(moot, i).counts()["refused_announcement"] == 2


def test_one_asker_has_so_many_places_and_leaves_some_to_others(moot: Moot) -> None:
    puppet = Puppet(moot, 3)
    moot.run(0.2)
    first = moot.storages[0].motion(moot.put(0, X, labels=LABELS)).header
    for i in range(12):
        header = msgspec.structs.replace(first, asker=3, nonce=bytes([i]) * 16)
        data = header.encoded()
        signature = puppet.sign(b"folkmoot/3 asked\n" + motion_of(data))
        puppet.tell(m.encode(m.Announce(data, signature, 30.0)))
    moot.run(0.5)
    node = node_of(moot, 1)
    assert node.status().all_motions[0] <= 5
    assert node.counts()["refused_too_many_motions"] == 8
    assert moot.account(1, moot.put(1, X, labels=LABELS)).asker == "node001"


def test_inputs_are_fetched_from_their_asker_so_often_and_not_more(moot: Moot) -> None:
    puppet = Puppet(moot, 3)
    name = moot.put(0, X, labels=LABELS)
    moot.run(0.3)
    for _ in range(50):
        puppet.tell(m.encode(m.Fetch(name, 0)), 0)
    puppet.tell(m.encode(m.Fetch(name, 0)), 1)
    puppet.tell(m.encode(m.Fetch(name, 7)), 0)
    moot.run(0.5)
    chunks = [frame for _, frame in puppet.heard if m.kind_of(frame) == 13]
    assert len(chunks) == 8
    assert node_of(moot, 1).counts()["refused_malformed"] == 1


def test_bytes_that_are_no_frame_are_counted_and_dropped(moot: Moot) -> None:
    puppet = Puppet(moot, 3)
    name = moot.put(0, X, labels=LABELS)
    for frame in (b"", b"\x91", b"\x93\x0a\xc4", b"\x95\x00\xc4\x20" + name, b"\x94\x0b" + b"\x91" * 5000):
        puppet.tell(frame, 0)
    for size in (2, 200, 60_000):
        puppet.tell(b"\x95\x00\xc4\x20" + name + b"\x91" * size, 0)
    moot.run(0.3)
    assert node_of(moot, 0).counts()["refused_malformed"] == 8
    moot.play(name, but=[3])


def test_nothing_is_said_that_cannot_be_stored(moot: Moot, monkeypatch: pytest.MonkeyPatch) -> None:
    name = moot.put(0, X, labels=LABELS, seconds=10.0)
    said: list[bytes] = []
    world = moot.network.of(moot.peers[1])
    plain = world.send

    def full(*_: Any) -> None:
        raise OSError("no space left on the device")

    moot.run(0.03)

    def heard(peer: bytes, frame: bytes) -> None:
        said.append(frame)
        plain(peer, frame)

    monkeypatch.setattr(moot.storages[1], "append", full)
    monkeypatch.setattr(world, "send", heard)
    with pytest.raises(OSError, match="no space"):
        moot.run(8.0)
    said.clear()
    moot.play(name, 30.0, but=[1])
    assert not said


def test_a_roster_that_follows_ends_an_invitation(moot: Moot) -> None:
    """Who was invited may not be a member any more: the motion must be put anew."""
    moot.run(0.3)
    moot.network.divide(moot.peers[:1], moot.peers[1:])
    later = Roster(moot.roster, epoch=1, previous=moot.roster.digest)

    def change() -> None:
        moot.rosters[0].rosters.append(later)
        moot.rosters[0].changed()

    moot.network.at(moot.network.time + 0.2, change)
    with pytest.raises(ValueError, match="nobody showed validation rows in time"):
        moot.put(0, X, labels=LABELS, believe="own", rows=3, seconds=20.0)
    assert moot.account(0, moot.storages[0].names()[-1]).why


def test_a_roster_that_follows_ends_motions_at_their_deadline_and_holds_no_removed_member(moot: Moot) -> None:
    held: list[tuple[list[str], int]] = []
    node = node_of(moot, 0)
    node._hold = lambda rosters, digests: held.append(
        ([each.name for roster in rosters for each in roster], len(digests))
    )
    moot.network.divide(moot.peers[:2], moot.peers[2:])
    name = moot.put(0, X, labels=LABELS, seconds=5.0)
    later = Roster(
        [each for each in moot.roster if each.name != "node003"], epoch=1, previous=moot.roster.digest
    )
    moot.rosters[0].rosters.append(later)
    moot.rosters[0].changed()
    assert held == [(["node000", "node001", "node002"], 2)]
    assert moot.account(0, name).state == "open"
    moot.run(6.0)
    account = moot.account(0, name)
    assert (account.state, account.why) == ("stopped", REPLACED)
    new = moot.put(0, X, labels=LABELS)
    assert moot.storages[0].motion(new).header.moot.hex() == later.digest
