"""A motion in one process on a logical clock: every delay, loss, partition and crash comes from a seed.

What becomes of a frame hangs on the seed, on its sender, receiver and content, and on how often the same was
sent before; not on what others send.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from folkmoot.node.review import seal_of
from folkmoot.node.session.header import Header, motion_of
from folkmoot.node.session.motion import Motion
from folkmoot.node.session.statement import Members, Sign, most_faults
from folkmoot.node.session.terms import Terms


def sign_of(member: int) -> Sign:
    """A member's key, in place of Ed25519: a hash with a secret, so that storms are not spent on curves."""
    secret = f"the key of member {member}".encode()
    return lambda words: hashlib.blake2b(words, key=secret).digest()


def verify(member: int, words: bytes, signature: bytes) -> bool:
    """Whether that member signed it."""
    return sign_of(member)(words) == signature


@dataclass(frozen=True)
class Weather:
    """How the network treats frames: delays are exponential, at most ``most``; frames overtake."""

    delay: float = 0.02
    most: float = 0.09
    drop: float = 0.0
    until: float = math.inf  # after this nothing is lost


class Stopped(Exception):  # noqa: N818 (no error: it is played)
    """A node crashed while it saved."""


class Node:
    """A member that follows the rules, with a journal, and crashes when it is told to."""

    honest = True

    def __init__(self, world: World, me: int, votes: list[bytes], crashes: Iterable[int] = ()) -> None:
        self.world, self.me, self.votes = world, me, votes
        self.journal: list[bytes] = []
        self.crashes = set(crashes)  # 2 i: before record i is stored; 2 i + 1: after
        self.motion: Motion | None = None
        self.delays = [0.0] * world.header.polls  # how long its model takes, by poll
        self.holdout = (18, 20)
        self.answers: set[bytes] = set()
        self.cast: set[bytes] = set()  # its ballots
        self.starts = 0
        self._timer: float | None = None

    def start(self) -> None:
        """From the journal, or anew."""
        now = self.world.time
        self.starts += 1
        self.motion = self.make_motion(self.journal, now)
        self._flush()

    def make_motion(self, journal: list[bytes], now: float) -> Motion:
        """The real thing."""
        world = self.world
        return Motion(
            world.header,
            world.members,
            self.me,
            sign_of(self.me),
            delta=world.delta,
            records=journal,
            now=now,
            seed=b"%d %d" % (world.seed, self.me),
            holdout=self.holdout,
        )

    def received(self, peer: int, frame: bytes) -> None:
        """A frame arrived."""
        if self.motion is not None:
            try:
                self.motion.received(peer, frame, self.world.time)
            except ValueError:
                return
            self._flush()

    def wake(self) -> None:
        """Time has passed."""
        self._timer = None
        if self.motion is not None:
            self.motion.wake(self.world.time)
            self._flush()

    def vote(self, poll: int) -> None:
        """Its model is done."""
        if self.motion is not None and self.motion.wanted == poll:
            salt = hashlib.sha256(f"{self.world.seed} {self.me} {poll} {len(self.journal)}".encode()).digest()
            ballot = self.ballot(poll)
            self.cast.add(ballot)
            self.motion.vote(poll, ballot, salt, self.world.time)
            self._flush()

    def ballot(self, poll: int) -> bytes:
        """What it votes: what it has been given, or what came of a talk."""
        assert self.motion is not None
        talked = self.motion.talked
        return self.votes[poll] if talked is None else talked

    def _flush(self) -> None:
        """Store, then send."""
        motion = self.motion
        assert motion is not None
        if motion.computable:
            motion.conclude(motion.answering()())
        outbox = motion.take()
        try:
            for record in outbox.records:
                self._at_save(before=True)
                self.journal.append(record)
                self._at_save(before=False)
        except Stopped:
            self.motion = None
            self.world.after(self.world.random.uniform(0.05, 1.0), self.start)
            return
        for to, frame in outbox.frames:
            for peer in range(self.world.n) if to is None else [to]:
                if peer != self.me:
                    self.send(peer, frame)
        if motion.answer is not None:
            self.answers.add(motion.answer)
        if motion.wanted is not None:
            poll = motion.wanted
            self.world.after(
                self.delays[poll], lambda: self.vote(poll), key=(self.me, "vote", poll, self.starts)
            )
        due = motion.due(self.world.time)
        if due is not None and due != self._timer:
            self._timer = due
            self.world.at(due, lambda: self.wake() if self._timer == due else None)

    def _at_save(self, *, before: bool) -> None:
        """Crash before or after a record was stored, if this is to happen."""
        what = 2 * len(self.journal) - (0 if before else 1)
        if what in self.crashes:
            self.crashes.discard(what)
            raise Stopped

    def send(self, peer: int, frame: bytes) -> None:
        """Into the weather."""
        self.world.carry(self.me, peer, frame)


