"""What a node is made of, what it keeps beside each session, and what it keeps from roster to roster."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from folkmoot.network.service.check_rows import Contributor, LabelledRows
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.interfaces import AnyVoter, Inputs
from folkmoot.network.service.past_performance import PastPerformance
from folkmoot.network.session.minutes import Save, Seat
from folkmoot.network.session.opening import ShownRows
from folkmoot.network.session.phases import Phase
from folkmoot.network.session.session import Session
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.motion import Motion
from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.transport import Transport


@dataclass
class Running:
    """A session with what its driver keeps for it."""

    session: Session
    announce: m.Announce
    started: float
    confirmed: bool  # has its asker itself told us of it?
    answer_size: int  # bytes of what a peer is told, at most
    inputs: Inputs | None = None
    over: Callable[[Session, dict[str, Any]], None] | None = None
    shown: ShownRows | None = None  # the check rows that this node has sent for it
    wake: float = float("inf")
    cancel: Callable[[], None] | None = None
    sent: int = 0
    received: int = 0
    unsaved: list[Save] = field(default_factory=list)
    told: Counter[int] = field(default_factory=Counter)  # announcements that each peer had after the first
    fetched: Counter[int] = field(default_factory=Counter)  # chunks that each peer had
    jobs: list[tuple[Phase, Callable[[], None]]] = field(default_factory=list)  # until when, what cancels it


@dataclass(frozen=True)
class Parts:
    """What a node is made of."""

    seat: Seat
    roster: Roster
    storage: Storage
    transport: Transport[int]  # by places in the roster
    votes: AnyVoter
    rng: random.Random
    holdout: Holdout = field(default_factory=Holdout)
    past: PastPerformance | None = None  # of a weights file; instead of this node's own records
    rows: LabelledRows | None = None  # own labelled rows, of which check rows may be shown
    session: Callable[..., Session] = Session  # its part in a motion
    contributor: type[Contributor] = Contributor  # what shows check rows


@dataclass
class Lasting:
    """What a node keeps when it goes over from one roster to the next."""

    counts: Counter[str] = field(default_factory=Counter)
    by_peer: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rosters: dict[bytes, Roster] = field(default_factory=dict)  # that it has gone through, by digest
    held: set[bytes] = field(default_factory=set)  # digests of those in which it still plays

    def place_in(self, roster: Roster) -> Callable[[Motion], int | None]:
        """Says where the asker of a motion has its place in ``roster``, whichever it was put under."""
        moot = bytes.fromhex(roster.digest)
        places = {member.name: place for place, member in enumerate(roster)}

        def place_of(motion: Motion) -> int | None:
            if motion.moot == moot:
                return motion.asker
            old = self.rosters.get(motion.moot)
            known = old is not None and motion.asker < len(old)
            return places.get(old[motion.asker].name) if old is not None and known else None

        return place_of
