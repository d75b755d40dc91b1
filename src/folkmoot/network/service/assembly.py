"""A node in all rosters that it holds: a ``Node`` for each, and the way from one roster to the next.

A motion ends under the roster it was put under. So a node that goes over to a new roster keeps the old one,
and the connections of its members, until the motions under it are over; for ``GRACE`` seconds it also takes
part in new ones, since others may not know better yet. New motions of its own go under the newest roster.

Proposals and signatures are passed on as they come. Whoever has missed some says what it holds (``Held``):
when it reaches somebody, and now and then while something is proposed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from folkmoot.network.service.access import Limits
from folkmoot.network.service.driver import Observer
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.service.node import Node
from folkmoot.network.service.parts import Lasting
from folkmoot.network.service.roster_news import bits, known, more, successor
from folkmoot.network.session.minutes import Seat
from folkmoot.network.session.patience import Health
from folkmoot.network.session.session import Session
from folkmoot.network.storage.chronicle import Chronicle
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, motion_name, read_header
from folkmoot.node.log import Journal
from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.budget import Budget
from folkmoot.node.transports.places import Places
from folkmoot.node.transports.transport import Transport, Way

GRACE: Final = 60.0  # seconds in which motions under a roster that was replaced are still begun
NEWS: Final = (5.0, 300.0)  # successors that a peer may tell of: a second, and at once
REQUESTS: Final = (2.0, 60.0)  # times that a peer may say what it holds: a second, and at once
FANOUT: Final = 3  # others that are told at once what was learnt from a peer
SOONEST, LATEST = 1.0, 60.0  # seconds until others are told again what is held; the waits double
MEMORABLE: Final = 3600.0  # seconds for which others are told by themselves that a roster was replaced
_TAGS: Final = frozenset([bytes([16]), bytes([17])])  # of messages about rosters


@dataclass(frozen=True)
class Hall:
    """One roster in which this node has a place, and its node there."""

    roster: Roster
    node: Node
    places: Places


class Assembly:
    """One participant, through all rosters of its moot."""

    def __init__(
        self,
        chronicle: Chronicle,
        transport: Transport[bytes],
        fingerprint: str,
        make: Callable[[Roster, Places, Lasting], Node],
        *,
        rng: random.Random,
        hold: Callable[[Sequence[Roster], Sequence[bytes]], None] = lambda *_: None,
        journal: Journal | None = None,
    ) -> None:
        """``make`` makes a node for a roster; ``hold`` tells the transport whom to speak with."""
        self.chronicle, self.transport, self.storage = chronicle, transport, chronicle.storage
        self.since = transport.now()
        self._fingerprint, self._own = fingerprint, bytes.fromhex(fingerprint)
        self._make, self._hold, self._rng = make, hold, rng
        self._lasting = Lasting()
        self.counts = self._lasting.counts
        self._log = (journal or Journal("error")).bound(node=self._name())
        self._observers: list[Observer] = []
        self._accused = {(old.digest, statements.accused(proof)) for old, proof in chronicle.evidence()}
        self._news: dict[bytes, Budget] = {}
        self._requests: dict[bytes, Budget] = {}
        self._told = known(chronicle)
        self._wait = SOONEST
        self._cancel: Callable[[], None] | None = None
        self.halls: list[Hall] = []  # the newest first
        self._ways: dict[bytes, Way] = {}  # where the frames of each go, while one roster is held
        self._settle_halls(chronicle.open_moots())
        if not self.halls:
            raise ValueError("this node is in none of the rosters that it has gone through")
        transport.attach(self)

    # ---- one node, for whoever shows it ------------------------------------------------------

    @property
    def node(self) -> Node:
        """The node under the newest roster that has it."""
        return self.halls[0].node

    @property
    def present(self) -> bool:
        """Whether it takes part in the roster in force."""
        return self.halls[0].roster == self.chronicle.tip

    @property
    def roster(self) -> Roster:
        """The newest roster that has it."""
        return self.halls[0].roster

    @property
    def seat(self) -> Seat:
        """Who it is in that."""
        return self.node.seat

    @property
    def health(self) -> Health:
        """How peers of that answer."""
        return self.node.health

    @property
    def by_peer(self) -> Sequence[Counter[str]]:
        """What is counted of each member of that."""
        return self.node.by_peer

    @property
    def seen(self) -> Sequence[float | None]:
        """When each member of that last said something."""
        return self.node.seen

    def sessions(self) -> list[Session]:
        """The sessions of the motions under way, under whichever roster."""
        return [session for hall in self.halls for session in hall.node.sessions()]

    @property
    def open_motions(self) -> int:
        """Motions under way."""
        return len(self.sessions())

    def session(self, name: bytes) -> Session | None:
        """The session of a motion, while it is kept."""
        found = (hall.node.session(name) for hall in self.halls)
        return next((session for session in found if session is not None), None)

    def roster_of(self, moot: bytes) -> Roster:
        """The roster of a motion under way."""
        return self.node.roster_of(moot)

    def observe(self, observer: Observer) -> None:
        """Call ``observer`` whenever a session was settled, or who can be reached has changed."""
        self._observers.append(observer)
        for hall in self.halls:
            hall.node.observe(observer)

    def propose(
        self, motion: Motion, inputs: Inputs, over: Callable[[Session, dict[str, Any]], None]
    ) -> bytes:
        """Put a motion under the roster in force."""
        if not self.present:
            epoch = self.chronicle.tip.epoch
            raise ValueError(f"this node is not in the roster in force (epoch {epoch}), so it cannot ask")
        return self.node.propose(motion, inputs, over)

    def access_of(self, peer: int) -> tuple[bool, Limits, tuple[int, int]]:
        """Whether a member of that may ask this node, what a day, and its motions and rows of the last."""
        return self.node.access_of(peer)

    def accused(self) -> list[str]:
        """The names of those who have signed two successors of one roster."""
        rosters = {roster.digest: roster for roster in self.chronicle.rosters}
        return sorted({rosters[digest][place].name for digest, place in self._accused})

    # ---- its life ----------------------------------------------------------------------------

    def start(self) -> None:
        """Take up the motions that were under way, and say what is held."""
        for hall in self.halls:
            hall.node.start()
        self._say_if_absent()
        self._begin_telling()
        self._retire_later()

    def stop(self) -> None:
        """Store what others have said lately."""
        for hall in self.halls:
            hall.node.stop()

    def look_again(self) -> None:
        """Another process may have stored a proposal or a signature."""
        if self.chronicle.changed():
            self.refresh()

    def refresh(self) -> None:
        """Go by what is stored, and pass on what is new."""
        self.chronicle.refresh(self.transport.clock())
        if known(self.chronicle) != self._told:
            self._learnt(self._everybody())

    # ---- what the transport calls ------------------------------------------------------------

    def received(self, peer: bytes, frame: bytes) -> None:
        """A frame: about rosters, or for the node under the roster it belongs to."""
        way = self._ways.get(peer)
        if frame[1:2] in _TAGS:
            self._on_roster_frame(peer, frame)
        elif way is not None:
            way(frame)
        elif (hall := self._hall_for(peer, frame)) is not None:
            hall.places.received(peer, frame)

    def reached(self, peer: bytes) -> None:
        """A peer is there (again): it may have missed something."""
        for hall in self.halls:
            hall.places.reached(peer)
        if self.chronicle.tip.epoch or self.chronicle.proposals:
            self._send(peer, self._held())

    def unreachable(self, peer: bytes) -> None:
        """A peer that cannot be connected to."""
        for hall in self.halls:
            hall.places.unreachable(peer)

    def _hall_for(self, peer: bytes, frame: bytes) -> Hall | None:
        """Where a frame belongs: by its motion; where nobody knows it, the newest roster of its sender."""
        known = [hall for hall in self.halls if hall.places.place(peer) is not None]
        if not known:
            self._refuse(peer, "no_place")
            return None
        try:
            message = m.decode(frame)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return known[0]  # it counts what is malformed
        if isinstance(message, m.Announce):
            try:
                moot = read_header(message.header).moot.hex()
            except (msgspec.DecodeError, ValueError, TypeError):
                return known[0]
            hall = next((each for each in known if each.roster.digest == moot), known[0])
            late = self._replaced_for(hall.roster) >= GRACE
            if late and hall.node.session(motion_name(message.header)) is None:
                self._refuse(peer, "old_roster")
                return None
            return hall
        if isinstance(message, m.OfRosters):
            return known[0]
        return next((each for each in known if each.node.session(message.motion) is not None), known[0])

    # ---- rosters -----------------------------------------------------------------------------

    def _on_roster_frame(self, peer: bytes, frame: bytes) -> None:
        try:
            message = m.decode(frame)
        except (msgspec.DecodeError, ValueError, RecursionError):
            self._refuse(peer, "malformed")
            return
        if isinstance(message, m.Held):
            if self._pays(self._requests, REQUESTS, peer):
                self._on_held(peer, message)
        elif isinstance(message, m.Successor) and self._pays(self._news, NEWS, peer):
            self._on_successor(peer, message)

    def _pays(self, budgets: dict[bytes, Budget], rate: tuple[float, float], peer: bytes) -> bool:
        if budgets.setdefault(peer, Budget(*rate)).pay(self.transport.now()):
            self._refuse(peer, "too_often")
            return False
        return True

    def _on_held(self, peer: bytes, message: m.Held) -> None:
        """Tell a peer what it lacks; and what is held here, if it seems to have more."""
        rosters = {bytes.fromhex(roster.digest): roster for roster in self.chronicle.rosters}
        common = next((moot for moot in message.moots if moot in rosters), None)
        if common is None:
            self._refuse(peer, "another_roster")
            return
        link = self.chronicle.after(rosters[common])
        if link is not None:
            self._send(peer, successor(link))
            return
        theirs = dict(message.proposals) if message.moots[0] == common else {}
        lacking = message.moots[0] != common
        for proposal in self.chronicle.proposals:
            mine, its = bits(proposal), theirs.pop(proposal.succession.name, b"")
            if more(mine, its):
                self._send(peer, successor(proposal))
            lacking = lacking or more(its, mine)
        if lacking or theirs:
            self._send(peer, self._held())

    def _on_successor(self, peer: bytes, message: m.Successor) -> None:
        signatures = dict(message.signatures)
        clock = self.transport.clock()
        heard = self.chronicle.hear(message.previous, message.content, signatures, clock)
        if heard == "new":
            self._learnt(self._some(but=peer))
        elif heard == "unknown":  # this node has missed what came before
            self._send(peer, self._held())
        elif heard == "forged":
            self._refuse(peer, "forged_roster")
        elif heard == "old":
            self._refuse(peer, "old_roster")

    def _learnt(self, others: Iterable[bytes]) -> None:
        """Something new is stored: go over to a new roster, if there is one, and pass it on."""
        before, self._told = self._told, known(self.chronicle)
        gone = self._settle_halls()
        if before[0] != self._told[0]:
            self._say_if_absent()
        for old, proof in self.chronicle.evidence():
            place = statements.accused(proof)
            if (old.digest, place) not in self._accused:
                self._accused.add((old.digest, place))
                self.counts["evidence"] += 1
                against, what = old[place].name, statements.kind(proof)
                self._log("warning", "evidence", motion=old.digest, against=against, what=what)
        told = [p for p in self.chronicle.proposals if (p.succession.name, bits(p)) not in before[1]]
        if gone:  # all must know, those too that have left
            others = self._everybody()
            link = self.chronicle.after(self.chronicle.rosters[-2])
            told += [] if link is None else [link]
        for peer in others:
            for proposal in told:
                self._send(peer, successor(proposal))
        self._begin_telling()
        for observer in self._observers:
            observer(None)

    def _settle_halls(self, busy: Iterable[bytes] = ()) -> bool:
        """Hold the rosters that are needed, and no others; whether there is a new one."""
        clock, rosters = self.transport.clock(), self.chronicle.rosters
        kept = {hall.roster.digest: hall for hall in self.halls}
        under_way = {*busy, *(bytes.fromhex(h.roster.digest) for h in self.halls if h.node.lingers)}
        wanted = [
            roster
            for roster in reversed(rosters)
            if roster.position(self._fingerprint) is not None
            and (self._replaced_for(roster, clock) < GRACE or bytes.fromhex(roster.digest) in under_way)
        ]
        if not wanted:  # it has left, and nothing is under way: it stays where it was last
            wanted = [hall.roster for hall in self.halls[:1]]
            wanted = wanted or [r for r in reversed(rosters) if r.position(self._fingerprint) is not None][:1]
        self._lasting.rosters = {bytes.fromhex(each.digest): each for each in rosters}
        self._lasting.held = {bytes.fromhex(each.digest) for each in wanted}
        new = [roster for roster in wanted if roster.digest not in kept]
        gone = [hall for hall in self.halls if hall.roster not in wanted]
        if not new and not gone:
            return False
        for hall in gone:
            hall.node.stop()
        started = bool(self.halls)
        for roster in new:
            places = Places(self.transport, roster, attach=lambda _: None)
            node = self._make(roster, places, self._lasting)
            for observer in self._observers:
                node.observe(observer)
            kept[roster.digest] = Hall(roster, node, places)
            if started:
                node.start()
                n = len(roster)
                self._log("info", "roster in force", epoch=roster.epoch, moot=roster.digest, participants=n)
        self.halls = [kept[roster.digest] for roster in wanted]
        self._ways = self.halls[0].places.ways() if len(self.halls) == 1 else {}
        self._hold(wanted, self._moots())
        if started:
            self._retire_later()
        return bool(new)

    def _say_if_absent(self) -> None:
        if not self.present:
            tip = self.chronicle.tip
            self._log("warning", "not in the roster in force", epoch=tip.epoch, moot=tip.digest)

    def _retire_later(self) -> None:
        """Look again later whether an old roster is still needed."""
        if len(self.halls) > 1:
            when = self.transport.now() + GRACE / 4

            def look() -> None:
                self._settle_halls()
                self._retire_later()

            self.transport.later(when, look)

    def _replaced_for(self, roster: Roster, clock: float | None = None) -> float:
        """Seconds since a roster was replaced; less than none if it is in force."""
        rosters = self.chronicle.rosters
        place = next(i for i, each in enumerate(rosters) if each.digest == roster.digest)
        if place + 1 == len(rosters):
            return float("-inf")
        return (self.transport.clock() if clock is None else clock) - self.chronicle.since[place + 1]

    # ---- telling others ----------------------------------------------------------------------

    def _begin_telling(self) -> None:
        self._wait = SOONEST
        self._tell_later()

    def _tell_later(self) -> None:
        """While something is proposed, or was decided lately, others may have missed it: say what is held."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
        lately = self.chronicle.tip.epoch and (
            self.transport.clock() - self.chronicle.since[-1] < MEMORABLE and len(self.chronicle.rosters) > 1
        )
        if not self.chronicle.proposals and not lately:
            return

        def tell() -> None:
            self._wait = min(LATEST, 2 * self._wait)
            for peer in self._some():
                self._send(peer, self._held())
            self._tell_later()

        when = self.transport.now() + self._wait * self._rng.uniform(0.5, 1.0)
        self._cancel = self.transport.later(when, tell)

    def _moots(self) -> list[bytes]:
        return [bytes.fromhex(roster.digest) for roster in reversed(self.chronicle.rosters)]

    def _held(self) -> m.Held:
        proposals = self.chronicle.proposals[: m.MOST_PROPOSALS]
        told = tuple((each.succession.name, bits(each)) for each in proposals)
        return m.Held(tuple(self._moots()[: m.MOST_OLDER + 1]), told)

    def _everybody(self) -> list[bytes]:
        """All that this node may speak with: members of the rosters held, in order."""
        found = {bytes.fromhex(member.fingerprint) for hall in self.halls for member in hall.roster}
        return sorted(found - {self._own})

    def _some(self, but: bytes = b"") -> list[bytes]:
        others = [peer for peer in self._everybody() if peer != but]
        return self._rng.sample(others, min(FANOUT, len(others)))

    def _send(self, peer: bytes, message: m.Message) -> None:
        frame = m.encode(message)
        self.counts["frames_sent"] += 1
        self.counts["bytes_sent"] += len(frame)
        self.transport.send(peer, frame)

    def _refuse(self, peer: bytes, why: str) -> None:
        """Count what was not acted on."""
        self.counts[f"refused_{why}"] += 1
        self._lasting.by_peer[peer.hex()]["refused"] += 1

    def _name(self) -> str:
        rosters, own = reversed(self.chronicle.rosters), self._fingerprint
        return next((each[at].name for each in rosters if (at := each.position(own)) is not None), "")


AnyNode: TypeAlias = Node | Assembly
