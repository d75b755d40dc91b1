"""The driver: takes what the transport brings to the session it belongs to, and does what the session wants.

One node plays many motions at a time; each has its own ``Session``. What is common to all is here: decoding,
announcing, the inputs that this node itself has put, and what is counted.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

import msgspec
import numpy as np

from folkmoot.adversaries import Adversary
from folkmoot.arrays import Colours
from folkmoot.network.membership.roster import Roster
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.voter import ChunkVotes
from folkmoot.network.session.closing import RELAYED_BYTES
from folkmoot.network.session.drill import Liar, LyingSession
from folkmoot.network.session.judgement import Judgement, judge
from folkmoot.network.session.minutes import Ended, Memory, Save, Seat
from folkmoot.network.session.patience import COMMIT_SHARE, Health
from folkmoot.network.session.phases import Phase
from folkmoot.network.session.session import Session
from folkmoot.network.storage.database import DamagedError
from folkmoot.network.storage.journal import Journal
from folkmoot.network.storage.records import TrackRecords
from folkmoot.network.storage.storage import Storage
from folkmoot.network.transports.budget import Budget
from folkmoot.network.transports.transport import Transport
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import LOCAL, OLD, Motion, motion_name, read_header
from folkmoot.votes import UNCOLOURED

MOST_OPEN_EACH: Final = 4  # motions at a time that one peer has told us of
MOST_OPEN: Final = 16  # in all; beyond these one of each, so that nobody can take up the room of the others
MOST_KEPT: Final = 64  # sessions, with those that are over and may still be asked about
FAVOURS: Final = (40.0, 200.0)  # long replies to short questions that a peer gets: a second, and at once
FETCHES: Final = 8  # times that a peer may have a chunk
BATCH_SECONDS: Final = 0.25  # what others have signed is stored in batches; it can be had again
LINGER: Final = 60.0  # seconds after the end of a motion in which others may still ask about it


class AnyVoter(Protocol):
    """Who votes on a chunk of inputs: a ``Voter``."""

    def vote(self, inputs: Any, labels: Sequence[str], wanted: Callable[[], bool]) -> ChunkVotes:
        """A colour for every row, and why some have none; ``wanted`` says whether they still are."""


class Inputs(Protocol):
    """Where the asker's node keeps the inputs of a motion until it is over."""

    def read(self, index: int) -> bytes:
        """A chunk."""

    def discard(self) -> None:
        """They are not needed any more."""


@dataclass
class _Running:
    """A session with what its driver keeps for it."""

    session: Session
    announce: m.Announce
    started: float
    teller: int  # who told us of it
    inputs: Inputs | None = None
    over: Callable[[Session, dict[str, Any]], None] | None = None
    wake: float = float("inf")
    cancel: Callable[[], None] | None = None
    sent: int = 0
    received: int = 0
    unsaved: list[Save] = field(default_factory=list)
    fetched: Counter[int] = field(default_factory=Counter)  # chunks that each peer had
    jobs: list[tuple[Phase, Callable[[], None]]] = field(default_factory=list)  # until when, what cancels it


