"""Frames between nodes about a motion: ``Told`` carries what others may lack, ``Have`` asks for it.

In a talk, ``Ask`` and ``Answer`` are all there is besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec

from folkmoot.node.session.statement import Digest, Number, Place, Round, Said

MOST_BYTES: Final = 1 << 20  # of a frame
MOST_VOTES: Final = 3 << 18  # bytes of the votes of a member
_FULL: Final = 1 << 17  # bytes after which a reply goes on in another frame
_AROUND: Final = 160  # bytes of a part beside its bulk, about
MOST_PARTS: Final = 256  # of a frame: each may cost a signature, and all others wait meanwhile
MARK: Final = 8  # bytes

Votes: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=MOST_VOTES)]
Salt: TypeAlias = Digest
Read = TypeVar("Read")


class _Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Any of the messages below."""


class Body(_Frame, frozen=True):
    """A set that is proposed, or was agreed on."""

    poll: Number
    stage: Number
    body: bytes


class Reveal(_Frame, frozen=True):
    """The votes of a member. It is not signed: the agreed commitment binds it."""

    poll: Number
    member: Place
    salt: Salt
    votes: Votes


Part: TypeAlias = Said | Body | Reveal


class Told(_Frame, frozen=True, tag=0):
    """Statements, sets and reveals of a motion."""

    motion: Digest
    said: Annotated[tuple[Said, ...], msgspec.Meta(max_length=MOST_PARTS)] = ()
    bodies: Annotated[tuple[Body, ...], msgspec.Meta(max_length=MOST_PARTS)] = ()
    reveals: Annotated[tuple[Reveal, ...], msgspec.Meta(max_length=MOST_PARTS)] = ()


class Have(_Frame, frozen=True, tag=1):
    """I am at this place of the motion and hold what has these marks: send me what I lack."""

    motion: Digest
    poll: Number
    stage: Number
    round: Round
    marks: bytes


class Ask(_Frame, frozen=True, tag=3):
    """What do you hold? The number of the asker's round comes back with the answer."""

    motion: Digest
    round: Round


class Answer(_Frame, frozen=True, tag=4):
    """The votes that a member holds in a talk.

    It is not signed: nothing rests on it but the asker's final vote.
    """

    motion: Digest
    round: Round
    votes: Votes


class Secret(_Frame, frozen=True, tag=2):
    """The votes that a member stores before it commits, and nobody sends."""

    motion: Digest
    poll: Number
    salt: Salt
    votes: Votes


class _Record(_Frame, frozen=True, tag=0):
    """``Told`` in a journal: what a member needs after a crash, however much it is.

    The limits of ``Told`` are part of its type: a frame of too many parts is refused before it is parsed.
    """

    motion: Digest
    said: tuple[Said, ...] = ()
    bodies: tuple[Body, ...] = ()
    reveals: tuple[Reveal, ...] = ()


_ENCODER: Final = msgspec.msgpack.Encoder()
Frame: TypeAlias = Told | Have | Ask | Answer
_WIRE: Final = msgspec.msgpack.Decoder(Frame)
_STORED: Final = msgspec.msgpack.Decoder(_Record | Secret)


def encoded(frame: Frame | Secret) -> bytes:
    """A frame as bytes."""
    return _ENCODER.encode(frame)


def read(frame: bytes) -> Frame:
    """The frame that a peer sent; ValueError if it is too long or none of ours."""
    if len(frame) > MOST_BYTES:
        raise ValueError(f"a frame must have at most {MOST_BYTES:,} bytes: got {len(frame):,}")
    found: Frame = _WIRE.decode(frame)
    return found


def read_stored(record: bytes) -> Told | Secret:
    """The frame that was written into the journal."""
    found: _Record | Secret = _STORED.decode(record)
    if isinstance(found, Secret):
        return found
    return Told(found.motion, found.said, found.bodies, found.reveals)


def read_exactly(decoder: msgspec.msgpack.Decoder[Read], data: bytes, what: str) -> Read:
    """The struct in these bytes; ValueError unless they are the one encoding of it."""
    found = decoder.decode(data)
    if _ENCODER.encode(found) != data:
        raise ValueError(f"{what} must be encoded in the one right way")
    return found


def told_of(motion: bytes, parts: Iterable[Part]) -> Told:
    """One frame, however long, that carries all of these."""
    sorts: tuple[list[Any], ...] = [], [], []
    for part in parts:
        sorts[0 if isinstance(part, Said) else 1 if isinstance(part, Body) else 2].append(part)
    return Told(motion, *map(tuple, sorts))


def split(motion: bytes, parts: Iterable[Part]) -> Iterator[Told]:
    """Frames of bounded size that carry all of these."""
    some: list[Part] = []
    size = 0
    for part in parts:
        bulk = part.body if isinstance(part, Body) else part.votes if isinstance(part, Reveal) else b""
        if some and (size + len(bulk) > _FULL or len(some) == MOST_PARTS):
            yield told_of(motion, some)
            some, size = [], 0
        size += len(bulk) + _AROUND
        some.append(part)
    if some:
        yield told_of(motion, some)
