"""A node: takes what the transport brings to the session it belongs to; ``driver.py`` does what that wants.

One node plays many motions at a time; each has its own ``Session``. What is common to all is here: decoding,
announcing, the inputs that this node itself has put, and what is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from folkmoot.network.service.access import DAY, Limits
from folkmoot.network.service.admission import (
    ANNOUNCEMENTS,
    DISK_FULL,
    FETCHES,
    REASONS,
    TOO_MANY,
    Admission,
    Taken,
)
from folkmoot.network.service.drawing import Drawing, relayed_size
from folkmoot.network.service.driver import Driver, Observer
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.service.inviting import Reviews
from folkmoot.network.service.parts import Lasting, Parts, Running
from folkmoot.network.service.policy import Policy
from folkmoot.network.session.closing import RELAYED_BYTES
from folkmoot.network.session.minutes import Ended, Memory
from folkmoot.network.session.patience import Health
from folkmoot.network.session.phases import Phase
from folkmoot.network.session.session import Session
from folkmoot.network.storage.database import DamagedError
from folkmoot.network.storage.retention import DISK
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.messages import Answer, Ask
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.node.log import Journal
from folkmoot.node.membership.roster import Roster


class Node:
    """One participant of a moot."""

    def __init__(
        self,
        parts: Parts,
        *,
        journal: Journal | None = None,
        policy: Policy | None = None,
        labels: Sequence[str] | None = None,
        disk: int = DISK,
        lasting: Lasting | None = None,
    ) -> None:
        """``lasting`` is what a node keeps when it goes over to another roster."""
        seat, roster = self.seat, self.roster = parts.seat, parts.roster
        self.storage, self.transport = parts.storage, parts.transport
        self.health = Health(seat.n)
        self._lasting = Lasting() if lasting is None else lasting
        self.counts = self._lasting.counts
        self.by_peer = [self._lasting.by_peer[member.fingerprint] for member in roster]
        self.since = self.transport.now()
        self.seen: list[float | None] = [None] * seat.n  # when each last said something, by the clock of now
        self._named = [(participant.fingerprint, participant.name) for participant in roster]
        self._moot = bytes.fromhex(roster.digest)
        self._log = (journal or Journal("error")).bound(node=roster[seat.place].name)
        self._admission = Admission(
            seat, self._moot, policy, disk, [member.name for member in roster],
            labels=labels, check=parts.votes.check,
        )  # fmt: skip
        self._check = parts.votes.check
        self._driver = Driver(
            parts, health=self.health, counts=self.counts, by_peer=self.by_peer, log=self._log
        )
        self._drawing = Drawing(seat.n)
        self._drawn = self._drawing.budgets
        self._now = self.transport.now
        allowed = policy or Policy()
        shows = parts.contributor(seat, parts.storage, parts.rows, allowed.check_rows, parts.rng)
        self._driver.contributor = shows
        self.reviews = Reviews(
            seat, self._moot, self.transport, self.health, self._admission, shows, self.storage,
            self._driver.transmit,
            parts.rng.randbytes, self._log, self.counts, self._check,
        )  # fmt: skip
        self.reviews.changed = self._tell_observers
        self._running = self._driver.running
        self._asked_for: dict[tuple[bytes, int], float] = {}
        self._complained = -1e9
        self.transport.attach(self)

    def start(self) -> None:
        """Take up the motions that were under way when this node last stopped."""
        now, clock = self.transport.now(), self.transport.clock()
        place_of = self._lasting.place_in(self.roster)
        self._admission.remember(self.storage.kept(clock), place_of)
        self._admission.count(self.storage.since(clock - DAY), place_of)
        self.reviews.start()
        for stored in map(self.storage.motion, self.storage.names("open")):
            if stored.motion.moot != self._moot:
                if stored.motion.moot not in self._lasting.held:  # that moot is no more
                    self.storage.save(stored.name, [Ended(0, 0)], {})
                continue
            announce = m.Announce(stored.header, stored.signature, stored.ends - clock)
            remaining = min(stored.ends - clock, stored.motion.seconds)  # clocks are set back, too
            self._log(
                "info", "motion taken up again", motion=stored.name.hex(), remaining=round(remaining, 3)
            )
            asker = stored.motion.asker
            running = self._driver.run(
                announce, stored.motion, now + remaining, confirmed=asker == self.seat.place,
                memory=self.storage.memory(stored.name),
            )  # fmt: skip
            if not running.confirmed and running.session.phase is not Phase.OVER:
                self._inquire(asker, stored.name)
            if running.session.phase is Phase.OVER:  # its deadline has passed: what did the others decide?
                for peer in range(self.seat.n):
                    if peer != self.seat.place:
                        self._driver.send(running, peer, m.Want(stored.name, b""))

    def stop(self) -> None:
        """Store what others have said lately."""
        self._driver.stop()

    @property
    def lingers(self) -> bool:
        """Whether others may still ask about a motion of its: one under way, or over a moment ago."""
        return bool(self._running)

    def sessions(self) -> list[Session]:
        """The sessions of the motions under way."""
        return [running.session for running in self._driver.under_way()]

    @property
    def open_motions(self) -> int:
        """Motions under way."""
        return len(self._driver.under_way())

    def session(self, name: bytes) -> Session | None:
        """The session of a motion, while it is kept."""
        running = self._running.get(name)
        return None if running is None else running.session

    def roster_of(self, moot: bytes) -> Roster:
        """The roster of a motion under way."""
        return self._lasting.rosters.get(moot, self.roster)

    def access_of(self, peer: int) -> tuple[bool, Limits, tuple[int, int]]:
        """Whether a member may ask this node, what a day, and its motions and rows of the last."""
        return self._admission.access_of(peer, self.transport.clock())

    def observe(self, observer: Observer) -> None:
        """Call ``observer`` whenever a session was settled, or who can be reached has changed."""
        self._driver.observers.append(observer)

    def _tell_observers(self) -> None:
        for observer in self._driver.observers:
            observer(None)

    # ---- what the asker's door calls ---------------------------------------------------------

    def propose(
        self, motion: Motion, inputs: Inputs, over: Callable[[Session, dict[str, Any]], None]
    ) -> bytes:
        """Put a motion to the moot; ``over`` is called with the session and a summary when it has ended."""
        if not self.storage.has_room:
            raise ValueError("the disk of this node is nearly full: make room, or start it with more --disk")
        if motion.answers != "labels":  # labels may be such as only others know
            self._check(motion)
        self._admission.check_own(motion, self._taken(), self.transport.now(), self.transport.clock())
        header = motion.encoded()
        name = motion_name(header)
        signature = self.seat.key.sign(statements.announcement(name, self.seat.place))
        announce = m.Announce(header, signature, motion.seconds)
        clock = self.transport.clock()
        self.storage.open_motion(name, header, signature, self._named, clock, clock + motion.seconds)
        memory = Memory(opened=self.reviews.opened(name))
        self.storage.save(name, [*memory.opened.values()])
        frame = m.encode(announce)
        for peer in range(self.seat.n):
            if peer != self.seat.place:
                self._driver.transmit(peer, frame)
        self._log("info", "motion put", motion=name.hex(), inputs=motion.inputs, protocol=motion.protocol)
        end = self.transport.now() + motion.seconds
        self._driver.run(announce, motion, end, inputs=inputs, over=over, memory=memory)
        return name

    # ---- what the transport calls ------------------------------------------------------------

    def received(self, peer: int, frame: bytes) -> None:
        """A frame: decoded, or counted and dropped."""
        if self._driver.broken:
            return
        size, counts = len(frame), self.counts
        counts["frames_received"] += 1
        counts["bytes_received"] += size
        self.by_peer[peer]["frames"] += 1
        try:
            message = m.decode_frame(frame)
        except (msgspec.DecodeError, ValueError, RecursionError):
            self.refuse(peer, "malformed")
            return
        if peer in self.health.failing:
            self.health.alive(peer)
        self.seen[peer] = now = self._now()
        # Nine frames of ten are one of these two: they have a way of their own, with nothing on it that only
        # others need.
        if type(message) is Ask:
            running = self._running.get(message.motion)
            if running is not None:
                running.received += size
                if self._drawn[peer].pay(now, running.answer_size):
                    self.refuse(peer, "drew_too_much")  # it is told so, and does not wait
                    reply: m.Message | None = m.Unready(message.motion, message.round)
                else:
                    session = running.session
                    reply = session.asked(now, peer, message)
                    if session.minutes.saves:
                        self._driver.settle(running)
                if reply is not None:
                    self._driver.send(running, peer, reply)
                return
        elif type(message) is Answer:
            running = self._running.get(message.motion)
            if running is not None:
                running.received += size
                session = running.session
                if session.answered(now, peer, message):
                    session.tick(now)
                    self._driver.settle(running)
                elif session.minutes.saves:
                    self._driver.settle(running)
                return
        if isinstance(message, m.Announce):
            self._on_announce(peer, message)
            return
        if self.reviews.takes(peer, message) or isinstance(message, m.OfRosters):
            return
        running = self._running.get(message.motion)
        if running is None:
            self._on_stranger(peer, message)
            return
        running.received += size
        if isinstance(message, m.Fetch):
            self._on_fetch(running, peer, message)
        elif isinstance(message, m.Unknown):
            self._tell_again(running, peer)
        elif not isinstance(message, m.Wanting) or self._favour(peer, relayed_size(running.session)):
            running.session.receive(self.transport.now(), peer, message)
            self._driver.settle(running)

    def reached(self, peer: int) -> None:
        """A peer is there (again): if it was away when this node put a motion, it has not heard of it."""
        self.health.alive(peer)
        self._tell_observers()
        for running in self._driver.under_way():
            session = running.session
            if session.motion.asker == self.seat.place and peer not in session.commits:
                self._tell_again(running, peer)

    def unreachable(self, peer: int) -> None:
        """A peer that cannot be connected to is benched, and nobody waits for it."""
        now = self.transport.now()
        self.health.failed(peer, now, 1.0)
        self._tell_observers()
        for running in list(self._running.values()):
            running.session.tick(now)
            self._driver.settle(running)

    def refuse(self, peer: int, why: str) -> None:
        """Count what was not acted on."""
        self.counts[f"refused_{why}"] += 1
        self.by_peer[peer]["refused"] += 1
        self._log("debug", "refused", peer=self.roster[peer].name, why=why)

    # ---- messages that no session has --------------------------------------------------------

    def _on_announce(self, peer: int, message: m.Announce) -> None:
        name = motion_name(message.header)
        if name in self._running:
            self._confirm(self._running[name], peer, message.remaining)
            return
        if self._admission.refused(name) is not None:
            return
        if not self._admission.hears(peer, message.header, self.transport.now()):
            self.refuse(peer, "too_often")
            return
        if self.storage.knows(name):
            return
        motion = self._admission.motion_in(message, self.transport.clock())
        if motion is None or self.storage.has_forgotten(motion):
            self.refuse(peer, "announcement")
            return
        objection = self._admission.objection(motion, message, self.transport.clock())
        if objection is not None:
            self.refuse(peer, objection.kind)
            self._log(
                "info", "motion refused", motion=name.hex(), asker=self.roster[motion.asker].name,
                why=objection.refuse.reason, detail=objection.detail,
            )  # fmt: skip
            self._driver.transmit(motion.asker, m.encode(objection.refuse))
            if self._admission.notes_refusal(motion.asker, self.transport.now()):
                asker = self.roster[motion.asker].name
                self.storage.refused(name, asker, objection.refuse.reason, self.transport.clock())
            return
        if motion.asker not in (peer, self.seat.place):  # the peer might lie about the end of the motion
            self._inquire(motion.asker, name)
        remaining = min(message.remaining, motion.seconds)
        refusal = self._admission.refusal(motion, peer, remaining, self._taken())
        if refusal is None and not self.storage.has_room:
            refusal = DISK_FULL
        if refusal is None:
            now, clock = self.transport.now(), self.transport.clock()
            refusal = self._admission.afford(motion, len(message.header), now, clock)
        if refusal is not None:
            self.refuse(peer, refusal)
            if refusal in REASONS and peer == motion.asker:
                self._driver.transmit(peer, m.encode(self._admission.no(name, REASONS[refusal])))
            if refusal == TOO_MANY and self.transport.now() - self._complained > 60.0:
                self._complained = self.transport.now()
                asker = self.roster[motion.asker].name
                self._log("warning", "motion refused: too many are under way", asker=asker)
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
        self._driver.run(message, motion, self.transport.now() + remaining, confirmed=peer == motion.asker)

    def _confirm(self, running: Running, peer: int, remaining: float) -> None:
        """The asker itself tells of a motion, and perhaps of more time than somebody else had told."""
        session = running.session
        if peer != session.motion.asker:
            return
        running.confirmed = True
        now, latest = self.transport.now(), running.started + session.motion.seconds
        end = min(now + remaining, latest)
        if not end > session.end + 0.1 or session.phase is Phase.OVER:
            return
        self.storage.prolong(session.name, self.transport.clock() + end - now)
        session.prolong(now, end)
        self._driver.settle(running)

    def _tell_again(self, running: Running, peer: int) -> None:
        """Announce a motion to a peer that has missed it; not for ever, since headers may be long."""
        remaining = running.session.end - self.transport.now()
        running.told[peer] += 1
        if running.told[peer] > ANNOUNCEMENTS:
            self.refuse(peer, "too_often")
        elif remaining > 0 and self._favour(peer, len(running.announce.header)):
            announce = m.Announce(running.announce.header, running.announce.signature, remaining)
            self._driver.send(running, peer, announce)

    def _taken(self) -> list[Taken]:
        """The motions under way, as they count."""
        return [Taken(each.session.motion.asker, each.confirmed) for each in self._driver.under_way()]

    def _favour(self, peer: int, size: int) -> bool:
        """Whether a peer may have another long reply to a short question, of so many bytes at most."""
        now = self.transport.now()
        if not self._admission.favour(peer, now):
            self.refuse(peer, "too_often")
            return False
        if not self._drawing.allows(peer, now, size):
            self.refuse(peer, "drew_too_much")
            return False
        return True

    def _on_stranger(self, peer: int, message: m.AnyMessage) -> None:
        """About a motion that is not under way here: an old one, or one that we have not heard of."""
        assert not isinstance(message, m.OfRosters | m.Announce)  # noqa: S101
        name = message.motion
        if self.storage.knows(name):
            if isinstance(message, m.Want):
                self._relay_stored(peer, message)
            elif isinstance(message, m.Ask):  # or it would wait for us, round after round
                self._driver.transmit(peer, m.encode(m.Unready(name, message.round)))
            else:
                self.counts["refused_old_motion"] += 1
        elif isinstance(message, m.Commit | m.Ask | m.Pending | m.Want | m.Unopened):
            refused = self._admission.refused(name)
            if refused is not None:
                self._driver.transmit(peer, m.encode(refused))
            elif not isinstance(message, m.Want):
                self._inquire(peer, name)

    def _relay_stored(self, peer: int, message: m.Want) -> None:
        """Send a peer the closes that are stored of a motion that is over."""
        if not self._favour(peer, RELAYED_BYTES):
            return
        try:
            held = self.storage.held(message.motion)
        except DamagedError:
            self.refuse(peer, "damaged_motion")
            return
        room = RELAYED_BYTES
        for each in held.closes.values():
            frame = m.encode(each)
            room -= len(frame)
            if room >= 0:
                self._driver.transmit(peer, frame)

    def _inquire(self, peer: int, name: bytes) -> None:
        """Ask a peer for the announcement of a motion, but not all the time."""
        now = self.transport.now()
        if now - self._asked_for.get((name, peer), -1e9) >= 0.25:
            if len(self._asked_for) > 1000:
                self._asked_for.clear()
            self._asked_for[name, peer] = now
            self._driver.transmit(peer, m.encode(m.Unknown(name)))

    def _on_fetch(self, running: Running, peer: int, message: m.Fetch) -> None:
        motion = running.session.motion
        if running.inputs is None or not 0 <= message.index < len(motion.chunks):
            self.refuse(peer, "fetch")
            return
        running.fetched[peer] += 1
        if running.fetched[peer] > FETCHES * len(motion.chunks):
            self.refuse(peer, "too_often")
            return
        self._driver.send(
            running, peer, m.Chunk(message.motion, message.index, running.inputs.read(message.index))
        )