class Node:
    """One participant of a moot."""

    def __init__(
        self,
        seat: Seat,
        roster: Roster,
        storage: Storage,
        transport: Transport,
        votes: AnyVoter,
        *,
        rng: random.Random,
        journal: Journal | None = None,
        adversary: Adversary | None = None,
        holdout: Holdout | None = None,
    ) -> None:
        self.seat, self.roster, self.storage, self.transport = seat, roster, storage, transport
        self.health = Health(seat.n)
        self.counts: Counter[str] = Counter()
        self._members = [participant.fingerprint for participant in roster]
        self._named = [(participant.fingerprint, participant.name) for participant in roster]
        self._moot = bytes.fromhex(roster.digest)
        self._votes, self._rng = votes, rng
        self._session: Callable[..., Session] = Session
        if adversary is not None:
            self._session = partial(LyingSession, Liar(adversary, rng))
        self._holdout = holdout or Holdout()
        self._log = (journal or Journal("error")).bound(node=roster[seat.place].name)
        self._running: dict[bytes, _Running] = {}
        self._asked_for: dict[tuple[bytes, int], float] = {}
        self._favours = [Budget(*FAVOURS) for _ in roster]
        self._complained = -1e9
        self._broken = False  # nothing can be stored, so nothing may be said
        self._records = TrackRecords(storage)
        transport.attach(self)

    def start(self) -> None:
        """Take up the motions that were under way when this node last stopped."""
        now, clock = self.transport.now(), self.transport.clock()
        for stored in map(self.storage.motion, self.storage.names("open")):
            if stored.members != self._members:  # the roster has changed: that moot is no more
                self.storage.save(stored.name, [Ended(0, 0)], {})
                continue
            announce = m.Announce(stored.header, stored.signature, stored.ends - clock)
            remaining = min(stored.ends - clock, stored.motion.seconds)  # clocks are set back, too
            self._log(
                "info", "motion taken up again", motion=stored.name.hex(), remaining=round(remaining, 3)
            )
            running = self._run(
                announce, stored.motion, now + remaining, memory=self.storage.memory(stored.name)
            )
            if running.session.phase is Phase.OVER:  # its deadline has passed: what did the others decide?
                for peer in range(self.seat.n):
                    if peer != self.seat.place:
                        self._send(running, peer, m.Want(stored.name, b""))

    def stop(self) -> None:
        """Store what others have said lately."""
        if not self._broken:
            for running in self._running.values():
                self._store(running, None)

    @property
    def open_motions(self) -> int:
        """Motions under way."""
        return sum(running.session.phase is not Phase.OVER for running in self._running.values())

    def session(self, name: bytes) -> Session | None:
        """The session of a motion, while it is kept."""
        running = self._running.get(name)
        return None if running is None else running.session

    # ---- what the asker's door calls ---------------------------------------------------------

    def propose(
        self, motion: Motion, inputs: Inputs, over: Callable[[Session, dict[str, Any]], None]
    ) -> bytes:
        """Put a motion to the moot; ``over`` is called with the session and a summary when it has ended."""
        motion.check()
        if motion.asker != self.seat.place or motion.moot != self._moot:
            raise ValueError("a motion must be put by this node, to the moot of its roster")
        if not self.storage.has_room:
            raise ValueError("the disk of this node is nearly full: make room, or start it with more --disk")
        if self._open(self.seat.place) >= MOST_OPEN_EACH:
            raise ValueError(f"this node has {MOST_OPEN_EACH} motions under way: wait until one is over")
        header = motion.encoded()
        if len(header) > m.MOST_BYTES - 100:
            raise ValueError(
                f"a motion of {len(motion.chunks):,} chunks is too long to announce: put the inputs in two"
            )
        name = motion_name(header)
        signature = self.seat.key.sign(statements.announcement(name, self.seat.place))
        announce = m.Announce(header, signature, motion.seconds)
        clock = self.transport.clock()
        self.storage.open_motion(name, header, signature, self._named, clock, clock + motion.seconds)
        frame = m.encode(announce)
        for peer in range(self.seat.n):
            if peer != self.seat.place:
                self._transmit(peer, frame)
        self._log("info", "motion put", motion=name.hex(), inputs=motion.inputs, protocol=motion.protocol)
        self._run(announce, motion, self.transport.now() + motion.seconds, inputs=inputs, over=over)
        return name

    # ---- what the transport calls ------------------------------------------------------------

    def received(self, peer: int, frame: bytes) -> None:
        """A frame: decoded, or counted and dropped."""
        if self._broken:
            return
        self.counts["frames_received"] += 1
        self.counts["bytes_received"] += len(frame)
        try:
            message = m.decode(frame)
        except (msgspec.DecodeError, ValueError, RecursionError):
            self.refuse(peer, "malformed")
            return
        self.health.alive(peer)
        if type(message) is m.Answer or type(message) is m.Ask:  # nine frames of ten
            running = self._running.get(message.motion)
            if running is not None:
                running.received += len(frame)
                running.session.receive(self.transport.now(), peer, message)
                self._settle(running)
                return
        if isinstance(message, m.Announce):
            self._on_announce(peer, message)
            return
        if isinstance(message, m.Hello):
            return
        running = self._running.get(message.motion)
        if running is None:
            self._on_stranger(peer, message)
            return
        running.received += len(frame)
        if isinstance(message, m.Fetch):
            self._on_fetch(running, peer, message)
        elif isinstance(message, m.Unknown):
            remaining = running.session.end - self.transport.now()
            if remaining > 0 and self._favour(peer):
                self._send(
                    running, peer, m.Announce(running.announce.header, running.announce.signature, remaining)
                )
        elif not isinstance(message, m.Want) or self._favour(peer):
            running.session.receive(self.transport.now(), peer, message)
            self._settle(running)

    def reached(self, peer: int) -> None:
        """A peer is there (again)."""
        self.health.alive(peer)

    def unreachable(self, peer: int) -> None:
        """A peer that cannot be connected to is benched, and nobody waits for it."""
        now = self.transport.now()
        self.health.failed(peer, now, 1.0)
        for running in list(self._running.values()):
            running.session.tick(now)
            self._settle(running)

    def refuse(self, peer: int, why: str) -> None:
        """Count what was not acted on."""
        self.counts[f"refused_{why}"] += 1
        self._log("debug", "refused", peer=self.roster[peer].name, why=why)

    # ---- messages that no session has --------------------------------------------------------

    def _on_announce(self, peer: int, message: m.Announce) -> None:
        name = motion_name(message.header)
        if name in self._running:
            self._prolong(self._running[name], peer, message.remaining)
            return
        if self.storage.knows(name):
            return
        try:
            motion = read_header(message.header)
        except (msgspec.DecodeError, ValueError, TypeError):
            self.refuse(peer, "announcement")
            return
        fits = motion.moot == self._moot and 0 <= motion.asker < self.seat.n
        said = statements.announcement(name, motion.asker)
        # Clocks may be wrong, by an hour and more; a motion of last week is a replay.
        fits = fits and abs(self.transport.clock() - motion.created) < motion.seconds + OLD
        fits = fits and not self.storage.has_forgotten(motion)
        if not fits or not statements.holds(self.seat.keys[motion.asker], message.signature, said):
            self.refuse(peer, "announcement")
            return
        remaining = min(message.remaining, motion.seconds)
        # Whoever passes a motion on might lie about its end, so the asker is asked. Until it has answered, a
        # motion that is said to be too old for votes is left alone: to open it would be to abstain.
        least = 0.0
        if peer != motion.asker:
            least = (1.0 - COMMIT_SHARE) * motion.seconds
            self._inquire(motion.asker, name)
        if not remaining > least:
            self.refuse(peer, "late_announcement")
            return
        if not self.storage.has_room:
            self.refuse(peer, "disk_full")
            return
        if not self._has_room(peer):
            self.refuse(peer, "too_many_motions")
            if self.transport.now() - self._complained > 60.0:
                self._complained = self.transport.now()
                self._log("warning", "motion refused: too many are under way", teller=self.roster[peer].name)
            return
        clock = self.transport.clock()
        self.storage.open_motion(
            name, message.header, message.signature, self._named, clock, clock + remaining
        )
        self._log(
            "info",
            "motion heard",
            motion=name.hex(),
            asker=self.roster[motion.asker].name,
            inputs=motion.inputs,
        )
        self._run(message, motion, self.transport.now() + remaining, teller=peer)

    def _prolong(self, running: _Running, peer: int, remaining: float) -> None:
        """The asker itself says that there is more time than somebody else had told."""
        session = running.session
        now, latest = self.transport.now(), running.started + session.motion.seconds
        end = min(now + remaining, latest)
        if peer != session.motion.asker or not end > session.end + 0.1 or session.phase is Phase.OVER:
            return
        self.storage.prolong(session.name, self.transport.clock() + end - now)
        session.prolong(now, end)
        self._settle(running)

    def _has_room(self, teller: int) -> bool:
        opened = self._open(teller)
        return opened < (MOST_OPEN_EACH if self.open_motions < MOST_OPEN else 1)

    def _open(self, teller: int) -> int:
        return sum(
            running.teller == teller and running.session.phase is not Phase.OVER
            for running in self._running.values()
        )

    def _favour(self, peer: int) -> bool:
        """Whether a peer may have another long reply to a short question."""
        if self._favours[peer].pay(self.transport.now()):
            self.refuse(peer, "too_often")
            return False
        return True

    def _on_stranger(self, peer: int, message: m.AnyMessage) -> None:
        """About a motion that is not under way here: an old one, or one that we have not heard of."""
        assert not isinstance(message, m.Hello | m.Announce)  # noqa: S101
        name = message.motion
        if self.storage.knows(name):
            if isinstance(message, m.Want):
                if not self._favour(peer):
                    return
                room = RELAYED_BYTES
                try:
                    closes = self.storage.closes(name)
                except DamagedError:
                    self.refuse(peer, "damaged_motion")
                    return
                for close in closes.values():
                    frame = m.encode(close)
                    room -= len(frame)
                    if room >= 0:
                        self._transmit(peer, frame)
            elif isinstance(message, m.Ask):  # or it would wait for us, round after round
                self._transmit(peer, m.encode(m.Unready(name, message.round)))
            else:
                self.counts["refused_old_motion"] += 1
        elif isinstance(message, m.Commit | m.Ask | m.Pending):
            self._inquire(peer, name)

    def _inquire(self, peer: int, name: bytes) -> None:
        """Ask a peer for the announcement of a motion, but not all the time."""
        now = self.transport.now()
        if now - self._asked_for.get((name, peer), -1e9) >= 0.25:
            if len(self._asked_for) > 1000:
                self._asked_for.clear()
            self._asked_for[name, peer] = now
            self._transmit(peer, m.encode(m.Unknown(name)))

    def _on_fetch(self, running: _Running, peer: int, message: m.Fetch) -> None:
        motion = running.session.motion
        if running.inputs is None or not 0 <= message.index < len(motion.chunks):
            self.refuse(peer, "fetch")
            return
        running.fetched[peer] += 1
        if running.fetched[peer] > FETCHES * len(motion.chunks):
            self.refuse(peer, "too_often")
            return
        self._send(running, peer, m.Chunk(message.motion, message.index, running.inputs.read(message.index)))

    # ---- sessions ----------------------------------------------------------------------------

    def _run(
        self,
        announce: m.Announce,
        motion: Motion,
        end: float,
        *,
        teller: int | None = None,
        inputs: Inputs | None = None,
        over: Callable[[Session, dict[str, Any]], None] | None = None,
        memory: Memory | None = None,
    ) -> _Running:
        now = self.transport.now()
        alpha = motion.alpha
        if alpha == LOCAL:
            alpha = self._records.threshold(self._members[self.seat.place], motion.k)
        session = self._session(
            announce.header,
            motion,
            self.seat,
            self.health,
            self._rng,
            now=now,
            end=end,
            alpha=alpha,
            weights=self._records.weights(self._members, motion.classes) if motion.weighted else None,
            memory=memory,
        )
        running = _Running(session, announce, now, motion.asker if teller is None else teller, inputs, over)
        self._running[session.name] = running
        if len(self._running) > MOST_KEPT:
            ended = [name for name, each in self._running.items() if each.session.phase is Phase.OVER]
            for name in ended[:1]:
                self._forget(name)
        self._settle(running)
        return running

    def _settle(self, running: _Running) -> None:
        """Store, then send, then work: in this order, so that nothing is said that could be forgotten."""
        session, minutes = running.session, running.session.minutes
        if self._broken:
            return
        if minutes.saves:
            saves, minutes.saves = minutes.saves, []
            self._keep(running, saves)
        if minutes.out:
            out, minutes.out = minutes.out, []
            last, frame = None, b""
            for peer, message in out:
                if message is not last:  # one query goes to many
                    last, frame = message, m.encode(message)
                running.sent += len(frame)
                self._transmit(peer, frame)
        if running.jobs and running.jobs[0][0] is not session.phase:  # nobody waits for their results
            stale, running.jobs = running.jobs, []
            for _, cancel in stale:
                cancel()
        if minutes.work:
            work, minutes.work = minutes.work, []
            for index, data in work:
                self._predict(running, index, data)
        if minutes.study is not None:
            votes, minutes.study = minutes.study, None
            self._listen(running, votes)
        if session.wake < running.wake:  # a timer that is early does no harm, and mostly it is moved back
            if running.cancel is not None:
                running.cancel()
            running.wake = session.wake
            running.cancel = self.transport.later(session.wake, lambda: self._tick(running))

    def _keep(self, running: _Running, saves: list[Save]) -> None:
        """Store at once what this node says itself, and all at the end; what others signed soon."""
        foreign = all(isinstance(x, m.Commit | m.Close) and x.node != self.seat.place for x in saves)
        if not running.unsaved and foreign:
            when = self.transport.now() + BATCH_SECONDS
            self.transport.later(when, lambda: self._store(running, None))
        running.unsaved += saves
        if foreign:
            return
        ended = any(isinstance(record, Ended) for record in saves)
        summary = self._summary(running) if ended else None
        self._store(running, summary)
        for record in saves:
            if isinstance(record, statements.Evidence):
                self._report(running.session, record)
        if summary is not None:
            self._end(running, summary)

    def _store(self, running: _Running, summary: dict[str, Any] | None) -> None:
        if running.unsaved:
            saves, running.unsaved = running.unsaved, []
            try:
                self.storage.save(running.session.name, saves, summary)
            except BaseException:
                self._broken = True  # what follows in the session's ``out`` must not be said
                raise

    def _tick(self, running: _Running) -> None:
        if self._broken:
            return
        running.wake, running.cancel = float("inf"), None
        running.session.tick(self.transport.now())
        self._settle(running)

    def _predict(self, running: _Running, index: int, data: bytes | None) -> None:
        motion = running.session.motion

        def wanted() -> bool:
            return running.session.phase is Phase.VOTING

        def job() -> ChunkVotes:
            try:
                inputs = running.inputs
                chunk = inputs.read(index) if data is None and inputs is not None else data
                if chunk is None:
                    raise ValueError("the inputs of this motion are gone")
                return self._votes.vote(motion.read_chunk(index, chunk), motion.labels, wanted)
            except (ValueError, OSError) as error:
                none = np.full(motion.rows(index), UNCOLOURED, dtype=np.int8)
                return ChunkVotes(none, "the inputs did not arrive as they were announced", str(error))

        def done(ballot: ChunkVotes) -> None:
            if ballot.reason:
                self._log(
                    "warning", "abstains", motion=running.session.name.hex(), why=ballot.reason,
                    detail=ballot.detail,
                )  # fmt: skip
            running.session.predicted(self.transport.now(), index, ballot.votes, ballot.reason)
            self._settle(running)

        running.jobs.append((Phase.VOTING, self.transport.work(job, done)))

    def _listen(self, running: _Running, votes: Colours) -> None:
        """Learn whom to trust from the first votes of all, in the model's thread."""
        session, motion = running.session, running.session.motion
        own = self._members[self.seat.place]
        anchor = self._holdout.with_more(self._records.answers(own)).anchor(motion.labels)

        def done(judgement: Judgement) -> None:
            self._log(
                "info", "listened", motion=session.name.hex(), anchored=judgement.anchored, why=judgement.why,
                heard=int((votes >= 0).any(axis=1).sum()), trusted=int((judgement.weights > 0).sum()),
            )  # fmt: skip
            session.judged(self.transport.now(), judgement)
            self._settle(running)

        study = self.transport.work(lambda: judge(self.seat.place, votes, anchor, motion.classes), done)
        running.jobs.append((session.phase, study))

    def _report(self, session: Session, evidence: statements.Evidence) -> None:
        self.counts["evidence"] += 1
        against = self.roster[statements.accused(evidence)].name
        what = statements.kind(evidence)
        self._log("warning", "evidence", motion=session.name.hex(), against=against, what=what)

    def _summary(self, running: _Running) -> dict[str, Any]:
        session = running.session
        return {
            "rounds": session.rounds,
            "queries": session.queries,
            "bytes_sent": running.sent,
            "bytes_received": running.received,
            "seconds": round(self.transport.now() - running.started, 6),
            "late": sorted(session.late),
        } | self._learnt(session.judgement)

    def _learnt(self, judgement: Judgement | None) -> dict[str, Any]:
        if judgement is None:
            return {}
        weights = [round(weight, 6) for weight in judgement.weights.tolist()]
        return {
            "place": self.seat.place,
            "trust": weights,
            "anchored": judgement.anchored,
            "why": judgement.why,
        }

    def _end(self, running: _Running, summary: dict[str, Any]) -> None:
        session = running.session
        self.counts["motions_over"] += 1
        self.counts["queries_sent"] += session.queries
        if running.inputs is not None:
            running.inputs.discard()
            running.inputs = None
        outcome = session.verdict()
        self._log(
            "info", "motion over", motion=session.name.hex(), undecided=outcome.undecided,
            closed=len(outcome.closed), **summary,
        )  # fmt: skip
        # Slower nodes may still ask us, so it stays for a while.
        linger = max(session.end, self.transport.now()) + LINGER
        self.transport.later(linger, lambda: self._forget(session.name))
        if running.over is not None:
            over, running.over = running.over, None
            over(session, summary)

    def _forget(self, name: bytes) -> None:
        running = self._running.pop(name, None)
        if running is not None and running.cancel is not None:
            running.cancel()

    def _send(self, running: _Running, peer: int, message: m.Message) -> None:
        frame = m.encode(message)
        running.sent += len(frame)
        self._transmit(peer, frame)

    def _transmit(self, peer: int, frame: bytes) -> None:
        self.counts["frames_sent"] += 1
        self.counts["bytes_sent"] += len(frame)
        self.transport.send(peer, frame)
