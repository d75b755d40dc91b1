"""Frames between nodes besides those of a session: greetings, motions, their inputs.

Messages are msgpack arrays with a number in front. msgspec refuses what is not exactly one of them. A frame
says in its second byte what it is, and those about a motion name it next: ``kind_of`` and ``motion_in`` look
there, so that nothing has to be parsed of what is not wanted. 0 to 4 are frames of a session, 10 to 14
messages about motions, 16 to 19 are about rosters, 20 is a greeting.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec

from folkmoot.node.session.frames import MOST_BYTES as MOST_BYTES
from folkmoot.node.session.statement import Digest, Place, Signature
from folkmoot.node.session.terms import MOST_LABELS, Label

VERSION: Final = "folkmoot/3"  # negotiated in the TLS handshake (ALPN)
MOST_OLDER: Final = 15  # earlier rosters that a greeting names
MOST_HEADER: Final = MOST_BYTES - 200  # bytes of a motion that is announced
LONGEST_REASON: Final = 300
SESSION: Final = range(5)  # kinds of frames that a session reads
ROSTERS: Final = range(16, 20)  # kinds of frames about rosters


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Any of the messages below."""


class Hello(Message, frozen=True, gc=False, tag=20):
    """The first frame of a connection, both ways: the roster, and the sender's clock.

    ``older`` are the digests of the rosters before it, the newest first.
    """

    moot: Digest
    clock: float
    older: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=MOST_OLDER)] = ()


class Announce(Message, frozen=True, gc=False, tag=10):
    """A motion: its header, signed by its asker, and in how many seconds that stops waiting."""

    header: Annotated[bytes, msgspec.Meta(max_length=MOST_HEADER)]
    signature: Signature
    remaining: float


class Refuse(Message, frozen=True, gc=False, tag=11):
    """A member takes no part in a motion, or has no votes, and why. Signed; a commitment cancels it."""

    motion: Digest
    member: Place
    reason: Annotated[str, msgspec.Meta(max_length=LONGEST_REASON)]
    signature: Signature

    @property
    def words(self) -> bytes:
        """The bytes that are signed."""
        return refusal(self.motion, self.member, self.reason)


class Fetch(Message, frozen=True, gc=False, tag=12):
    """Send me inputs of a motion; -1: its announcement."""

    motion: Digest
    index: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 20)]


class Chunk(Message, frozen=True, gc=False, tag=13):
    """Inputs of a motion, as the header names them by their hash."""

    motion: Digest
    index: Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)]
    data: bytes


class Knows(Message, frozen=True, gc=False, tag=14):
    """Which labels the sender's model knows; None: it does not say."""

    labels: Annotated[tuple[Label, ...], msgspec.Meta(max_length=MOST_LABELS)] | None


OfMotions: TypeAlias = Announce | Refuse | Fetch | Chunk | Knows

_ENCODER: Final = msgspec.msgpack.Encoder()
_OF_MOTIONS: Final = msgspec.msgpack.Decoder(OfMotions)
_HELLO: Final = msgspec.msgpack.Decoder(Hello)


def encode(message: Message) -> bytes:
    """A message as bytes."""
    return _ENCODER.encode(message)


def read_hello(frame: bytes) -> Hello:
    """The greeting in a frame; ValueError if there is none."""
    try:
        return _HELLO.decode(frame)
    except RecursionError:
        raise ValueError("a greeting must not be nested") from None


def read_message(frame: bytes) -> OfMotions:
    """The message about motions in a frame; ValueError if there is none."""
    try:
        found: OfMotions = _OF_MOTIONS.decode(frame)
    except RecursionError:
        raise ValueError("a message must not be nested") from None
    return found


def refusal(motion: bytes, member: int, reason: str) -> bytes:
    """The bytes that a member signs to take no part in a motion."""
    return b"folkmoot/3 refuses\n" + motion + member.to_bytes(4, "big") + reason.encode()


def kind_of(frame: bytes) -> int:
    """Which kind of message a frame says it is."""
    return frame[1] if len(frame) > 1 else -1


def motion_in(frame: bytes) -> bytes:
    """Which motion a frame says it is about; no bytes if it does not say."""
    return frame[4:36] if frame[2:4] == b"\xc4\x20" and len(frame) >= 36 else b""
