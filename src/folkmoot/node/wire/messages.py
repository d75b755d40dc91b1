"""Messages between nodes besides the frames of a session: greetings, motions, their inputs, and rosters.

Messages are msgpack arrays with a number in front. msgspec refuses what is not exactly one of them. A frame
says in its second byte what it is. Those about a motion name it next: ``kind_of`` and ``motion_in`` look
there, so that nothing has to be parsed of what is not wanted. 0 to 4 are frames of a session, 10 to 14
messages about motions, 16 to 19 are about rosters, 20 is a greeting.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec

from folkmoot.node.session.frames import MOST_BYTES as MOST_BYTES
from folkmoot.node.session.statement import MOST_MEMBERS, Digest, Place, Round, Signature, Signatures
from folkmoot.node.session.terms import MOST_LABELS, Label

Read = TypeVar("Read")

VERSION: Final = "folkmoot/3"  # negotiated in the TLS handshake (ALPN)
MOST_OLDER: Final = 15  # earlier rosters that a greeting names
MOST_HEADER: Final = MOST_BYTES - 200  # bytes of a motion that is announced
LONGEST_REASON: Final = 300
SESSION: Final = range(5)  # kinds of frames that a session reads
ROSTERS: Final = range(16, 20)  # kinds of frames about rosters
MOST_CONTENT: Final = (
    900 << 10
)  # bytes of a roster that is to follow: with the consents it must fit into a frame
MOST_TOLD: Final = 1024  # proposals that a node tells of, those with the most consents

_Content = Annotated[bytes, msgspec.Meta(max_length=MOST_CONTENT)]
_Bits = Annotated[bytes, msgspec.Meta(max_length=MOST_MEMBERS // 8)]
_Many = Annotated[Signatures, msgspec.Meta(max_length=MOST_MEMBERS)]


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


class Rosters(Message, frozen=True, gc=False, tag=16):
    """The roster that is in force at the sender, and who has consented to what is to follow it.

    Of each proposal its name, and a bit for every place of the roster. Place i is bit i % 8 of byte i // 8.
    """

    previous: Digest
    proposals: Annotated[tuple[tuple[Digest, _Bits], ...], msgspec.Meta(max_length=MOST_TOLD)] = ()


class Proposed(Message, frozen=True, gc=False, tag=17):
    """A successor, and consents to it; without its content for those who hold that already."""

    previous: Digest
    name: Digest
    content: _Content
    consents: _Many


class Agreeing(Message, frozen=True, gc=False, tag=18):
    """A frame of the agreement on what follows a roster, as a session sends it (``Told`` or ``Have``)."""

    previous: Digest
    frame: bytes


class Followed(Message, frozen=True, gc=False, tag=19):
    """The successor of a roster: its content, the consents, and the precommits of a quorum in a round."""

    previous: Digest
    content: _Content
    consents: _Many
    round: Round
    precommits: _Many


OfMotions: TypeAlias = Announce | Refuse | Fetch | Chunk | Knows
OfRosters: TypeAlias = Rosters | Proposed | Agreeing | Followed

_ENCODER: Final = msgspec.msgpack.Encoder()
_OF_MOTIONS: Final[msgspec.msgpack.Decoder[OfMotions]] = msgspec.msgpack.Decoder(OfMotions)
_OF_ROSTERS: Final[msgspec.msgpack.Decoder[OfRosters]] = msgspec.msgpack.Decoder(OfRosters)
_HELLO: Final = msgspec.msgpack.Decoder(Hello)


def encode(message: Message) -> bytes:
    """A message as bytes."""
    return _ENCODER.encode(message)


def decoded(decoder: msgspec.msgpack.Decoder[Read], frame: bytes) -> Read:
    """The message in a frame; ValueError if there is none."""
    try:
        return decoder.decode(frame)
    except RecursionError:
        raise ValueError("a message must not be nested") from None


def read_hello(frame: bytes) -> Hello:
    """The greeting in a frame; ValueError if there is none."""
    return decoded(_HELLO, frame)


def read_message(frame: bytes) -> OfMotions:
    """The message about motions in a frame; ValueError if there is none."""
    return decoded(_OF_MOTIONS, frame)


def read_of_rosters(frame: bytes) -> OfRosters:
    """The message about rosters in a frame; ValueError if there is none."""
    return decoded(_OF_ROSTERS, frame)


def refusal(motion: bytes, member: int, reason: str) -> bytes:
    """The bytes that a member signs to take no part in a motion."""
    return b"folkmoot/3 refuses\n" + motion + member.to_bytes(4, "big") + reason.encode()


def kind_of(frame: bytes) -> int:
    """Which kind of message a frame says it is."""
    return frame[1] if len(frame) > 1 else -1


def motion_in(frame: bytes) -> bytes:
    """Which motion a frame says it is about; no bytes if it does not say."""
    return frame[4:36] if frame[2:4] == b"\xc4\x20" and len(frame) >= 36 else b""
