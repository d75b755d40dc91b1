"""What a node holds on every input of a motion, and the signed form in which it tells it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.wire import statements
from folkmoot.network.wire.packing import pack, unpack
from folkmoot.protocols import SnowProtocol
from folkmoot.protocols.many import Opinions
from folkmoot.trust import held_after
from folkmoot.votes import UNCOLOURED

_INCARNATION: Final = 1 << 24  # versions of one start of the node


def is_first(version: int) -> bool:
    """Whether a peer that tells this version still holds what it began the talk with."""
    return version % _INCARNATION == 0


class Told(NamedTuple):
    """What a peer is told."""

    version: int
    votes: bytes  # packed
    signature: bytes


class Stance:
    """What one node holds: the same for whoever asks, with a higher version at every change."""

    def __init__(self, minutes: Minutes, rule: SnowProtocol[Any]) -> None:
        self.rule = rule
        self.heard_somebody = False  # has anybody been asked about it?
        self._minutes = minutes
        self._opinions: Opinions | None = None
        self._colours: Colours = np.full(minutes.motion.inputs, UNCOLOURED, dtype=np.int8)
        self._version = minutes.seat.incarnation * _INCARNATION
        self._told: Told | None = None

    @property
    def opinions(self) -> Opinions:
        """The states of the protocol; there are none before this node has voted."""
        assert self._opinions is not None  # noqa: S101
        return self._opinions

    @property
    def colours(self) -> Colours:
        """What it tells at present."""
        return self._colours

    def begin_with(self, votes: Colours) -> None:
        """Take these votes into the talk."""
        self._opinions = Opinions(self.rule, self._minutes.motion.classes, votes)
        self._colours = self._opinions.colours

    def settle_threshold(self, peers: Sequence[Colours]) -> None:
        """Fix a local threshold, once, by this node's first votes and those of some peers."""
        minutes = self._minutes
        if minutes.local is not None:
            first = unpack(minutes.own.first, minutes.motion.inputs, minutes.motion.classes)
            self.rule = minutes.motion.rule(minutes.local.alpha(first, peers))
            minutes.local = None

    def repeat(self, colours: Colours) -> None:
        """Tell what an earlier start of this node has signed."""
        self._colours = colours

    def change_to(self, colours: Colours) -> None:
        """Tell something else from now on."""
        self._colours, self._told = colours, None
        self._version += 1

    def told_to(self, peer: int) -> Told | None:  # noqa: ARG002 (whoever asks is told the same)
        """What a peer is told, signed; None is silence."""
        if self._told is None:
            self._told = self._sign(self._colours)
        return self._told

    def is_told(self, votes: bytes) -> bool:
        """Whether these packed votes are what peers are told at present."""
        return self._told is not None and self._told.votes == votes

    def conclusion(self) -> Colours:
        """What this node signs at the end of the talk."""
        judgement = self._minutes.judgement
        if judgement is not None and judgement.anchored:
            # It decided by itself before the talk, which may change only a little of that.
            return held_after(judgement.start, self.opinions.decisions, judgement.sure).astype(np.int8)
        if not self.heard_somebody:  # a first vote that nobody was asked about is no decision
            return np.full_like(self._colours, UNCOLOURED)
        return self.opinions.decisions

    def _sign(self, colours: Colours) -> Told:
        minutes = self._minutes
        votes = pack(colours, minutes.motion.classes)
        digest = hashlib.sha256(votes).digest()
        said = statements.state(minutes.name, minutes.seat.place, self._version, digest)
        return Told(self._version, votes, minutes.seat.key.sign(said))
