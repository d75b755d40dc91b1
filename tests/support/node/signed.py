"""A motion with real keys and a roster: for certificates, storage and accounts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec
import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from folkmoot.node.certificate import certificate_of
from folkmoot.node.membership.certificates import fingerprint_of, holds
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.review import ballots_of
from folkmoot.node.session.frames import Told, encoded, read
from folkmoot.node.session.header import Header, motion_of
from folkmoot.node.session.motion import Motion
from folkmoot.node.session.statement import Kind, Members, Said, asked
from folkmoot.node.session.terms import Terms
from folkmoot.node.wire.schema import Schema
from support.node.world import Node, Weather, World

NAMES = ("north", "south", "west", "east", "centre", "coast", "hills")


@cache
def keys_and_roster(n: int) -> tuple[tuple[Ed25519PrivateKey, ...], Roster]:
    """The same keys in every test; a key is that of the member's place in the roster."""
    names = sorted(NAMES[:n])
    keys = [Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest()) for name in names]
    members = [member(name, key, 7000 + i) for i, (name, key) in enumerate(zip(names, keys, strict=True))]
    return tuple(keys), Roster(members)


def member(name: str, key: Ed25519PrivateKey, port: int = 7000) -> Member:
    """With a certificate like a node's own, but with nothing random or of today in it."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start, end = datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, start, end)
    certificate = builder.sign(key, algorithm=None).public_bytes(Encoding.DER)
    return Member(name, "", fingerprint_of(certificate), (f"127.0.0.1:{port}",), certificate)


@dataclass
class SignedWorld(World):
    """A world whose members sign with the keys of a roster."""

    created: float = 1e9
    schema: Schema = ()
    keys: Sequence[Ed25519PrivateKey] = ()
    roster: Roster = field(default_factory=lambda: keys_and_roster(1)[1])

    def __post_init__(self) -> None:
        super().__post_init__()
        self.keys, self.roster = keys_and_roster(self.n)
        moot = bytes.fromhex(self.roster.digest)
        self.header = msgspec.structs.replace(
            self.header, moot=moot, created=self.created, schema=self.schema, columns=max(1, len(self.schema))
        )
        self.motion = motion_of(self.header.encoded())
        verify = _remembering(self.roster)
        self.members = Members(self.n, self.members.faults, verify)

    @property
    def people(self) -> list[tuple[str, str]]:
        """Fingerprints and names, by place."""
        return [(each.fingerprint, each.name) for each in self.roster]


def _remembering(roster: Roster) -> Callable[[int, bytes, bytes], bool]:
    return cache(lambda member, words, signature: holds(roster[member].public_key, signature, words))


class SignedNode(Node):
    """A member with a real key."""

    world: SignedWorld

    def make_motion(self, journal: list[bytes], now: float) -> Motion:
        """The real thing."""
        world = self.world
        return Motion(
            world.header, world.members, self.me, world.keys[self.me].sign, delta=world.delta,
            records=journal, now=now,
        )  # fmt: skip


def play(
    terms: Terms,
    votes: Sequence[Sequence[Any]],
    *,
    seed: int = 1,
    kinds: dict[int, Callable[[SignedWorld, int, list[bytes]], Node]] | None = None,
    late: Sequence[int] = (),
    until: float = 600.0,
    schema: Schema = (),
) -> SignedWorld:
    """A motion to its end: ``votes`` are of each member for all polls, None for no vote on an input.

    Members in ``late`` vote after all is decided.
    """
    inputs = len(votes[0])
    weather = Weather(delay=0.01, most=0.05)
    world = SignedWorld(seed, len(votes), terms, inputs=inputs, weather=weather, schema=schema)
    for i, row in enumerate(votes):
        packed = [packed_votes(world.header, poll, row) for poll in range(terms.polls)]
        node = (kinds or {}).get(i, SignedNode)(world, i, packed)
        if i in late:
            node.delays = [1e9] * terms.polls
        world.nodes.append(node)
    world.run(until, world.decided)
    return world


def packed_votes(header: Header, poll: int, row: Sequence[Any]) -> bytes:
    """Votes of a member as they are written: labels by number, levels, or whole numbers of steps."""
    form = ballots_of(header, poll)
    if poll == 1 and header.terms.answers == "probabilities":
        row = [None if each is None else int(np.argmax(np.array(each))) for each in row]
    table = form.nothing()
    for i, each in enumerate(row):
        if each is not None:
            table[i] = each
    return form.pack(table)


def decided(world: SignedWorld, place: int = 0) -> Motion:
    """The motion of a member that knows the answer."""
    motion = world.nodes[place].motion
    assert motion is not None
    assert motion.answer is not None
    return motion


class Twice(SignedNode):
    """A member that signs a second commitment in its first poll: it is struck."""

    def send(self, peer: int, frame: bytes) -> None:
        """With the second one beside the first."""
        message = read(frame)
        if isinstance(message, Told):
            others = [self._other(said) for said in message.said if self._is_own(said)]
            frame = encoded(msgspec.structs.replace(message, said=(*message.said, *others)))
        super().send(peer, frame)

    def _is_own(self, said: Said) -> bool:
        return (said.member, said.kind, said.poll) == (self.me, Kind.COMMIT, 0)

    def _other(self, said: Said) -> Said:
        other = msgspec.structs.replace(said, value=hashlib.sha256(said.value).digest())
        signature = self.world.keys[self.me].sign(other.words(self.world.motion))
        return msgspec.structs.replace(other, signature=signature)


def certificate(world: SignedWorld, place: int = 0) -> bytes:
    """As the node at a place writes it."""
    return certificate_of(decided(world, place), world.keys[0].sign(asked(world.motion)))
