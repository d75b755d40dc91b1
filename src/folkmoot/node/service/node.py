"""A running node: it drives the motions of its moot, with what a transport, a clock and a storage give it.

``Node`` has no sockets, files or processes of its own. A real node and one of a test are made of the same
parts: another ``Transport``, another path of the ``Storage``. One motion under way is ``playing.Playing``;
what is common to all is here: frames find their motion, motions are heard of, put, taken up again, let go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from folkmoot.arrays import Array, Ints
from folkmoot.node.account import terms_of
from folkmoot.node.log import Journal
from folkmoot.node.membership.identity import Identity
from folkmoot.node.own import Knowledge
from folkmoot.node.records import known_votes
from folkmoot.node.service.holdout import number_of
from folkmoot.node.service.interface import Archive, Meter, Part, RefusedError, Succession
from folkmoot.node.service.over_archive import OverArchive
from folkmoot.node.service.parts import DELTA as DELTA
from folkmoot.node.service.parts import Hold as Hold
from folkmoot.node.service.parts import Moot, Parts
from folkmoot.node.service.parts import Own as Own
from folkmoot.node.service.parts import Settings as Settings
from folkmoot.node.service.playing import Playing, Result
from folkmoot.node.session.header import Header, motion_of, read_header
from folkmoot.node.session.statement import asked
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.database import DamagedError
from folkmoot.node.storage.retention import Watermarks, until
from folkmoot.node.storage.storage import Storage
from folkmoot.node.transports.transport import Transport
from folkmoot.node.wire import messages as m
from folkmoot.node.wire.batch import Batch
from folkmoot.votes import UNCOLOURED

LEAST_FREE: Final = 256 << 20  # bytes of the disk that are left to others
TEND_SECONDS: Final = 5.0
MOST_INQUIRED: Final = 1000
LOST: Final = "this node was started again before the rows had come; ask again"


@dataclass(frozen=True, eq=False)
class _Put:
    """A motion that this node is about to put."""

    moot: Moot
    place: int
    header: Header
    batch: Batch


class Node(OverArchive):
    """A running node: ``interface.Service``, over one ``Archive`` of the same storage.

    Make it, call ``start`` once the transport can send, and ``stop`` before the storage is closed. All calls
    come from one thread, that of the transport's clock; ``put``, ``check`` and ``reload`` are coroutines.

    Parameters
    ----------
    me : Identity
        Name, key and certificate of the node.
    storage : Storage
        What it remembers; it was looked through (``open_storage``), and nobody else writes motions to it.
    transport : Transport[bytes]
        Its peers by the fingerprints of their certificates, a clock, and a thread for the model. The node
        attaches itself. If it has ``connected()``, ``latencies()``, ``skews()`` and ``counts``, as ``Mesh``
        has, ``status`` and ``counts`` tell of them.
    archive : Archive
        Answers what is asked about stored motions, rosters and truths; ``Node`` hands these calls on.
    succession : Succession
        The rosters that the node has gone through. ``Node.start`` calls its ``start``, and hands it frames of
        the kinds ``messages.ROSTERS``, and who was reached; somebody else calls ``look_again``.
    load : callable
        Loads model, holdout and weights: at once, and again on ``reload``. A ValueError or OSError that it
        raises comes out of the constructor, and of ``reload`` as a ValueError, and then the old ones stay.
    hold : callable or None
        Tells the transport with members of which rosters it speaks, the newest first, and the digests of all
        rosters that the node has gone through, the newest first (``Mesh.hold``). Called at the start and when
        the roster in force is another.
    settings : Settings or None
        None is ``Settings()``.
    meter : Meter or None
        Is told of motions that are over, and of answers of the model.
    journal : Journal or None
        Its log; None is one that tells errors alone.
    """

    def __init__(
        self,
        me: Identity,
        storage: Storage,
        transport: Transport[bytes],
        archive: Archive,
        succession: Succession,
        load: Callable[[], Own],
        *,
        hold: Hold | None = None,
        settings: Settings | None = None,
        meter: Meter | None = None,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(archive)
        self.incarnation = 0
        self._succession, self._load, self._hold = succession, load, hold
        self._parts = Parts(
            me, storage, transport, settings or Settings(), load(),
            (journal or Journal("error")).bound(node=me.name), meter, self._tell_observers,
        )  # fmt: skip
        self._observers: list[Callable[[bytes | None], None]] = []
        self._running: dict[bytes, Playing] = {}
        self._moots: dict[bytes, Moot] = {}  # by digest, of the rosters that this node has gone through
        self._waiting: deque[_Put] = deque()
        self._knows: dict[bytes, tuple[str, ...] | None] = {}  # labels, as peers announced them
        self._seen: dict[bytes, float] = {}
        self._connected: set[bytes] = set()
        self._inquired: dict[tuple[bytes, bytes], float] = {}
        self._began = transport.now()
        self._stopped = False

    # ---- the node's own life -----------------------------------------------------------------

    def start(self) -> None:
        """Take up the motions that were open when this node last stopped, and take in what arrives."""
        parts = self._parts
        self.incarnation = parts.storage.start(parts.transport.clock())
        self._succession.start(self._roster_changed)
        self._take_moots()
        parts.transport.attach(self)
        for name in parts.storage.names("open"):
            try:
                self._take_up(name)
            except DamagedError as error:
                parts.log("error", "damaged motion", motion=name.hex(), why=str(error))
        self._tend()

    def stop(self) -> None:
        """Say nothing any more; what is stored is taken up by the next start."""
        self._stopped = True
        for playing in self._running.values():
            playing.drop()

    def _take_up(self, name: bytes) -> None:
        parts = self._parts
        now, clock = parts.transport.now(), parts.transport.clock()
        stored = parts.storage.motion(name)
        header = stored.header
        moot = self._moots.get(header.moot)
        if moot is None or moot.place is None:
            parts.storage.stop(name, "its roster is not one of this node any more", clock)
            return
        if header.invites and header.asker == moot.place:
            parts.storage.stop(name, LOST, clock)
            return
        remaining = min(stored.ends - clock, header.terms.seconds)  # clocks are set back, too
        announce = m.Announce(stored.data, stored.signature, remaining)
        parts.log("info", "motion taken up again", motion=name.hex(), remaining=round(remaining, 3))
        said = msgspec.convert(stored.summary, Part)
        self._run(
            Playing(
                parts, self, moot, moot.place, announce, header, ends=now + remaining,
                records=parts.storage.journal(name), said=said,
            )
        )  # fmt: skip

    def _run(self, playing: Playing) -> None:
        self._running[playing.name] = playing
        self._parts.changed(playing.name)

    def _tend(self) -> None:
        """Forget what need not be kept, and give up what nobody would finish any more."""
        parts = self._parts
        if self._stopped or parts.broken:
            return
        now, clock = parts.transport.now(), parts.transport.clock()
        try:
            parts.storage.tend(clock, Watermarks(parts.settings.disk, LEAST_FREE))
        except DamagedError as error:
            parts.log("error", "damaged database", why=str(error))
        for name, playing in list(self._running.items()):
            if playing.motion.answer is None and clock > until(playing.header):
                playing.stop("it was not decided, and is too old")
            if playing.stopped or (playing.motion.answer is not None and now > playing.lingers_until):
                playing.drop()
                del self._running[name]
        parts.transport.later(now + TEND_SECONDS, self._tend)

    # ---- rosters -----------------------------------------------------------------------------

    @property
    def _moot(self) -> Moot:
        """The roster in force."""
        return self._moots[bytes.fromhex(self._succession.rosters[-1].digest)]

    def _take_moots(self) -> None:
        own = self._parts.me.fingerprint
        for roster in self._succession.rosters:
            self._moots.setdefault(bytes.fromhex(roster.digest), Moot(roster, roster.position(own)))
        if self._hold is not None:
            rosters = list(reversed(self._succession.rosters))
            self._hold(rosters[:1], [bytes.fromhex(each.digest) for each in rosters])

    def _roster_changed(self) -> None:
        """A proposal, or the roster in force, is another."""
        before = len(self._moots)
        self._take_moots()
        if len(self._moots) > before:
            for playing in list(self._running.values()):
                if playing.moot is not self._moot:
                    playing.roster_ended()
        self._tell_observers(None)

    # ---- what the transport calls ------------------------------------------------------------

    def received(self, peer: bytes, frame: bytes) -> None:
        """A frame of a peer, known by its fingerprint: taken in, or counted and dropped."""
        parts = self._parts
        if parts.broken or self._stopped:
            return
        parts.counts["frames_received"] += 1
        parts.counts["bytes_received"] += len(frame)
        parts.of(peer)["frames"] += 1
        self._seen[peer] = parts.transport.clock()
        kind = m.kind_of(frame)
        if kind in m.ROSTERS:
            self._succession.received(peer, frame)
            return
        try:
            if kind in m.SESSION:
                self._of_session(peer, frame)
            else:
                self._of_motions(peer, m.read_message(frame))
        except ValueError as error:
            parts.refuse(peer, "malformed", detail=str(error))

    def reached(self, peer: bytes) -> None:
        """There is a connection with a peer: it may have missed something."""
        if self._parts.broken or self._stopped:
            return
        self._connected.add(peer)
        self._succession.reached(peer)
        self._say_labels(peer)
        for playing in self._running.values():
            place = playing.moot.places.get(peer)
            if place is not None and playing.header.asker == playing.place and not playing.is_over:
                playing.tell(place)
        self._tell_observers(None)

    def unreachable(self, peer: bytes) -> None:
        """A peer that cannot be connected to at present."""
        self._connected.discard(peer)
        self._tell_observers(None)

    def _of_session(self, peer: bytes, frame: bytes) -> None:
        name = m.motion_in(frame)
        playing = self._running.get(name)
        if playing is None:
            playing = self._stranger(peer, name)
        place = None if playing is None else playing.moot.places.get(peer)
        if playing is not None and place is not None:
            playing.received(place, frame)

    def _stranger(self, peer: bytes, name: bytes) -> Playing | None:
        """About a motion that is not under way here: an old one, or one that this node has not heard of."""
        if not self._parts.storage.knows(name):
            self._inquire(peer, name)
        return None

    def _inquire(self, peer: bytes, name: bytes) -> None:
        """Ask a peer for the announcement of a motion, but not all the time."""
        now = self._parts.transport.now()
        if now >= self._inquired.get((peer, name), 0.0):
            if len(self._inquired) > MOST_INQUIRED:
                self._inquired.clear()
            self._inquired[peer, name] = now + self._parts.settings.delta
            self._parts.send(peer, m.encode(m.Fetch(name, -1)))

    def _of_motions(self, peer: bytes, message: m.OfMotions) -> None:
        if isinstance(message, m.Announce):
            self._on_announce(peer, message)
            return
        if isinstance(message, m.Knows):
            self._knows[peer] = message.labels
            self._tell_observers(None)
            return
        playing = self._running.get(message.motion)
        place = None if playing is None else playing.moot.places.get(peer)
        if playing is None or place is None:
            self._parts.counts["refused_old_motion"] += 1
        elif isinstance(message, m.Refuse):
            playing.refused(message)
        elif isinstance(message, m.Chunk):
            playing.chunk(place, message)
        elif message.index < 0:
            playing.tell(place)
        else:
            playing.fetched(place, message.index)

    def _on_announce(self, peer: bytes, message: m.Announce) -> None:
        parts, name = self._parts, motion_of(message.header)
        playing = self._running.get(name)
        if playing is not None:
            if playing.moot.peers[playing.header.asker] == peer:
                playing.announced_until(message.remaining)
            return
        if parts.storage.knows(name):
            return
        moot = self._moot
        if moot.place is None:
            return
        header = read_header(message.header, len(moot.peers))
        if header.moot != moot.digest:
            parts.refuse(peer, "another_roster")
            return
        if not moot.members.verify(header.asker, asked(name), message.signature):
            parts.refuse(peer, "announcement")
            return
        remaining = min(message.remaining, header.terms.seconds)
        self._open(moot, moot.place, message, header, remaining)

    # ---- motions -----------------------------------------------------------------------------

    def _open(
        self, moot: Moot, place: int, announce: m.Announce, header: Header, remaining: float,
        batch: Batch | None = None,
    ) -> Playing:  # fmt: skip
        """Store a motion, and begin to take part in it."""
        parts = self._parts
        now, clock = parts.transport.now(), parts.transport.clock()
        members = [(member.fingerprint, member.name) for member in moot.roster]
        parts.storage.open_motion(
            motion_of(announce.header), announce.header, announce.signature, members, moot.roster.faults,
            clock, clock + remaining,
        )  # fmt: skip
        playing = Playing(parts, self, moot, place, announce, header, ends=now + remaining, batch=batch)
        parts.log("info", "motion heard" if batch is None else "motion put", motion=playing.name.hex())
        self._run(playing)
        return playing

    async def put(self, batch: Batch, terms: Any) -> bytes:
        """Put a motion; its name. One that finds no place waits for it."""
        asked_for = self._prepared(batch, terms_of(terms))
        return self._put(asked_for).name

    def _prepared(self, batch: Batch, terms: Terms) -> _Put:
        parts, moot = self._parts, self._moot
        if moot.place is None:
            raise RefusedError("this node is not in the roster in force, so it cannot ask")
        header = Header(
            moot.digest, moot.place, parts.settings.randbytes(16), parts.transport.clock(), terms, len(batch),
            batch.columns, batch.dtype, batch.chunk_rows, batch.digests(), schema=batch.schema,
        )  # fmt: skip
        header.check(len(moot.peers))
        return _Put(moot, moot.place, header, batch)

    def _put(self, wanted: _Put) -> Playing:
        data = wanted.header.encoded()
        signature = self._parts.me.key.sign(asked(motion_of(data)))
        announce = m.Announce(data, signature, wanted.header.terms.seconds)
        frame = m.encode(announce)
        for peer in wanted.moot.peers:
            if peer != wanted.moot.peers[wanted.place]:
                self._parts.send(peer, frame)
        return self._open(
            wanted.moot, wanted.place, announce, wanted.header, wanted.header.terms.seconds, wanted.batch
        )

    # ---- what a motion asks of its node ------------------------------------------------------

    def rows_to_show(self, header: Header) -> bytes:  # noqa: ARG002
        """The ballot of this node in answer to an invitation."""
        return b""

    def rows_shown(self, header: Header) -> tuple[Array, Ints] | None:  # noqa: ARG002
        """The rows that it has shown for a motion."""
        return None

    def order_of(self, name: bytes) -> bytes:  # noqa: ARG002
        """The order of inputs and validation rows in a motion of this node."""
        return b""

    def knowledge(self, header: Header, moot: Moot) -> Knowledge:
        """What this node knows of its own model, and of others."""
        parts, terms = self._parts, header.terms
        truth, said = zip(*parts.own.holdout.pairs, strict=True) if len(parts.own.holdout) else ((), ())
        if terms.answers == "numbers":
            return Knowledge(np.array([*map(number_of, said)]), np.array([*map(number_of, truth)]))
        number = {label: place for place, label in enumerate(terms.labels)}
        known = [i for i, label in enumerate(truth) if label in number]
        record, record_truth = known_votes(
            parts.storage, [member.fingerprint for member in moot.roster], terms.labels
        )
        return Knowledge(
            np.array([number.get(said[i], UNCOLOURED) for i in known], dtype=np.int64),
            np.array([number[truth[i]] for i in known], dtype=np.int64),
            record,
            record_truth,
        )

    def with_model(
        self,
        asker: bytes,  # noqa: ARG002
        job: Callable[[], Result],
        done: Callable[[Result], None],
    ) -> Callable[[], None]:
        """Do this where the model is, in its turn."""
        return self._parts.transport.work(job, done)

    def over(self, playing: Playing) -> None:
        """A motion is over: it was decided, or its asker waits no longer."""

    # ---- observers ---------------------------------------------------------------------------

    def observe(self, observer: Callable[[bytes | None], None]) -> None:
        """Call ``observer`` whenever something of a motion has changed, or of the node (None)."""
        self._observers.append(observer)

    def _tell_observers(self, motion: bytes | None) -> None:
        for observer in self._observers:
            observer(motion)

    def counts(self) -> Mapping[str, int]:
        """What is counted since the start, by name."""
        return self._parts.counts

    def _say_labels(self, peer: bytes) -> None:
        labels = self._parts.own.model.labels
        self._parts.send(peer, m.encode(m.Knows(None if labels is None else tuple(labels))))