@dataclass
class World:
    """All members of a motion, and one clock."""

    seed: int
    n: int
    terms: Terms
    faults: int | None = None
    inputs: int = 4
    weather: Weather = field(default_factory=Weather)
    delta: float = 0.1
    rows: int = 0  # of the inputs, validation rows
    invites: bool = False
    time: float = 0.0
    frames: int = 0
    carried: int = 0  # bytes

    def __post_init__(self) -> None:
        nonce = hashlib.sha256(f"nonce {self.seed}".encode()).digest()[:16]
        seal = seal_of(bytes(range(32))) if self.invites else b""
        self.header = Header(
            bytes(32), 0, nonce, 0.0, self.terms, self.inputs, 2, rows=self.rows, seal=seal,
            shown=bytes(32) if self.rows else b"",
        )  # fmt: skip
        self.header.check(self.n)
        self.motion = motion_of(self.header.encoded())
        liars = most_faults(self.n) if self.faults is None else self.faults
        self.members = Members(self.n, liars, verify)
        self.random = random.Random(f"world {self.seed}")
        self.nodes: list[Node] = []
        self.partitions: list[tuple[float, float, frozenset[int]]] = []
        self.crossing: frozenset[int] = frozenset()  # whom no partition holds up
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0
        self._once: set[object] = set()
        self._sent: dict[bytes, int] = {}

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Let something happen at a time."""
        self._serial += 1
        heapq.heappush(self._events, (max(when, self.time), self._serial, call))

    def after(self, pause: float, call: Callable[[], None], key: object = None) -> None:
        """Let something happen later; of one key, once."""
        if key is None or key not in self._once:
            self._once.add(key)
            self.at(self.time + pause, call)

    def carry(self, sender: int, peer: int, frame: bytes) -> None:
        """Take a frame on its way, or lose it."""
        what = hashlib.blake2b(b"%d %d %d " % (self.seed, sender, peer) + frame, digest_size=16).digest()
        often = self._sent[what] = self._sent.get(what, 0) + 1
        rolled = hashlib.blake2b(what + often.to_bytes(4, "big"), digest_size=16).digest()
        lost = int.from_bytes(rolled[:6], "big") / (1 << 48)
        late = int.from_bytes(rolled[6:12], "big") / (1 << 48)
        if lost < self.weather.drop and self.time < self.weather.until:
            return
        for begin, end, side in self.partitions if not self.crossing & {sender, peer} else ():
            if begin <= self.time < end and (sender in side) != (peer in side):
                return
        delay = min(-self.weather.delay * math.log1p(-late), self.weather.most)
        self.at(self.time + delay, lambda: self._deliver(sender, peer, frame))

    def _deliver(self, sender: int, peer: int, frame: bytes) -> None:
        self.frames += 1
        self.carried += len(frame)
        self.nodes[peer].received(sender, frame)

    def run(self, until: float, done: Callable[[], bool] = lambda: False) -> None:
        """Let time pass, until all is done."""
        for node in self.nodes:
            self.after(0.0, node.start, key=("start", node.me))
        while self._events and self._events[0][0] <= until and not done():
            self.time, _, call = heapq.heappop(self._events)
            call()

    @property
    def honest(self) -> list[Node]:
        """Those who follow the rules."""
        return [node for node in self.nodes if node.honest]

    def decided(self) -> bool:
        """Whether all honest members know the answer."""
        return all(node.motion is not None and node.motion.answer is not None for node in self.honest)
