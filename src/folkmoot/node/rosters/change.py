"""One member's part in agreeing on what follows a roster: the agreement of a motion, on one set.

The vote is on the name of a successor to which enough members have consented, as far as a node holds these
consents itself. Like a motion it knows no sockets, clocks and files. ``received`` and ``wake`` say what
happened, ``take`` what to store and then to send, ``due`` when to wake it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.successor import change_of
from folkmoot.node.session.agreement import Agreement, Pace, Source, Stages
from folkmoot.node.session.book import Book, Evidence
from folkmoot.node.session.desk import MOST_STATEMENTS, Desk, request
from folkmoot.node.session.frames import Have, Told, read, read_stored
from folkmoot.node.session.poll import order_of
from folkmoot.node.session.speaker import Outbox, Speaker
from folkmoot.node.session.statement import Sign

_SPARE: Final = 64  # statements in a frame, besides those of a whole reply


class Ready(Source):
    """Successors with enough consents, by name. Nobody is waited for, and consents are passed on apart."""

    def __init__(self, ready: Callable[[], Sequence[bytes]]) -> None:
        self.since = {}
        self._ready = ready

    def makeable(self) -> bool:
        return bool(self._ready())

    def complete(self) -> bool:
        return True

    def make(self) -> bytes:
        return self._ready()[0]

    def well_formed(self, body: bytes, _proposer: int | None) -> bool:
        return len(body) == len(bytes(32))

    def holds(self, body: bytes) -> bool:
        """Whether this node holds enough consents to it."""
        return body in self._ready()


class Change(Stages):
    """One member's part in agreeing on what follows ``old``."""

    def __init__(
        self, old: Roster, me: int, sign: Sign, ready: Callable[[], Sequence[bytes]], *, delta: float,
        records: Sequence[bytes] = (), now: float = 0.0,
    ) -> None:  # fmt: skip
        """``ready`` names the successors with enough consents; ``records`` is the journal, in order."""
        super().__init__(0)
        self.name = change_of(old.moot)
        self.members = old.members
        self.book = Book(self.name, self.members, 1)
        self.speaker = Speaker(self.name, me, sign, self.book)
        self._desk = Desk(self.book, self.speaker, delta, now)
        self._stored = {*records}
        told = [each for each in map(read_stored, records) if isinstance(each, Told)]
        for each in told:
            for said in each.said:
                self.book.add(said, stored=True)
        order = order_of(self.name, 0, len(old))
        self.agreements = [
            Agreement(
                0, 0, order=order, pace=Pace(delta), opened=now, source=Ready(ready), book=self.book,
                speaker=self.speaker,
            )
        ]  # fmt: skip
        for each in told:
            for body in each.bodies:
                self.stage.add_body(body.body)
        if told:
            own = [said for said in self.book.everything() if said.member == me]
            self.speaker.send(None, [said for said in own if said.round == self.stage.round])
            self.speaker.put(None, request(self.book, self))

    @property
    def decided(self) -> bytes | None:
        """The name of the successor that was agreed on."""
        return None if self.stage.decided is None else self.stage.bodies[self.stage.decided]

    @property
    def evidence(self) -> dict[int, Evidence]:
        """Against whom this member holds evidence."""
        return self.book.evidence

    def received(self, peer: int | None, frame: bytes, now: float) -> None:
        """Take in a frame of a member, or of whoever passes on what members said; ValueError if it is bad.

        Whoever passes a statement on has verified it: one that is not signed ends the work.
        """
        message = read(frame)
        if message.motion != self.name or not isinstance(message, Told | Have):
            raise ValueError("a frame must be about this change of the roster")
        if isinstance(message, Have):
            if peer is not None:
                self._desk.help([self], peer, message, now)
            return
        if len(message.said) > MOST_STATEMENTS * self.members.n + _SPARE or message.reveals:
            raise ValueError("a frame must have no more statements than a reply has, and no reveals")
        fresh, forged = False, self.book.forged
        for said in message.said:
            fresh = self.book.add(said) or fresh
            if self.book.forged > forged:
                raise ValueError("every statement must be signed by its member")
        for body in message.bodies:
            if (body.poll, body.stage) == (0, 0):
                fresh = self.stage.add_body(body.body) or fresh
        if fresh:
            self._desk.moved(now)
            self._step(now)

    def wake(self, now: float) -> None:
        """Time has passed, or more members have consented."""
        self._step(now)
        if self._active and now >= self._desk.stalls_at(self.stage):
            self._desk.ask(self, now)

    def due(self, now: float) -> float | None:
        """When to be woken, unless something happens before."""
        if not self._active:
            return None
        times = [self._desk.stalls_at(self.stage), self.stage.due(now)]
        return min(each for each in times if each is not None)

    def take(self) -> Outbox:
        """Data to store and, only then, to send."""
        outbox = self.speaker.take()
        outbox.records = [record for record in outbox.records if record not in self._stored]
        return outbox

    @property
    def _active(self) -> bool:
        """Whether it has begun, here or at others, and is not over."""
        return self.stage.decided is None and (self.stage.started is not None or self.book.size > 0)

    def _step(self, now: float) -> None:
        before = self._active
        self.stage.step(now)
        if self._active and not before:
            self._desk.begin(now)
        if self._active:
            self._desk.fetch(self)
