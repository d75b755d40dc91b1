"""What a node holds on every input of a motion, and the signed form in which it tells it."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from folkmoot.arrays import Array, Colours
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.wire import statements
from folkmoot.protocols import SnowProtocol
from folkmoot.protocols.machine import machine_of
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


class Holding(ABC):
    """What one node holds: the same for whoever asks, with a higher version at every change."""

    def __init__(self, minutes: Minutes) -> None:
        self.heard_somebody = False  # has anybody been asked about it?
        self._minutes = minutes
        form = minutes.motion.form
        self._held: Array = form.opening(form.nothing(form.inputs))
        self._version = minutes.seat.incarnation * _INCARNATION
        self.told: Told | None = None  # what all are told, if somebody has asked since it changed

    @property
    def held(self) -> Array:
        """What it tells at present."""
        return self._held

    @property
    @abstractmethod
    def asking(self) -> bool:
        """Whether it has something left to ask."""

    @property
    @abstractmethod
    def counts(self) -> bool:
        """Whether answers that are the same as what it holds may still change something."""

    @abstractmethod
    def prepare(self) -> None:
        """What the talk needs and takes long."""

    @abstractmethod
    def begin_with(self, votes: Array) -> None:
        """Take these votes into the talk."""

    @abstractmethod
    def conclusion(self) -> Array:
        """What this node signs at the end of the talk."""

    def repeat(self, held: Array) -> None:
        """Tell what an earlier start of this node has signed."""
        self._held = held

    def change_to(self, held: Array) -> None:
        """Tell something else from now on."""
        self._held, self.told = held, None
        self._version += 1

    def told_to(self, peer: int) -> Told | None:  # noqa: ARG002 (whoever asks is told the same)
        """What a peer is told, signed; None is silence."""
        if self.told is None:
            self.told = self._sign(self._held)
        return self.told

    def _sign(self, held: Array) -> Told:
        minutes = self._minutes
        votes = minutes.motion.form.pack(held)
        digest = hashlib.sha256(votes).digest()
        said = statements.state(minutes.name, minutes.seat.place, self._version, digest)
        return Told(self._version, votes, minutes.seat.key.sign(said))


class Shown(Protocol):
    """What revealing needs of a stance: first votes as they are shown, and what is opened with."""

    @property
    def held(self) -> Array:
        """What it tells at present."""

    def begin_with(self, votes: Array) -> None:
        """Take these votes into the talk."""

    def change_to(self, held: Array) -> None:
        """Tell something else from now on."""

    def settle_threshold(self, peers: Sequence[Colours]) -> None:
        """Fix a local threshold, once, by the first votes of some peers."""


class Stance(Holding):
    """What one node holds in a motion about labels: colours, and the states of the protocol behind them."""

    def __init__(self, minutes: Minutes, rule: SnowProtocol[Any]) -> None:
        super().__init__(minutes)
        self.rule = rule
        self._opinions: Opinions | None = None

    @property
    def opinions(self) -> Opinions:
        """The states of the protocol; there are none before this node has voted."""
        assert self._opinions is not None  # noqa: S101
        return self._opinions

    @property
    def colours(self) -> Colours:
        """What it tells at present."""
        return self._held

    @property
    def asking(self) -> bool:
        """Whether the protocol has not decided every input."""
        return self.opinions.asking

    @property
    def counts(self) -> bool:
        """Whether the protocol counts rounds in a row."""
        return self.rule.decides

    def prepare(self) -> None:
        """Tabulate the rule, which is remembered: two seconds, with many labels."""
        machine_of(self.rule, self._minutes.motion.classes)

    def begin_with(self, votes: Array) -> None:
        """Take these votes into the talk."""
        self._opinions = Opinions(self.rule, self._minutes.motion.classes, votes)
        self._held = self._opinions.colours

    def settle_threshold(self, peers: Sequence[Colours]) -> None:
        """Fix a local threshold, once, by this node's first votes and those of some peers."""
        minutes = self._minutes
        if minutes.local is not None:
            form = minutes.motion.form
            first = form.first_colours(form.unpack_first(minutes.own.first))
            self.rule = minutes.motion.rule(minutes.local.alpha(first, peers))
            minutes.local = None

    def conclusion(self) -> Array:
        """What this node signs at the end of the talk."""
        judgement = self._minutes.judgement
        if judgement is not None and judgement.anchored:
            # It decided by itself before the talk, which may change only a little of that.
            return held_after(judgement.start, self.opinions.decisions, judgement.sure).astype(np.int8)
        if not self.heard_somebody:  # a first vote that nobody was asked about is no decision
            return np.full_like(self._held, UNCOLOURED)
        return self.opinions.decisions
