"""Members that break the rules of a motion, to test a moot with: a node whose transport twists what it sends.

Nothing in a node imports this: in production it has no way to lie. Each kind breaks one rule, and is a
``Transport`` around another one; ``MALICIOUS`` has them by name.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any, Final

import msgspec

from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.session.frames import Told, encoded, read
from folkmoot.node.session.statement import Kind, Said, words
from folkmoot.node.transports.transport import Transport
from folkmoot.node.wire.messages import SESSION, kind_of

_Transport: Any = (
    object  # for mypy; the methods of the protocol itself would hide those of the real transport
)
_CHOICES: Final = (Kind.COMMIT, Kind.PREVOTE, Kind.PRECOMMIT)


class MaliciousMember(ABC, _Transport):  # type: ignore[misc]
    """A member that breaks a rule in what it sends about motions.

    Parameters
    ----------
    transport : Transport
        The transport of the node.
    me : Identity
        The identity of the node.
    roster : Roster
        The members.
    """

    def __init__(self, transport: Transport[bytes], me: Identity, roster: Roster) -> None:
        self._transport, self._me = transport, me
        place = roster.position(me.fingerprint)
        if place is None:
            raise ValueError(f"a malicious member must be in the roster: {me.name!r} is not")
        self._place = place
        others = sorted(each.peer for each in roster)
        others.remove(bytes.fromhex(me.fingerprint))
        self.half = frozenset(others[::2])  # of the others

    @abstractmethod
    def twisted(self, peer: bytes, told: Told) -> Told | None:
        """The message to a peer in place of an honest one; None for none."""

    def send(self, peer: bytes, frame: bytes) -> None:
        """Send a frame, twisted."""
        if kind_of(frame) not in SESSION:
            self._transport.send(peer, frame)
            return
        message = read(frame)
        sent = self.twisted(peer, message) if isinstance(message, Told) else message
        if sent is not None:
            self._transport.send(peer, encoded(sent))

    def is_own(self, said: Said, *kinds: Kind) -> bool:
        """Whether it made this statement, and of these kinds."""
        return said.member == self._place and said.kind in kinds

    def instead(self, motion: bytes, said: Said) -> Said:
        """The same statement about nothing, signed."""
        value = hashlib.sha256(b"nothing" + said.value).digest()
        text = words(motion, said.member, said.slot, said.just, value)
        return msgspec.structs.replace(said, value=value, signature=self._me.key.sign(text))

    def __getattr__(self, name: str) -> Any:
        """All else is as in the transport."""
        return getattr(self._transport, name)


class Silent(MaliciousMember):
    """Takes frames and says nothing about any motion."""

    def twisted(self, peer: bytes, told: Told) -> Told | None:  # noqa: ARG002
        """Nothing."""
        return None


class TwoFaced(MaliciousMember):
    """Says one thing to one half of the others, and another to the other half."""

    def twisted(self, peer: bytes, told: Told) -> Told | None:
        """Other commitments, prevotes and precommits for one half."""
        if peer not in self.half:
            return told
        said = [
            self.instead(told.motion, each) if self.is_own(each, *_CHOICES) else each for each in told.said
        ]
        return msgspec.structs.replace(told, said=tuple(said))


class Withholding(MaliciousMember):
    """Commits to votes and never reveals them."""

    def twisted(self, peer: bytes, told: Told) -> Told | None:  # noqa: ARG002
        """Without its own votes."""
        kept = tuple(each for each in told.reveals if each.member != self._place)
        return msgspec.structs.replace(told, reveals=kept)


class Stalling(MaliciousMember):
    """Never proposes a set when it is its turn, and never agrees to one."""

    def twisted(self, peer: bytes, told: Told) -> Told | None:  # noqa: ARG002
        """Without its own proposals, prevotes and precommits."""
        kinds = (Kind.PROPOSE, Kind.PREVOTE, Kind.PRECOMMIT)
        kept = tuple(each for each in told.said if not self.is_own(each, *kinds))
        return msgspec.structs.replace(told, said=kept)


MALICIOUS: Final[dict[str, type[MaliciousMember]]] = {
    "silent": Silent,
    "two-faced": TwoFaced,
    "withholding": Withholding,
    "stalling": Stalling,
}
