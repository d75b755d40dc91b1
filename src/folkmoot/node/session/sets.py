"""The agreed sets: in stage 0 of commitments, in stage 1 of their members that revealed."""

from __future__ import annotations

import hashlib
from typing import Final, TypeAlias

import msgspec

from folkmoot.node.session.frames import read_exactly
from folkmoot.node.session.statement import NO_ROUND, Digest, Kind, Members, Place, Signature, words

Signed: TypeAlias = tuple[Digest, Signature]
Entry: TypeAlias = tuple[Signed, ...]  # none: not in the set; two different ones: struck

COMMITMENTS: Final = 0
REVEALS: Final = 1


class Commitments(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The commitments of a poll by member, and who proposed them. A member that signed two is struck."""

    proposer: Place
    entries: tuple[Entry, ...]

    @property
    def members(self) -> list[int]:
        """Members that are to reveal: those with one commitment."""
        return [i for i, entry in enumerate(self.entries) if len(entry) == 1]

    @property
    def struck(self) -> list[int]:
        """Members that signed two commitments."""
        return [i for i, entry in enumerate(self.entries) if len(entry) == 2]

    @property
    def absent(self) -> list[int]:
        """Members without a place in it."""
        return [i for i, entry in enumerate(self.entries) if not entry]

    def check(self, motion: bytes, poll: int, members: Members) -> None:
        """ValueError unless it is well formed: signatures, order, and n - f commitments at least."""
        if len(self.entries) != members.n or self.proposer >= members.n:
            raise ValueError(f"a set must have an entry for each of {members.n} members")
        if len(self.members) < members.least:
            raise ValueError(f"a set must hold at least {members.least} commitments: got {len(self.members)}")
        for member, entry in enumerate(self.entries):
            if len(entry) > 2 or (len(entry) == 2 and not entry[0][0] < entry[1][0]):
                raise ValueError("a struck member must have two different commitments in order")
            for value, signature in entry:
                said = words(motion, member, (Kind.COMMIT, poll, 0, 0), NO_ROUND, value)
                if not members.verify(member, said, signature):
                    raise ValueError(f"the commitment of member {member} must be signed by it")


class Revealed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Which members of a set of commitments revealed their votes."""

    commitments: Digest  # the value that stage 0 decided
    bitmap: bytes  # member i is bit i % 8 of byte i // 8

    @classmethod
    def of(cls, value: bytes, members: list[int], n: int) -> Revealed:
        """The set of these members."""
        return cls(value, sum(1 << i for i in members).to_bytes((n + 7) // 8, "little"))

    @property
    def members(self) -> list[int]:
        """Members that revealed."""
        bits = int.from_bytes(self.bitmap, "little")
        return [i for i in range(bits.bit_length()) if bits >> i & 1]

    def check(self, value: bytes, agreed: Commitments, members: Members) -> None:
        """ValueError unless it is about what stage 0 decided, and all but f of its members revealed."""
        if self.commitments != value:
            raise ValueError("a set of reveals must be about the commitments that were agreed")
        if len(self.bitmap) != (members.n + 7) // 8 or not set(self.members) <= set(agreed.members):
            raise ValueError("only members with an agreed commitment can have revealed")
        if len(self.members) < len(agreed.members) - members.faults:
            least = len(agreed.members) - members.faults
            raise ValueError(f"at least {least} must have revealed: got {len(self.members)}")


_ENCODER: Final = msgspec.msgpack.Encoder()
_READ_COMMITMENTS: Final = msgspec.msgpack.Decoder(Commitments)
_READ_REVEALED: Final = msgspec.msgpack.Decoder(Revealed)


def most_bytes(n: int) -> int:
    """How long a set of n members is at the most: two signed commitments of each."""
    return 64 + 208 * n


def encoded(body: Commitments | Revealed) -> bytes:
    """The one encoding of a set."""
    return _ENCODER.encode(body)


def read_commitments(body: bytes) -> Commitments:
    """The set in a body of stage 0; ValueError if it is none."""
    return read_exactly(_READ_COMMITMENTS, body, "a set")


def read_revealed(body: bytes) -> Revealed:
    """The set in a body of stage 1; ValueError if it is none."""
    return read_exactly(_READ_REVEALED, body, "a set")


def value_of(motion: bytes, poll: int, stage: int, body: bytes) -> bytes:
    """The hash of the set, which is voted on instead of the set."""
    return hashlib.sha256(b"folkmoot/3 set\n" + motion + bytes([poll, stage]) + body).digest()
