"""What nodes send each other besides ``Told`` and ``Have``: greetings, motions, their inputs.

Messages are msgpack arrays with a number in front. msgspec refuses what is not exactly one of them.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from folkmoot.node.session.frames import MOST_BYTES as MOST_BYTES
from folkmoot.node.session.statement import Digest

VERSION: Final = "folkmoot/3"  # negotiated in the TLS handshake (ALPN)
MOST_OLDER: Final = 15  # earlier rosters that a greeting names


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Any of the messages below."""


class Hello(Message, frozen=True, gc=False, tag=20):
    """The first frame of a connection, both ways: the roster, and the sender's clock.

    ``older`` are the digests of the rosters before it, the newest first.
    """

    moot: Digest
    clock: float
    older: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=MOST_OLDER)] = ()


_ENCODER: Final = msgspec.msgpack.Encoder()
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
