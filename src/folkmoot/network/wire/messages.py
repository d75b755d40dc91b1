"""What nodes say to each other: msgpack arrays with a number in front, and nothing else is understood.

docs/wire.md describes every field. A message is small and flat on purpose: what is not exactly one of
these structures is refused by msgspec before any of our code sees it.
"""

from __future__ import annotations

from typing import Annotated, Final, Protocol, TypeAlias, TypeVar

import msgspec

from folkmoot.node.wire.messages import MOST_BYTES as MOST_BYTES
from folkmoot.node.wire.messages import MOST_OLDER as MOST_OLDER
from folkmoot.node.wire.messages import VERSION as VERSION
from folkmoot.node.wire.messages import Hello as Hello
from folkmoot.node.wire.messages import Message as Message

Digest: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Signature: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]
Place: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]  # in the roster
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
MOST_PROPOSALS: Final = 64  # for the next one
MOST_CHECK_ROWS: Final = 1000  # that a participant shows in a motion
LONGEST_REASON: Final = 300  # characters
Reason: TypeAlias = Annotated[str, msgspec.Meta(max_length=LONGEST_REASON)]


class Announce(Message, frozen=True, gc=False, tag=1):
    """Here is a motion; it ends in ``remaining`` seconds."""

    header: bytes
    signature: Signature
    remaining: float


class Unknown(Message, frozen=True, gc=False, tag=2):
    """I have not heard of that motion: announce it to me."""

    motion: Digest


class Fetch(Message, frozen=True, gc=False, tag=3):
    """Send me that chunk of the inputs."""

    motion: Digest
    index: Count


class Chunk(Message, frozen=True, gc=False, tag=4):
    """A chunk of the inputs."""

    motion: Digest
    index: Count
    data: bytes


class Commit(Message, frozen=True, gc=False, tag=5):
    """I have voted: this is the commitment to my first votes. ``want``: I do not have yours.

    In a motion with trust anybody may relay it to whoever holds another commitment of ``node``.
    """

    motion: Digest
    node: Place
    commitment: Digest
    signature: Signature
    want: bool


class Pending(Message, frozen=True, gc=False, tag=6):
    """I am here and have not voted yet."""

    motion: Digest


class Heard(Message, frozen=True, gc=False, tag=7):
    """What a third node told me: its state of that version had this digest. It signed so."""

    node: Place
    version: Count
    digest: Digest
    signature: Signature


class Ask(Message, frozen=True, gc=False, tag=8):
    """What do you hold on all inputs? ``heard`` lets the two of us find out who tells us different things."""

    motion: Digest
    round: Count
    heard: Heard | None


class Answer(Message, frozen=True, gc=False, tag=9):
    """What I hold, packed; the version counts how often it has changed."""

    motion: Digest
    round: Count
    version: Count
    votes: bytes
    signature: Signature


class Unready(Message, frozen=True, gc=False, tag=10):
    """I cannot answer that (yet): I have not voted, or you have not."""

    motion: Digest
    round: Count


class Close(Message, frozen=True, gc=False, tag=11):
    """What ``node`` held at the end, and the first votes that it had committed to. Anybody may relay it."""

    motion: Digest
    node: Place
    decisions: bytes
    salt: Digest
    first: bytes
    reason: Reason  # why it abstained, if it did
    signature: Signature


class Reveal(Message, frozen=True, gc=False, tag=13):
    """In a motion with trust: the first votes that I had committed to. ``want``: I do not have yours."""

    motion: Digest
    salt: Digest
    first: bytes
    signature: Signature
    want: bool


class Want(Message, frozen=True, gc=False, tag=12):
    """Send me the closes that I lack or that differ from mine.

    ``have`` holds eight bytes for every place of the roster: the beginning of the digest of the close
    that I have, or zeros.
    """

    motion: Digest
    have: Annotated[bytes, msgspec.Meta(max_length=1 << 15)]


class Refuse(Message, frozen=True, gc=False, tag=15):
    """I do not take part in that motion, and why; told to its asker, and to whoever speaks to me of it."""

    motion: Digest
    node: Place
    reason: Reason
    signature: Signature


class Marks(Message, frozen=True, gc=False, tag=14):
    """In a motion with trust: which commitments I held when my gathering ended. ``want``: tell me yours.

    ``marks`` holds eight bytes for every place of the roster: the beginning of a hash, salted by the sender,
    of the commitment that I held, or zeros.
    """

    motion: Digest
    salt: Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
    marks: Annotated[bytes, msgspec.Meta(max_length=1 << 15)]
    signature: Signature
    want: bool


