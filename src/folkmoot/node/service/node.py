"""A running node: it drives the motions of its moot, with what a transport, a clock and a storage give it.

``Node`` has no sockets, files or processes of its own. A real node and one of a test are made of the same
parts: another ``Transport``, another path of the ``Storage``. A motion that is under way is a
``RunningMotion``. The common parts are here: frames find their motion, motions are heard of, put, taken up
again, let go.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from folkmoot import __version__
from folkmoot.node.log import Journal
from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.review import reviewed
from folkmoot.node.rosters.exchange import RosterExchange
from folkmoot.node.service.admission import (
    ANNOUNCEMENTS,
    LOOKED_BACK,
    MOST_OPEN,
    MOST_OPEN_EACH,
    Admission,
    Admitted,
)
from folkmoot.node.service.archive import NodeArchive
from folkmoot.node.service.context import Hold, NodeContext, Own, Settings
from folkmoot.node.service.interface import (
    Checked,
    Column,
    Live,
    Meter,
    ModelFacts,
    NotFoundError,
    PeerStatus,
    Status,
)
from folkmoot.node.service.own_motions import OwnMotions, QueuedMotion
from folkmoot.node.service.running_motion import RunningMotion
from folkmoot.node.service.scheduling import Scheduler
from folkmoot.node.service.status import live_of, live_of_waiting, motion_status, opening_of, undecided_of
from folkmoot.node.session.frames import MOST_BYTES
from folkmoot.node.session.header import Header, motion_of
from folkmoot.node.session.statement import asked
from folkmoot.node.session.terms import LONGEST_LABEL, MOST_LABELS, RULES, Terms
from folkmoot.node.storage.database import DamagedError
from folkmoot.node.storage.retention import Watermarks, until
from folkmoot.node.storage.storage import Part, Storage
from folkmoot.node.transports.transport import Transport
from folkmoot.node.wire import messages as m
from folkmoot.node.wire.batch import Batch

LEAST_FREE: Final = 256 << 20  # bytes of the disk that are left to others
TEND_SECONDS: Final = 5.0
MOST_INQUIRED: Final = 1000
LOST: Final = "this node was started again before the rows had come: ask again"
MOST_EARLY: Final = (32, 1 << 16)  # frames of a peer that overtook the announcement of their motion; bytes
_HAVE: Final = 1  # the kind of frames that ask for what was lost
_LONG: Final = (10, 14)  # announcements and labels: what grows with content is counted before it is read


class Node:
    """A running node, with the ``archive`` of the same storage.

    Make it, call ``start`` once the transport can send, and ``stop`` before the storage is closed. All calls
    come from one thread, that of the transport's clock; ``put``, ``check`` and ``reload`` are coroutines.

    - The storage was looked through (``open_storage``), and nobody else writes motions to it.
    - The transport knows peers by the fingerprints of their certificates. The node attaches itself.
    - ``start`` starts ``exchange`` and hands it frames about rosters; somebody else calls ``look_again``.
    - ``load`` loads model, holdout and weights: at once, and again on ``reload``. A ValueError or OSError
      that it raises comes out of the constructor, and of ``reload`` as a ValueError; the old ones stay.
    - ``hold`` (``Mesh.hold``) is called at the start and when another roster is in force.
    """

    def __init__(
        self,
        me: Identity,
        storage: Storage,
        transport: Transport[bytes],
        archive: NodeArchive,
        exchange: RosterExchange,
        load: Callable[[], Own],
        *,
        hold: Hold | None = None,
        settings: Settings | None = None,
        meter: Meter | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.archive = archive
        self.incarnation = 0
        settings, own, log = settings or Settings(), load(), (journal or Journal("error")).bound(node=me.name)
        scheduler = Scheduler(own.model, transport, meter)
        self._context = NodeContext(
            me, storage, transport, settings, own, scheduler, log, meter, self._tell_observers
        )
        self._exchange, self._load, self._hold = exchange, load, hold
        self._admission = Admission(
            me, exchange.rosters[-1], transport, own.model, settings.policy, settings.disk
        )
        self._own_motions = OwnMotions(self._context, self._admission, self)
        self._early = EarlyFrames()
        self._observers: list[Callable[[bytes | None], None]] = []
        self._running: dict[bytes, RunningMotion] = {}
        self._held = 0  # rosters that the transport was told of
        self._knows: dict[bytes, tuple[str, ...] | None] = {}  # labels, as peers announced them
        self._seen: dict[bytes, float] = {}
        self._told: Counter[tuple[bytes, bytes]] = Counter()  # announcements, by motion and peer
        self._inquired: dict[tuple[bytes, bytes], float] = {}
        self._began = transport.now()
        self._stopped = False
        self._take_rosters()

    # ---- the node's own life -----------------------------------------------------------------

    def start(self) -> None:
        """Take up the motions that were open when this node last stopped, and take in what arrives."""
        context = self._context
        clock = context.transport.clock()
        self.incarnation = context.storage.start(clock)
        rosters = {roster.moot: roster for roster in self._exchange.rosters}
        self._admission.remember(context.storage.since(clock - LOOKED_BACK), rosters)
        self._exchange.start(self._roster_changed)
        context.transport.attach(self)
        for name in context.storage.names("open"):
            try:
                self._take_up(name)
            except DamagedError as error:
                context.log("error", "damaged motion", motion=name.hex(), why=str(error))
        self._own_motions.take_up()
        self._tend()

    def stop(self) -> None:
        """Say nothing any more; what is stored is taken up by the next start."""
        self._stopped = True
        self._own_motions.waiting.clear()
        for running in self._running.values():
            running.drop()

    def _take_up(self, name: bytes) -> RunningMotion | None:
        """Go on with a motion from its journal; None if this node has no part in it any more."""
        context = self._context
        now, clock = context.transport.now(), context.transport.clock()
        stored = context.storage.motion(name)
        header = stored.header
        roster = next((each for each in self._exchange.rosters if each.moot == header.moot), None)
        place = None if roster is None else roster.position(context.me.fingerprint)
        if roster is None or place is None:
            context.storage.stop(name, "its roster is not one of this node any more", clock)
            return None
        if header.invites and header.asker == place and stored.state == "open":
            context.storage.stop(name, LOST, clock)
            return None
        remaining = min(stored.ends - clock, header.terms.seconds)  # clocks are set back, too
        announce = m.Announce(stored.data, stored.signature, remaining)
        batch = self._own_motions.kept(name, header) if header.asker == place else None
        if stored.state == "open":
            context.log("info", "motion taken up again", motion=name.hex(), remaining=round(remaining, 3))
        running = RunningMotion(
            context, self._over, roster, place, announce, header, ends=now + remaining,
            records=context.storage.journal(name), part=stored.part,
            is_over=stored.state != "open", batch=batch,
        )  # fmt: skip
        self._running[name] = running
        running.settle()
        if roster is not self.roster:
            running.roster_ended()
        return running

    def _tend(self) -> None:
        """Forget what need not be kept, and give up what nobody would finish any more."""
        context = self._context
        if self._stopped or context.broken:
            return
        now, clock = context.transport.now(), context.transport.clock()
        try:
            context.storage.tend(clock, Watermarks(context.settings.disk, LEAST_FREE))
        except DamagedError as error:
            context.log("error", "damaged database", why=str(error))
        for name, running in list(self._running.items()):
            if running.motion.answer is None and clock > until(running.header):
                running.stop("it was not decided, and is too old")
            if running.stopped or (running.motion.answer is not None and now > running.lingers_until):
                running.drop()
                del self._running[name]
                for key in [key for key in self._told if key[0] == name]:
                    del self._told[key]
        context.transport.later(now + TEND_SECONDS, self._tend)

    # ---- rosters -----------------------------------------------------------------------------

    @property
    def roster(self) -> Roster:
        """The one in force."""
        return self._exchange.rosters[-1]

    def _take_rosters(self) -> None:
        """Speak with the members of the roster in force, and with nobody else."""
        rosters = list(self._exchange.rosters)
        self._held = len(rosters)
        if self._hold is not None:
            self._hold(rosters[-1:], [each.moot for each in reversed(rosters)])

    def _roster_changed(self) -> None:
        """A proposal, or the roster in force, is another. The motions of the one before end."""
        if len(self._exchange.rosters) > self._held:
            self._take_rosters()
            self._admission.enter(self.roster)
            for running in list(self._running.values()):
                if running.roster is not self.roster:
                    running.roster_ended()
            self._own_motions.go_on()
        self._tell_observers(None)

    # ---- what the transport calls ------------------------------------------------------------

    def received(self, peer: bytes, frame: bytes) -> None:
        """A frame of a peer, known by its fingerprint: taken in, or counted and dropped."""
        context = self._context
        if context.broken or self._stopped:
            return
        context.counts["frames_received"] += 1
        context.counts["bytes_received"] += len(frame)
        context.of(peer)["frames"] += 1
        self._seen[peer] = context.transport.clock()
        kind = m.kind_of(frame)
        if kind in m.ROSTERS:
            self._exchange.received(peer, frame)
            return
        if kind in _LONG and not self._admission.hears(peer, len(frame)):
            context.refuse(peer, "too_often")
            return
        self._take_in(peer, frame)

    def _take_in(self, peer: bytes, frame: bytes) -> None:
        """A frame about motions; what is none of ours is counted."""
        context, kind = self._context, m.kind_of(frame)
        try:
            if kind in m.SESSION:
                self._of_session(peer, kind, frame)
            else:
                self._of_motions(peer, m.read_message(frame))
        except (ValueError, RecursionError) as error:
            context.refuse(peer, "malformed", detail=str(error))

    def reached(self, peer: bytes) -> None:
        """There is a connection with a peer: it may have missed something."""
        if self._context.broken or self._stopped:
            return
        self._exchange.reached(peer)
        self._say_labels(peer)
        for running in self._running.values():
            place = running.roster.places.get(peer)
            own = running.header.asker == running.place and not running.is_over
            if own and place is not None and place not in running.committed:
                self._tell_of(running, peer, place)
        self._tell_observers(None)

    def unreachable(self, peer: bytes) -> None:  # noqa: ARG002
        """A peer that cannot be connected to at present."""
        self._tell_observers(None)

    def _of_session(self, peer: bytes, kind: int, frame: bytes) -> None:
        name = m.motion_in(frame)
        running = self._running.get(name)
        if running is None:
            running = self._stranger(peer, kind, name, frame)
        place = None if running is None else running.roster.places.get(peer)
        if running is not None and place is not None:
            running.received(place, frame)

    def _stranger(self, peer: bytes, kind: int, name: bytes, frame: bytes) -> RunningMotion | None:
        """About a motion that is not under way here: an old one, or one that this node has not heard of."""
        context = self._context
        if not context.storage.knows(name):
            refused = self._admission.refused(name)
            if refused is None:
                self._early.keep(peer, name, frame)
                self._inquire(peer, name)
            return None
        if kind != _HAVE or not self._admission.favour(peer, MOST_BYTES):
            context.counts["refused_old_motion"] += 1
            return None
        try:
            return self._take_up(name) if context.storage.motion(name).state == "decided" else None
        except DamagedError:
            context.refuse(peer, "damaged_motion")
            return None

    def _inquire(self, peer: bytes, name: bytes) -> None:
        """Ask a peer for the announcement of a motion, but not all the time."""
        now = self._context.transport.now()
        if now >= self._inquired.get((peer, name), float("-inf")):
            if len(self._inquired) > MOST_INQUIRED:
                self._inquired.clear()
            self._inquired[peer, name] = now + self._context.settings.delta
            self._context.send(peer, m.encode(m.Fetch(name, -1)))

    def _of_motions(self, peer: bytes, message: m.OfMotions) -> None:
        if isinstance(message, m.Announce):
            self._on_announce(peer, message)
            return
        if isinstance(message, m.Knows):
            self._knows[peer] = message.labels
            self._tell_observers(None)
            return
        running = self._running.get(message.motion)
        place = None if running is None else running.roster.places.get(peer)
        if running is None or place is None:
            self._context.counts["refused_old_motion"] += 1
        elif isinstance(message, m.Refuse):
            running.refused(place, message)
        elif isinstance(message, m.Chunk):
            running.chunk(place, message)
        elif message.index < 0:
            self._tell_of(running, peer, place)
        elif self._admission.favour(peer, running.header.chunk_bytes):
            running.fetched(place, message.index)
        else:
            self._context.refuse(peer, "too_often")

    def _tell_of(self, running: RunningMotion, peer: bytes, place: int) -> None:
        """Announce a motion to a peer that has missed it; not for ever, since headers may be long."""
        self._told[running.name, peer] += 1
        often = self._told[running.name, peer] > ANNOUNCEMENTS
        if often or not self._admission.favour(peer, len(running.announce.header)):
            self._context.refuse(peer, "too_often")
        else:
            running.tell(place)

    def _on_announce(self, peer: bytes, message: m.Announce) -> None:
        context, name = self._context, motion_of(message.header)
        running = self._running.get(name)
        if running is not None:
            if running.asker == peer:
                running.announced_until(message.remaining)
            return
        known = self._admission.refused(name)
        if known is not None:
            context.send(peer, m.encode(known))
            return
        if context.storage.knows(name):
            return
        verdict = self._admission.admit(peer, message, self.under_way(), has_room=context.storage.has_room)
        if isinstance(verdict, Admitted):
            if context.storage.has_forgotten(verdict.header):
                context.refuse(peer, "announcement")
                return
            if not verdict.confirmed:
                self._inquire(verdict.asker, name)
            running = self._open(self.roster, message, verdict.header, verdict.remaining)
            running.confirmed = verdict.confirmed
            return
        context.refuse(peer, verdict.kind, detail=verdict.detail)
        if verdict.tell is None or verdict.asker is None:
            return
        context.log(
            "info", "motion refused", motion=name.hex(), why=verdict.tell.reason, detail=verdict.detail
        )
        context.send(verdict.asker.peer, m.encode(verdict.tell))
        if verdict.noted:
            asker = verdict.asker.name
            context.storage.refused(name, asker, verdict.tell.reason, context.transport.clock())

    # ---- motions -----------------------------------------------------------------------------

    def _open(
        self, roster: Roster, announce: m.Announce, header: Header, remaining: float,
        queued: QueuedMotion | None = None,
    ) -> RunningMotion:  # fmt: skip
        """Store a motion, tell others if it is this node's, and begin to take part in it."""
        context, name = self._context, motion_of(announce.header)
        now, clock = context.transport.now(), context.transport.clock()
        own = roster.position(context.me.fingerprint)
        assert own is not None  # noqa: S101 (motions are admitted and put by members)
        members = [(member.fingerprint, member.name) for member in roster]
        context.storage.open_motion(
            name, announce.header, announce.signature, members, roster.faults, clock, clock + remaining
        )
        part = Part() if queued is None else queued.part
        if queued is not None:
            context.storage.amend(name, fell_back=part.fell_back, order=part.order)
            frame = m.encode(announce)
            for place, peer in enumerate(roster.peers):
                if place != own:
                    context.send(peer, frame)
        context.log("info", "motion heard" if queued is None else "motion put", motion=name.hex())
        running = RunningMotion(
            context, self._over, roster, own, announce, header, ends=now + remaining, part=part,
            batch=None if queued is None else queued.batch,
        )  # fmt: skip
        self._running[name] = running
        running.settle()
        for peer, frame in self._early.take(name):
            self._take_in(peer, frame)
        return running

    def open_own(self, queued: QueuedMotion) -> RunningMotion:
        """Put a motion of this node."""
        data, seconds = queued.header.encoded(), queued.header.terms.seconds
        signature = self._context.me.key.sign(asked(motion_of(data)))
        return self._open(queued.roster, m.Announce(data, signature, seconds), queued.header, seconds, queued)

    def under_way(self) -> list[RunningMotion]:
        """The motions that somebody waits for."""
        return [running for running in self._running.values() if not running.is_over]

    def announced_labels(self) -> list[Sequence[str]]:
        """The labels of the models of other members, as they announced them."""
        own = self._context.own.model.labels
        found = [self._knows.get(peer) or () for peer in self.roster.peers]
        return [*found, own or ()]

    def _over(self, running: RunningMotion) -> None:
        """A motion is over: it was decided, or its asker waits no longer."""
        context, header = self._context, running.header
        context.counts["motions_over"] += 1
        seconds = context.transport.now() - running.began
        if not header.invites:
            undecided = undecided_of(header, running.motion.answer)
            context.counts["inputs_undecided"] += undecided
            if context.meter is not None:
                context.meter.motion_over(header.asked, undecided, seconds)
            self._count_abstained(running)
        if header.asker == running.place:
            # Not at once: it may be over while it is being put.
            context.transport.later(context.transport.now(), lambda: self._own_motions.over(running))

    def _count_abstained(self, running: RunningMotion) -> None:
        tables, header = running.motion.tables, running.header
        if not tables:
            return
        first = reviewed(header, tables[0], len(running.roster))
        if first.asked is not None:
            many = first.form.voted(first.asked).sum(axis=1)
            for member in tables[0]:
                self._context.of(running.roster.peers[member])["abstained"] += int(
                    many[member] < header.asked
                )

    # ---- what is asked of it -----------------------------------------------------------------------------

    def find(self, prefix: str) -> bytes:
        """The motion whose name begins so, also one that waits for its place."""
        waiting = [
            queued.name for queued in self._own_motions.waiting if queued.name.hex().startswith(prefix)
        ]
        if len(waiting) == 1 and len(prefix) >= 4:
            return waiting[0]
        return self.archive.find(prefix)

    async def put(self, batch: Batch, terms: Terms) -> bytes:
        """Put a motion; its name. One that finds no place waits for it."""
        return await self._own_motions.put(batch, terms)

    async def check(self, batch: Batch, terms: Terms) -> Checked:
        """The node's check of inputs and terms; nothing is put, and nobody else is told."""
        return self._own_motions.check(batch, terms)

    async def reload(self) -> ModelFacts:
        """Load model, holdout and weights again; ValueError if that cannot be: the old ones stay."""
        context = self._context
        try:
            own = await asyncio.to_thread(self._load)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise ValueError(f"the model cannot be loaded: {where}{error.strerror or error}") from None
        context.own = own
        context.scheduler.swap(own.model)
        self._admission.model = own.model
        for peer in context.transport.connected():
            self._say_labels(peer)
        self._tell_observers(None)
        return self.facts()

    def facts(self) -> ModelFacts:
        """Inputs and answers of its own model."""
        model = self._context.own.model
        kinds = model.kinds()
        columns = [Column(*msgspec.structs.astuple(each)) for each in model.schema]
        rules = list(dict.fromkeys(rule for kind in kinds for rule in RULES[kind]))
        return ModelFacts(model.labels, columns, model.columns, kinds, rules)

    def live(self, motion: bytes) -> Live | None:
        """A motion under way, or waiting for its place; None if it is over for this node."""
        queued = self._own_motions.waits(motion)
        if queued is not None:
            return live_of_waiting(queued)
        running = self._running.get(motion)
        if running is None or running.is_over:
            return None
        return live_of(running, self._context.transport.now())

    def opening(self, motion: bytes) -> dict[str, Any]:
        """The event when a motion begins."""
        running, queued = self._running.get(motion), self._own_motions.waits(motion)
        if running is not None:
            return opening_of(running.header, running.roster.names)
        if queued is not None:
            return opening_of(queued.header, queued.roster.names)
        if self._context.storage.knows(motion):
            stored = self._context.storage.motion(motion)
            return opening_of(stored.header, stored.names)
        raise NotFoundError(f"motion {motion.hex()[:12]} is not under way at this node")

    def observe(self, observer: Callable[[bytes | None], None]) -> None:
        """Call ``observer`` whenever something of a motion has changed, or of the node (None)."""
        self._observers.append(observer)

    def _tell_observers(self, motion: bytes | None) -> None:
        for observer in self._observers:
            observer(motion)

    def counts(self) -> Mapping[str, int]:
        """Counters since the start, by name."""
        return self._context.counts + self._context.transport.counts

    def status(self) -> Status:
        """How it is."""
        context, roster, news = self._context, self.roster, self.archive.roster()
        now = context.transport.now()
        going = self.under_way()
        own = [running for running in going if running.header.asker == running.place]
        labels = list(dict.fromkeys(label for known in self.announced_labels() for label in known))
        return Status(
            node=context.me.name,
            version=__version__,
            moot=roster.digest,
            participants=len(roster),
            quorum=roster.members.quorum,
            seconds=round(now - self._began, 3),
            peers=[self._peer(peer, name) for peer, name in zip(roster.peers, roster.names, strict=True)
                   if name != context.me.name],
            motions=[motion_status(running, now) for running in going],
            own_motions=(len(own), MOST_OPEN_EACH),
            all_motions=(len(going), MOST_OPEN),
            waiting=len(self._own_motions.waiting),
            disk=(context.storage.used(), context.settings.disk),
            has_room=context.storage.has_room,
            model=context.scheduler.status(),
            epoch=roster.epoch,
            present=roster.position(context.me.fingerprint) is not None,
            rosters=len({running.header.moot for running in going} | {roster.moot}),
            proposals=news.proposals,
            accused=[each.participant for each in news.evidence],
            invitations=self._own_motions.invitation_status(now),
            audit=context.storage.audit.head(),
            labels=labels,
        )  # fmt: skip

    def _peer(self, peer: bytes, name: str) -> PeerStatus:
        context, counted = self._context, self._context.of(peer)
        connected = peer in context.transport.connected()
        may, limits, (motions, rows) = self._admission.access_of(name)
        labels = self._knows.get(peer)
        return PeerStatus(
            name=name,
            connected=connected,
            benched=not connected and peer in self._seen,
            latency=context.transport.latencies().get(peer),
            skew=context.transport.skews().get(peer),
            frames=counted["frames"],
            refused=counted["refused"],
            abstained=counted["abstained"],
            seen=self._seen.get(peer),
            may_ask=may,
            motions_today=(motions, limits.motions_a_day),
            rows_today=(rows, limits.rows_a_day),
            labels=None if labels is None else list(labels),
        )

    def _say_labels(self, peer: bytes) -> None:
        labels = self._context.own.model.labels
        if labels is not None:  # what is too long cannot be in a motion
            labels = [label for label in labels if 1 <= len(label) <= LONGEST_LABEL][:MOST_LABELS]
        self._context.send(peer, m.encode(m.Knows(None if labels is None else tuple(labels))))


class EarlyFrames:
    """The last statements of each peer, up to a bound, on motions that are not known here yet."""

    def __init__(self) -> None:
        self._kept: defaultdict[bytes, deque[tuple[bytes, bytes]]] = defaultdict(deque)

    def keep(self, peer: bytes, motion: bytes, frame: bytes) -> None:
        """Keep a frame, and let go what is too much."""
        kept = self._kept[peer]
        kept.append((motion, frame))
        while len(kept) > MOST_EARLY[0] or sum(len(each) for _, each in kept) > MOST_EARLY[1]:
            kept.popleft()

    def take(self, motion: bytes) -> list[tuple[bytes, bytes]]:
        """The frames about a motion, with who sent them."""
        found = []
        for peer, kept in self._kept.items():
            found += [(peer, frame) for name, frame in kept if name == motion]
            self._kept[peer] = deque(each for each in kept if each[0] != motion)
        return found
