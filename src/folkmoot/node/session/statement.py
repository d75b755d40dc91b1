"""One signed statement for everything that a member says: one value for each (kind, poll, stage, round)."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Final, TypeAlias

import msgspec

NIL: Final = bytes(32)  # the value of a prevote or precommit for nothing
NO_ROUND: Final = -1  # the ``just`` of a statement that needs no earlier prevotes
MOST_MEMBERS: Final = 4096
MOST_ROUND: Final = 1 << 20

Digest: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Signature: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]
Place: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=MOST_MEMBERS)]
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=16)]
Round: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=MOST_ROUND)]
Just: TypeAlias = Annotated[int, msgspec.Meta(ge=-1, lt=MOST_ROUND)]
Signatures: TypeAlias = tuple[tuple[Place, Signature], ...]  # by place
Slot: TypeAlias = tuple[int, int, int, int]  # kind, poll, stage, round
Sign: TypeAlias = Callable[[bytes], bytes]
Verify: TypeAlias = Callable[[int, bytes, bytes], bool]  # member, words, signature

_PREFIX: Final = b"folkmoot/3 said\n"
_FIELDS: Final = struct.Struct(">IBBBIi")  # member, kind, poll, stage, round, just


class Kind(IntEnum):
    """The kind of a statement."""

    COMMIT = 0
    PROPOSE = 1
    PREVOTE = 2
    PRECOMMIT = 3
    RESULT = 4


class Said(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A signed statement of one motion. ``just`` is the round whose prevotes justify it, else -1."""

    member: Place
    kind: Number
    poll: Number
    stage: Number
    round: Round
    just: Just
    value: Digest
    signature: Signature

    @property
    def slot(self) -> Slot:
        """The slot, for which the member may say one value."""
        return self.kind, self.poll, self.stage, self.round

    @property
    def content(self) -> tuple[int, bytes]:
        """The value that it says there."""
        return self.just, self.value

    def words(self, motion: bytes) -> bytes:
        """The bytes that are signed."""
        return words(motion, self.member, self.slot, self.just, self.value)

    @property
    def sound(self) -> bool:
        """Whether an honest member could say such a thing."""
        agreeing = self.kind in (Kind.PROPOSE, Kind.PREVOTE, Kind.PRECOMMIT)
        if not agreeing:
            single = self.kind in (Kind.COMMIT, Kind.RESULT) and self.value != NIL
            return single and (self.stage, self.round, self.just) == (0, 0, NO_ROUND)
        if self.stage > 1 or self.just >= self.round or (self.kind == Kind.PRECOMMIT and self.just >= 0):
            return False
        return self.value != NIL or (self.kind != Kind.PROPOSE and self.just == NO_ROUND)


def words(motion: bytes, member: int, slot: Slot, just: int, value: bytes) -> bytes:
    """A statement as the bytes that its member signs: 16 of a prefix, 32, 15 of numbers, 32."""
    kind, poll, stage, number = slot
    return _PREFIX + motion + _FIELDS.pack(member, kind, poll, stage, number, just) + value


def asked(motion: bytes) -> bytes:
    """The bytes that the asker signs of a motion; the header that the name is a hash of names the asker."""
    return b"folkmoot/3 asked\n" + motion


@dataclass(frozen=True)
class Members:
    """How many take part, how many of them may lie, and how their signatures are verified."""

    n: int
    faults: int
    verify: Verify

    def __post_init__(self) -> None:
        if not 0 <= self.faults <= most_faults(self.n):
            raise ValueError(
                f"faults must be within 0..{most_faults(self.n)} of {self.n} members: got {self.faults}"
            )

    @property
    def quorum(self) -> int:
        """Any two sets of so many members share an honest one: floor((n + f) / 2) + 1."""
        return (self.n + self.faults) // 2 + 1

    @property
    def least(self) -> int:
        """How many are there although all that may lie are silent: n - f."""
        return self.n - self.faults


@dataclass(frozen=True)
class Quorum:
    """Precommits of just a quorum to one value, all of one round."""

    round: Round
    precommits: Signatures

    def check(
        self,
        members: Members,
        motion: bytes,
        stage: tuple[int, int],
        value: bytes,
        what: str,
        names: Sequence[str],
    ) -> None:
        """ValueError unless these members signed them in a (poll, stage); ``what`` is what was decided."""
        places = [place for place, _ in self.precommits]
        if len(places) != members.quorum or places != sorted({*places}) or places[-1] >= members.n:
            raise ValueError(
                f"{what} must have the precommits of {members.quorum} different members in order: "
                f"got {len(places)}"
            )
        slot = (Kind.PRECOMMIT, *stage, self.round)
        for place, signature in self.precommits:
            if not members.verify(place, words(motion, place, slot, NO_ROUND, value), signature):
                raise ValueError(f"{what}: the precommit of {names[place]} does not hold")


def most_faults(n: int) -> int:
    """The most liars that n members tolerate: the largest f with 3 f < n."""
    if n < 1:
        raise ValueError(f"n must satisfy n >= 1: got n={n}")
    return (n - 1) // 3


def commitment(motion: bytes, poll: int, before: bytes, member: int, salt: bytes, votes: bytes) -> bytes:
    """The value of a commitment. ``before`` is what the poll before decided, 32 zeros in the first."""
    numbers = struct.pack(">BI", poll, member)
    told = hashlib.sha256(b"folkmoot/3 commitment\n" + motion + numbers + before + salt + votes)
    return told.digest()