class Held(Message, frozen=True, gc=False, tag=16):
    """The rosters that I have gone through, the newest first, and who has signed what is to come next.

    Of each proposal its name, and a bit for every place of the newest roster whose signature I have. Whoever
    has more tells me.
    """

    moots: Annotated[tuple[Digest, ...], msgspec.Meta(min_length=1, max_length=MOST_OLDER + 1)]
    proposals: Annotated[
        tuple[tuple[Digest, Annotated[bytes, msgspec.Meta(max_length=512)]], ...],
        msgspec.Meta(max_length=MOST_PROPOSALS),
    ]


class Successor(Message, frozen=True, gc=False, tag=17):
    """A roster that is to replace ``previous``, and signatures by place in that. Anybody may relay it."""

    previous: Digest
    content: bytes
    signatures: Annotated[tuple[tuple[Place, Signature], ...], msgspec.Meta(max_length=4096)]


class Invite(Message, frozen=True, gc=False, tag=30):
    """I am going to put a motion, and invite check rows; ``header`` is an ``Invitation``."""

    header: bytes
    signature: Signature


class Contribution(Message, frozen=True, gc=False):
    """Signed: I, ``node``, have sent so many check rows of this digest, and commit to their labels."""

    node: Place
    rows: Annotated[int, msgspec.Meta(ge=1, le=MOST_CHECK_ROWS)]
    digest: Digest
    commitment: Digest
    signature: Signature


class Rows(Message, frozen=True, gc=False, tag=31):
    """To the asker alone: check rows, as the invitation that stands for the motion wants them."""

    motion: Digest
    data: bytes
    contribution: Contribution


class Owned(Message, frozen=True, gc=False):
    """What one contributor has signed, and which of its rows were left out of the batch."""

    contribution: Contribution
    dropped: Annotated[
        tuple[Annotated[int, msgspec.Meta(ge=0, lt=MOST_CHECK_ROWS)], ...],
        msgspec.Meta(max_length=MOST_CHECK_ROWS),
    ]


class Owners(Message, frozen=True, gc=False, tag=32):
    """The asker, ``node``, opens its map: whose rows are where. Anybody may relay it."""

    motion: Digest
    node: Place
    seed: Digest
    owned: Annotated[tuple[Owned, ...], msgspec.Meta(max_length=4096)]
    signature: Signature


class Labels(Message, frozen=True, gc=False, tag=33):
    """The labels of the check rows that ``node`` sent, packed; none: it does not open them. Anybody may
    relay it.
    """

    motion: Digest
    invite: Digest
    node: Place
    salt: Digest
    labels: Annotated[bytes, msgspec.Meta(max_length=8 * MOST_CHECK_ROWS)]  # a number has eight bytes
    signature: Signature


class Unopened(Message, frozen=True, gc=False, tag=34):
    """Send me the map of owners, and labels: I have those of the places whose bits are set.

    Without any byte I do not have the map.
    """

    motion: Digest
    have: Annotated[bytes, msgspec.Meta(max_length=512)]


AnyMessage: TypeAlias = (
    Hello
    | Announce
    | Unknown
    | Fetch
    | Chunk
    | Commit
    | Pending
    | Marks
    | Reveal
    | Ask
    | Answer
    | Unready
    | Close
    | Want
    | Refuse
    | Held
    | Successor
    | Invite
    | Rows
    | Owners
    | Labels
    | Unopened
)
OfRosters: TypeAlias = Hello | Held | Successor | Invite  # those that belong to no motion
Wanting: TypeAlias = Want | Unopened  # short questions whose replies are long

_Read = TypeVar("_Read", covariant=True)


class Decoding(Protocol[_Read]):
    """A decoder of msgspec, of msgpack or of JSON."""

    def decode(self, data: bytes | memoryview, /) -> _Read:
        """What is in the data."""


_Kind = TypeVar("_Kind", bound=Message)
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(AnyMessage)
# ``encode`` and ``decode`` with a call less, for who needs them often, and catches RecursionError.
encode_frame: Final = _ENCODER.encode
decode_frame: Final = _DECODER.decode


def encode(message: Message) -> bytes:
    """A message as bytes."""
    return _ENCODER.encode(message)


def decode(data: bytes | memoryview) -> AnyMessage:
    """The message in ``data``; ValueError if there is none."""
    message: AnyMessage = decoded(_DECODER, data)
    return message


def decoded(decoder: Decoding[_Read], data: bytes | memoryview) -> _Read:
    """What a decoder reads; ValueError if that is nothing, also where it is nested without end."""
    try:
        return decoder.decode(data)
    except RecursionError:  # in a field that nobody knows, which is passed over
        raise ValueError("it is nested too deeply") from None


def decode_as(data: bytes, kind: type[_Kind]) -> _Kind:
    """The message of this kind in ``data``; ValueError if there is none."""
    message = decode(data)
    if not isinstance(message, kind):
        raise ValueError(f"a {kind.__name__} was expected: got a {type(message).__name__}")
    return message
