"""Frames between nodes about rosters: the kinds 16 to 19. Each names a roster."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec

from folkmoot.node.rosters.chronicle import Signed
from folkmoot.node.rosters.successor import MOST_CONTENT
from folkmoot.node.session.statement import MOST_MEMBERS, Digest, Round
from folkmoot.node.wire.messages import Message

MOST_TOLD: Final = 1024  # proposals that a node tells of, those with the most consents

_Content = Annotated[bytes, msgspec.Meta(max_length=MOST_CONTENT)]
_Bits = Annotated[bytes, msgspec.Meta(max_length=MOST_MEMBERS // 8)]
_Many = Annotated[Signed, msgspec.Meta(max_length=MOST_MEMBERS)]


class Rosters(Message, frozen=True, gc=False, tag=16):
    """The roster that is in force at the sender, and who has consented to what is to follow it.

    Of each proposal its name, and a bit for every place of the roster: place i is bit i % 8 of byte i // 8.
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
    """The roster that followed another: its content, the consents, and precommits of a quorum."""

    previous: Digest
    content: _Content
    consents: _Many
    round: Round
    precommits: _Many


OfRosters: TypeAlias = Rosters | Proposed | Agreeing | Followed
_DECODER: Final = msgspec.msgpack.Decoder(OfRosters)


def read(frame: bytes) -> OfRosters:
    """The message about rosters in a frame; ValueError if there is none."""
    try:
        found: OfRosters = _DECODER.decode(frame)
    except RecursionError:
        raise ValueError("a message must not be nested") from None
    return found
