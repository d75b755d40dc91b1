"""The one way to ask for what was lost: ``Have``, marks of what one holds; whoever holds more sends it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Final

from folkmoot.node.session.agreement import Agreement, Stages
from folkmoot.node.session.book import Book
from folkmoot.node.session.frames import MARK, Body, Have, Part
from folkmoot.node.session.signer import Signer
from folkmoot.node.session.statement import NO_ROUND, Kind, Said

MOST_BYTES = 1 << 20  # of the sets and votes in a reply
MOST_STATEMENTS = 6  # in a reply, per member
_SLOWEST: Final = 8  # times the first pause between two requests


class CatchUp:
    """Asks for what its member lacks, and gives others what they lack."""

    def __init__(self, book: Book, signer: Signer, delta: float, now: float) -> None:
        self._book, self._signer, self._delta = book, signer, delta
        self._n, self._faults, self._me = book.members.n, book.members.faults, signer.me
        self._asked_at = self._moved_at = now  # when it last asked, and when it last heard of more
        self._asked = 0  # times since it last made progress
        self._helper = self._me
        self._place = (0, 0)  # poll and stage where this member is
        self._places: dict[int, tuple[int, int]] = {}  # by peer, the furthest (poll, stage) that it spoke of
        self._overtaken: dict[int, float] = {}  # who is further than this member, and when to ask it
        self._replied: dict[int, float] = {}
        self._fetched: set[tuple[bytes, int]] = set()

    def moved(self, now: float) -> None:
        """The member has heard of more."""
        self._moved_at, self._asked = now, 0

    def entered(self, place: tuple[int, int], now: float) -> bool:
        """The member is at a poll and stage; False if it was there."""
        if place == self._place:
            return False
        self._place = place
        self.begin(now)
        self._overtaken = {peer: now for peer, far in self._places.items() if far > place}
        return True

    def begin(self, now: float) -> None:
        """Nothing was asked for yet."""
        self._asked_at, self._asked = now, 0
        self._moved_at = now

    def is_at(self, peer: int, place: tuple[int, int], now: float) -> None:
        """A member spoke of a poll and stage. Whoever is further than this member knows what was decided.

        It is asked delta / 2 later: a member that lacks a precommit, which a liar sent to others alone, must
        still reveal in time. More than f + 1 need not be asked, since one of these is honest.
        """
        if place > self._places.get(peer, (0, 0)):
            self._places[peer] = place
            if place > self._place:
                self._overtaken.setdefault(peer, now + self._delta / 2)

    @property
    def _hurried(self) -> dict[int, float]:
        """The first f + 1 that are further, and when to ask each."""
        return dict(list(self._overtaken.items())[: self._faults + 1])

    def stalls_at(self, stage: Agreement) -> float:
        """stalled 2 delta: Have; then less and less often. Liars that say something new cannot put it off."""
        longest = 2 * stage.pace.of(stage.round)
        pause = longest * min(1.5 ** min(self._asked, 10), _SLOWEST)
        last = max(self._asked_at, self._moved_at)
        usual = min(last + pause, self._asked_at + _SLOWEST * longest)
        return min([usual, *self._hurried.values()])

    def ask(self, poll: Stages, now: float) -> None:
        """Have(stage, round, marks), first to all, then to the proposer and three others"""
        have = request(self._book, poll)
        due = [peer for peer, when in self._hurried.items() if when <= now]
        if due:
            for to in due:
                self._overtaken[to] = math.inf
                self._signer.put(to, have)
            return
        if self._asked == 0:
            self._signer.put(None, have)
        else:
            helpers = {poll.stage.proposer(poll.stage.round)}
            while len(helpers - {self._me}) < min(4, self._n - 1):
                self._helper = (self._helper + 1) % self._n
                helpers.add(self._helper)
            for to in sorted(helpers - {self._me}):
                self._signer.put(to, have)
        self._asked_at, self._asked = now, self._asked + 1

    def fetch(self, poll: Stages) -> None:
        """Ask once for the set of a proposal, and once of f + 1 who voted for a set that did not come."""
        for value, holders in poll.stage.lacking().items():
            many = min(len(holders), self._faults + 1)
            if (value, many) not in self._fetched:
                self._fetched.add((value, many))
                have = request(self._book, poll)
                for to in sorted(holders, key=lambda i: (i - self._me) % self._n)[:many]:
                    self._signer.put(to, have)

    def help(self, polls: Sequence[Stages], peer: int, have: Have, now: float) -> None:
        """Reply with what is lacking: bounded, and not more often than a frame takes."""
        if len(have.marks) > MARK * 64 * self._n or len(have.marks) % MARK:
            raise ValueError("a request must have whole marks, and not too many")
        if now < self._replied.get(peer, -math.inf) + self._delta / 2:
            return
        parts = reply(self._book, polls, have)
        if parts:
            self._replied[peer] = now
            self._signer.send(peer, parts)


def request(book: Book, poll: Stages) -> Have:
    """Ask for what this member lacks at the place where it is."""
    stage = poll.stage
    marks = b"".join(sorted(mark for mark, _ in _marked(book, _held(book, poll, stage, stage.round))))
    return Have(book.motion, poll.number, stage.stage, stage.round, marks)


def reply(book: Book, polls: Sequence[Stages], have: Have) -> list[Part]:
    """Frames that the sender of a ``Have`` lacks and this member holds, as much as fits."""
    if have.poll >= len(polls) or have.stage >= len(polls[have.poll].agreements):
        return []
    poll = polls[have.poll]
    stage = poll.agreements[have.stage]
    lengths = range(0, len(have.marks), MARK)
    known = {have.marks[i : i + MARK] for i in lengths}
    found: list[Part] = []
    size = statements = 0
    parts = _outcome(poll, stage) if stage.decided is not None else _held(book, poll, stage, have.round)
    for mark, part in _marked(book, parts):
        if mark in known:
            continue
        known.add(mark)
        if isinstance(part, Said):
            statements += 1
            if statements > MOST_STATEMENTS * book.members.n:
                continue
        else:
            size += len(part.body if isinstance(part, Body) else part.votes)
            if size > MOST_BYTES and found:
                continue
        found.append(part)
    return found


def _outcome(poll: Stages, stage: Agreement) -> Iterator[Part]:
    """What was decided: the quorum of precommits, the set, and the reveals in it."""
    yield from stage.certificate
    if stage.decided is not None:
        yield Body(poll.number, stage.stage, stage.bodies[stage.decided])
    if stage.stage == 1:
        yield from poll.reveals.values()


def _held(book: Book, poll: Stages, stage: Agreement, number: int) -> Iterator[Part]:
    """All of a stage from a round on, with the sets and the prevotes that it rests on."""
    if stage.stage == 0:
        yield from book.all_of((Kind.COMMIT, poll.number, 0, 0))
    else:
        yield from poll.reveals.values()
    values: dict[bytes, None] = {}
    rests_on: dict[tuple[int, bytes], None] = {}
    for kind in (Kind.PROPOSE, Kind.PREVOTE, Kind.PRECOMMIT):
        for each in book.rounds(kind, poll.number, stage.stage):
            for said in book.all_of((kind, poll.number, stage.stage, each)):
                if each >= number or kind == Kind.PRECOMMIT:
                    yield said
                    values[said.value] = None
                    if said.just != NO_ROUND:
                        rests_on[said.just, said.value] = None
    for just, value in rests_on:
        yield from stage.justification(just, value)
    for value in values:
        if value in stage.bodies:
            yield Body(poll.number, stage.stage, stage.bodies[value])


def _marked(book: Book, parts: Iterator[Part]) -> Iterator[tuple[bytes, Part]]:
    for part in parts:
        if isinstance(part, Said):
            yield book.mark(part), part
        elif isinstance(part, Body):
            yield hashlib.sha256(part.body).digest()[:MARK], part
        else:
            yield (
                hashlib.sha256(bytes([part.poll]) + part.member.to_bytes(4, "big") + part.salt).digest()[
                    :MARK
                ],
                part,
            )
