"""A member's part in agreements that follow each other: a motion, or the change of a roster.

It knows no sockets, clocks, threads or files. ``received`` and ``wake`` say what happened and when.
``take`` says what to store and, after that, what to send, and ``due`` when to be woken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final, Generic, TypeVar

from folkmoot.node.session.agreement import Stages
from folkmoot.node.session.book import Book, Evidence
from folkmoot.node.session.catchup import CatchUp, request
from folkmoot.node.session.frames import Answer, Ask, Have, Secret, Told, read, read_stored
from folkmoot.node.session.signer import Outbox, Signer
from folkmoot.node.session.statement import Kind, Members, Sign

_REMEMBERED: Final = 1 << 13  # signatures: of twice as many commitments as a moot has members

Each = TypeVar("Each", bound=Stages)


class Session(ABC, Generic[Each]):
    """One member's part in ``polls``, the last of which goes on."""

    def __init__(
        self, name: bytes, members: Members, me: int, sign: Sign, *, polls: int, delta: float, now: float
    ) -> None:
        # A commitment comes alone and in sets: its signature is verified once.
        members = replace(members, verify=lru_cache(_REMEMBERED)(members.verify))
        self.name, self.members, self.me = name, members, me
        self.book = Book(name, members, polls)
        self.signer = Signer(name, me, sign, self.book)
        self.polls: list[Each] = []
        self._delta = delta
        self._catchup = CatchUp(self.book, self.signer, delta, now)
        self._secrets: dict[int, Secret] = {}  # own votes, by poll
        self._unused: dict[int, Told] = {}  # by peer, the last with sets or votes that it could not judge yet

    def _begin(self, records: Iterable[bytes], now: float) -> None:
        """Open the first poll, and go on from the journal: nothing else is ever said than before."""
        known = set(records := list(records))
        told: list[Told] = []
        for frame in map(read_stored, records):
            if isinstance(frame, Secret):
                self._secrets[frame.poll] = frame
            else:
                told.append(frame)
                for said in frame.said:
                    self.book.add(said, stored=True)
        self._open(now)
        while sum(self._absorb(each, now) for each in told):
            self._step(now)
        if known:
            outbox = self.signer.outbox
            outbox.records = [record for record in outbox.records if record not in known]
            self._say_again()

    def _say_again(self) -> None:
        """What it said last, and that it lacks what was said since."""
        stage = self.polls[-1].stage
        own = [
            said for said in self.book.everything()
            if said.member == self.me and said.poll == stage.poll
            and (said.kind == Kind.COMMIT or (said.stage == stage.stage and said.round == stage.round))
        ]  # fmt: skip
        self.signer.send(None, own)
        if self._agreeing:
            self.signer.put(None, request(self.book, self.polls[-1]))

    @property
    def evidence(self) -> dict[int, Evidence]:
        """Against whom this member holds evidence."""
        return self.book.evidence

    def received(self, peer: int | None, frame: bytes, now: float) -> None:
        """Take in a frame of a member, or of somebody else who passes on what members said.

        ValueError if it is none of ours, or has a forged statement. Nobody honest passes one on, and what
        follows a forged statement is not looked at: a frame of them costs one signature.
        """
        message = read(frame)
        if message.motion != self.name:
            raise ValueError("a frame must be about this motion")
        if isinstance(message, Told):
            forged = self.book.forged
            if self._absorb(message, now, peer):
                self._step(now)
            if self.book.forged > forged:
                raise ValueError("statements must be signed by their members")
            if peer is not None:
                for place in self._places(peer, message):
                    self._catchup.is_at(peer, place, now)
        elif peer is not None:
            self._asked_by(peer, message, now)

    def _places(self, peer: int, told: Told) -> Iterator[tuple[int, int]]:
        """The (poll, stage) of what a member says itself; a result comes after all of them."""
        for said in told.said:
            if said.member == peer:
                yield (self.book.polls, 0) if said.kind == Kind.RESULT else (said.poll, said.stage)
        for reveal in told.reveals:
            if reveal.member == peer:
                yield reveal.poll, 1

    def _asked_by(self, peer: int, message: Have | Ask | Answer, now: float) -> None:
        if not isinstance(message, Have):
            raise ValueError("a frame must be of an agreement")
        self._catchup.is_at(peer, (message.poll, message.stage), now)
        self._catchup.help(self.polls, peer, message, now)

    def wake(self, now: float) -> None:
        """Time has passed, or something else is different."""
        self._step(now)
        if self._agreeing and now >= self._catchup.stalls_at(self.polls[-1].stage):
            self._catchup.ask(self.polls[-1], now)

    def due(self, now: float) -> float | None:
        """When to be woken, unless something happens before."""
        if not self._agreeing:
            return None
        times = [self._catchup.stalls_at(self.polls[-1].stage), self.polls[-1].due(now)]
        return min(each for each in times if each is not None)

    def take(self) -> Outbox:
        """Data to store and, only then, to send."""
        return self.signer.take()

    def _absorb(self, told: Told, now: float, peer: int | None = None) -> bool:
        """Keep what is new; whether anything was."""
        fresh = early = False
        forged = self.book.forged
        for said in told.said:
            fresh |= self.book.add(said)
            if self.book.forged > forged:
                told = Told(told.motion)
                break
        for body in told.bodies:
            if body.poll < len(self.polls) and body.stage < len(self.polls[body.poll].agreements):
                fresh |= self.polls[body.poll].add_body(body)
            else:
                early |= self._is_early(body.poll)
        for reveal in told.reveals:
            new = reveal.poll < len(self.polls) and self.polls[reveal.poll].add_reveal(reveal)
            fresh |= new
            early |= not new and self._is_early(reveal.poll)
        if early and peer is not None:
            self._unused[peer] = told
        if fresh:
            self._catchup.moved(now)
        return fresh

    def _is_early(self, poll: int) -> bool:
        """Whether a part of this poll that is of no use now may be of use later."""
        return len(self.polls) <= poll < self.book.polls or (
            poll == len(self.polls) - 1 and self.polls[poll].opens_later
        )

    def _use_early(self, now: float) -> None:
        """At another place what came too early may be of use."""
        unused, self._unused = self._unused, {}
        for peer, told in unused.items():
            self._absorb(told, now, peer)

    @abstractmethod
    def _open(self, now: float) -> None:
        """The next poll."""

    @abstractmethod
    def _step(self, now: float) -> None:
        """Do all that can be done now."""

    @property
    @abstractmethod
    def _agreeing(self) -> bool:
        """Whether this member lacks what others may have."""
