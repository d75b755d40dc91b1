"""The context of a node: the world, storage and model that all its motions share."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.holdout import Holdout
from folkmoot.node.service.interface import Meter
from folkmoot.node.service.models import Model
from folkmoot.node.service.policy import Policy
from folkmoot.node.service.scheduling import Scheduler
from folkmoot.node.storage.retention import DISK
from folkmoot.node.storage.storage import Storage
from folkmoot.node.transports.transport import Transport
from folkmoot.texts.choosing import Choose

DELTA: Final = 0.25  # seconds that a frame takes at the most, while all is well

Hold: TypeAlias = Callable[[Sequence[Roster], Sequence[bytes]], None]


@dataclass(frozen=True, eq=False)
class Own:
    """A node's private knowledge for its votes."""

    model: Model  # answers inputs (``models.load_model``)
    # Labelled rows that the model has not seen, or its answers to such rows (``holdout.read_holdout``).
    holdout: Holdout = field(default_factory=Holdout)
    # What members' votes weigh where this node asks for weights, by fingerprint, from a weights file;
    # with none they follow from the truths that this node was told.
    weights: dict[str, float] = field(default_factory=dict)
    # How it chooses among proposed texts. A model that takes no prompts stays with its own text.
    choose: Choose = "own-model"


@dataclass(frozen=True)
class Settings:
    """Settings that an operator may choose, and a test may replace."""

    policy: Policy = field(default_factory=Policy)  # which motions the node takes part in
    disk: int = DISK  # bytes that what it stores may take
    # Seconds that a frame takes at the most, while all is well. A larger one makes motions with a
    # silent member slower, and one that is too small may leave out slow members.
    delta: float = DELTA
    randbytes: Callable[[int], bytes] = os.urandom  # gives so many secret random bytes


@dataclass
class NodeContext:
    """The world, storage and model with which one node's motions run."""

    me: Identity
    storage: Storage
    transport: Transport[bytes]
    settings: Settings
    own: Own
    scheduler: Scheduler
    log: Callable[..., None]
    meter: Meter | None
    changed: Callable[[bytes | None], None]  # told that something of a motion, or of the node, is another
    counts: Counter[str] = field(default_factory=Counter)
    by_peer: dict[bytes, Counter[str]] = field(default_factory=dict)
    broken: bool = False  # nothing can be stored, so nothing may be said

    def send(self, peer: bytes, frame: bytes) -> None:
        """Send a frame, counted."""
        self.counts["frames_sent"] += 1
        self.counts["bytes_sent"] += len(frame)
        self.transport.send(peer, frame)

    def of(self, peer: bytes) -> Counter[str]:
        """The counters of a peer."""
        return self.by_peer.setdefault(peer, Counter())

    def refuse(self, peer: bytes, why: str, **more: Any) -> None:
        """Count what was not acted on."""
        self.counts[f"refused_{why}"] += 1
        self.of(peer)["refused"] += 1
        self.log("debug", "refused", peer=peer.hex()[:16], why=why, **more)
