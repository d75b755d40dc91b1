"""Agreement on one set: single-shot Tendermint (Buchman, Kwon and Milosevic 2018, algorithm 1).

Safe always; live once frames arrive. Each rule stands above the branch that plays it, with the lines of the
paper's algorithm. Four things are added to it.

- A rule says whom a new set may leave out (``_include_ok``). So no proposer can leave out who is in time.
- Prevotes carry ``just`` as proposals do, which is the paper's validRound. So a split leaves evidence.
- A member votes once it holds all that a set names, and asks for what it lacks (``catchup.py``).
- The first set may wait for slow members (``Pace``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from folkmoot.node.session.book import Book
from folkmoot.node.session.frames import Body, Part, Reveal
from folkmoot.node.session.sets import most_bytes, value_of
from folkmoot.node.session.signer import Signer
from folkmoot.node.session.statement import NIL, NO_ROUND, Kind, Quorum, Said


@dataclass(frozen=True)
class Pace:
    """How long a member waits, in seconds: for a frame, for the votes of slow models, for who was held up."""

    delta: float
    window: float = 0.0  # from the opening of the poll on
    late: float = 0.0  # after that, for members that learnt later than others that there is something to say

    def of(self, number: int) -> float:
        """Delta of a round: it grows, so that one is long enough in the end."""
        return self.delta * (1 + number / 2)


class Source(Protocol):
    """The parts of sets: commitments in stage 0, reveals in stage 1, successors of a roster."""

    since: dict[int, float]  # by member, since when its statement is held

    def makeable(self) -> bool:
        """Whether a set that is large enough can be made."""

    def complete(self) -> bool:
        """Whether a set can be made that lacks nobody."""

    def make(self) -> bytes:
        """The set of all that is held."""

    def well_formed(self, body: bytes, proposer: int | None) -> bool:
        """Whether it is a set that may be agreed on; of a new one, whether this member may propose it."""

    def holds(self, body: bytes) -> bool:
        """Whether all that the set names is held."""

    def lacks(self, body: bytes) -> list[int]:  # noqa: ARG002
        """Members that could be in it, and are not."""
        return []

    def of(self, member: int) -> list[Said | Reveal]:  # noqa: ARG002
        """The part of a member, to be passed on."""
        return []

    def is_gone(self, member: int) -> bool:  # noqa: ARG002
        """Whether a member has said that it takes no part, and has not committed after all."""
        return False


class _Verdict(Enum):
    YES = 1
    NO = 2
    WAIT = 3


class Agreement:
    """One member's part in agreeing on one set."""

    def __init__(
        self, poll: int, stage: int, *, order: list[int], pace: Pace, opened: float,
        source: Source, book: Book, signer: Signer,
    ) -> None:  # fmt: skip
        self.poll, self.stage, self.order, self.pace, self.opened = poll, stage, order, pace, opened
        self.source, self.book, self.signer = source, book, signer
        self.members, self.me = book.members, signer.me
        self.bodies: dict[bytes, bytes] = {}  # by value
        self.round = 0
        self.decided: bytes | None = None  # a value
        self.certificate: tuple[Said, ...] = ()  # precommits of a quorum in one round, by place
        self.started: float | None = None
        self._entered = opened
        self._prevoted_since: float | None = None  # when a quorum had prevoted anything in this round
        self._precommitted_since: float | None = None
        self._quorums: set[tuple[int, bytes]] = set()  # (round, value) with a quorum of prevotes that count
        self._valid: tuple[int, bytes] | None = None
        self._refused: set[int] = set()  # rounds of whose proposals somebody was left out
        self._resume()

    def _resume(self) -> None:
        """Go on in the latest round in which this member has said anything."""
        for kind in (Kind.PROPOSE, Kind.PREVOTE, Kind.PRECOMMIT):
            for number in self.book.rounds(kind, self.poll, self.stage):
                if self.signer.has_said(kind, self.poll, self.stage, number):
                    self.round = max(self.round, number)
        self.book.round[self.poll, self.stage] = self.round

    # What is held

    @property
    def quorum(self) -> Quorum:
        """The proof for others that the value is decided."""
        signed = tuple((said.member, said.signature) for said in self.certificate[: self.members.quorum])
        return Quorum(self.certificate[0].round, signed)

    def add_body(self, body: bytes) -> bool:
        """Keep a set that somebody has proposed or voted for; False if nobody has, or it is too long."""
        if len(body) > most_bytes(self.members.n):
            return False
        value = value_of(self.book.motion, self.poll, self.stage, body)
        if value in self.bodies or not self.is_named(value) or not self.source.well_formed(body, None):
            return False
        self.bodies[value] = body
        return True

    def is_named(self, value: bytes) -> bool:
        """Whether anybody has proposed it or voted for it."""
        return any(
            value in self.book.tally((kind, self.poll, self.stage, number))
            for kind in (Kind.PROPOSE, Kind.PREVOTE, Kind.PRECOMMIT)
            for number in self.book.rounds(kind, self.poll, self.stage)
        )

    def proposer(self, number: int) -> int:
        """The proposer of a round."""
        return self.order[number % len(self.order)]

    def lock(self) -> tuple[int, bytes] | None:
        """The last round in which this member precommitted a value, and that value."""
        for number in range(self.round, -1, -1):
            said = self.signer.has_said(Kind.PRECOMMIT, self.poll, self.stage, number)
            if said is not None and said.value != NIL:
                return number, said.value
        return None

    def has_quorum(self, number: int, value: bytes) -> bool:
        """Whether q prevotes of the value in that round are held.

        A prevote with just >= 0 counts only if the quorum of prevotes of that round is held, too.
        """
        if (number, value) in self._quorums:
            return True
        slot = self._slot(Kind.PREVOTE, number)
        if len(self.book.tally(slot).get(value, ())) < self.members.quorum:
            return False
        if len(self.prevotes(number, value)) < self.members.quorum:
            return False
        self._quorums.add((number, value))
        return True

    def prevotes(self, number: int, value: bytes) -> list[Said]:
        """The prevotes of a value that count, one of each member."""
        found = {
            said.member: said
            for said in self.book.all_of(self._slot(Kind.PREVOTE, number))
            if said.value == value and (said.just == NO_ROUND or self.has_quorum(said.just, value))
        }
        return list(found.values())

    def justification(self, number: int, value: bytes) -> list[Said]:
        """Those prevotes, and those that justify them."""
        found: list[Said] = []
        rounds, looked_at = {number}, {NO_ROUND}
        while rounds:
            each = max(rounds)
            looked_at.add(each)
            there = self.prevotes(each, value) if self.has_quorum(each, value) else []
            found += there
            rounds = (rounds | {said.just for said in there}) - looked_at
        return found

    def _slot(self, kind: Kind, number: int | None = None) -> tuple[int, int, int, int]:
        return kind, self.poll, self.stage, self.round if number is None else number

    def _body(self, value: bytes) -> bytes | None:
        """The set of a value, if all that it names is held."""
        body = self.bodies.get(value)
        return body if body is not None and self.source.holds(body) else None

    def _parts(self, body: bytes) -> list[Part]:
        return [Body(self.poll, self.stage, body)]

    # The rules

    def step(self, now: float) -> bool:
        """Do all that can be done now; whether anything was."""
        moved = False
        while self.decided is None and (
            self._decide()
            or self._start(now)
            or self._join(now)
            or self._validate()
            or self._propose(now)
            or self._prevote(now)
            or self._precommit(now)
            or self._next(now)
        ):
            moved = True
        return moved

    def _decide(self) -> bool:
        """q precommits v in any round -> decide, keep them as certificate (lines 49-54)."""
        for number, value in self.book.supported(Kind.PRECOMMIT, self.poll, self.stage, self.members.quorum):
            body = self._body(value)
            if body is not None:
                there = self.book.all_of(self._slot(Kind.PRECOMMIT, number))
                chosen = {said.member: said for said in there if said.value == value}
                self.certificate = tuple(chosen[i] for i in sorted(chosen))
                self.decided = value
                self.signer.store((*self.certificate, Body(self.poll, self.stage, body)))
                return True
        return False

    def _start(self, now: float) -> bool:
        """agree(0) from n-f commitments on; agree(1) from the first reveals on (line 10)."""
        if self.started is None and (self.source.makeable() or self.stage == 1):
            self.started = self._entered = now
            return True
        return False

    def _join(self, now: float) -> bool:
        """f+1 members in a later round -> join them (lines 55-56)."""
        later = self.book.round_of_some(self.poll, self.stage)
        return later > self.round and self._enter(later, now)

    def _enter(self, number: int, now: float) -> bool:
        if self.started is None:
            self.started = now
        self.round, self._entered = number, now
        self._prevoted_since = self._precommitted_since = None
        self.book.round[self.poll, self.stage] = number
        return True

    def _validate(self) -> bool:
        """q prevotes v -> valid = (r, v) (lines 36, 42-43)"""
        newest = -1 if self._valid is None else self._valid[0]
        for number, value in self.book.supported(Kind.PREVOTE, self.poll, self.stage, self.members.quorum):
            if number > newest and self.has_quorum(number, value) and self._body(value) is not None:
                self._valid = number, value
                return True
        return False

    def _propose(self, now: float) -> bool:
        """propose the newest valid value with its quorum of prevotes (just = its round); else a new set:
        complete at once, incomplete from start + max(5 delta, window) on (lines 14-19)
        """
        slot = self._slot(Kind.PROPOSE)
        if self.started is None or self.proposer(self.round) != self.me or self.book.of(slot, self.me):
            return False
        if self._valid is not None:
            just, value = self._valid
            quorum = self.justification(just, value)
            parts = self._parts(self.bodies[value])
            return self.signer.say(slot, value, just=just, store=(*quorum, *parts), send=(*quorum, *parts))
        if not self.source.makeable() or not (self.source.complete() or now >= self._from(5)):
            return False
        body = self.source.make()
        value = value_of(self.book.motion, self.poll, self.stage, body)
        self.bodies[value] = body
        return self.signer.say(slot, value, store=self._parts(body), send=self._parts(body))

    def _from(self, deltas: int) -> float:
        """So many delta after the start, not before the window for votes ends; later where some are late."""
        started = self.opened if self.started is None else self.started
        return max(started + deltas * self.pace.delta, self.opened + self.pace.window) + self.pace.late

    def is_late(self, now: float) -> bool:
        """Whether others may judge sets already, so that what comes first now is passed on to proposers."""
        if self.started is None or now <= self.opened + self.pace.window:
            return False
        return self.round > 0 or now > self._from(4)

    def _patience(self) -> float:
        """nil also when patience ends (window + 7 delta in round 0, 3 delta_r later); at once if there is
        nobody to wait for and the proposer takes no part
        """
        if self.round == 0:
            if self.source.is_gone(self.proposer(0)) and self.source.complete():
                return self._entered
            return self._from(0) + 7 * self.pace.delta
        return self._entered + 3 * self.pace.of(self.round)

    def _prevote(self, now: float) -> bool:
        """prevote v if well formed, all its data held, and ... (lines 22-33);
        own just = max(just, lockedRound if locked on v); else nil; nil also when patience ends (lines 57-60)
        """
        slot = self._slot(Kind.PREVOTE)
        if (
            self.started is None
            or self.book.of(slot, self.me)
            or self.book.of(self._slot(Kind.PRECOMMIT), self.me)
        ):
            return False
        proposals = self.book.of(self._slot(Kind.PROPOSE), self.proposer(self.round))
        verdicts = [self._judge(each, now) for each in proposals]
        if _Verdict.YES in verdicts:
            proposal = proposals[verdicts.index(_Verdict.YES)]
            lock = self.lock()
            on_it = lock is not None and lock[1] == proposal.value
            just = max(proposal.just, lock[0]) if lock is not None and on_it else proposal.just
            quorum = self.justification(just, proposal.value) if just >= 0 else []
            body = self._parts(self.bodies[proposal.value])
            more = quorum if just > proposal.just else []  # others may not hold it
            return self.signer.say(slot, proposal.value, just=just, store=(*quorum, *body), send=more)
        if now >= self._patience() or (proposals and _Verdict.WAIT not in verdicts):
            return self.signer.say(slot, NIL)
        return False

    def _judge(self, proposal: Said, now: float) -> _Verdict:
        """... what a prevote needs: v well formed, all its data held, and a reason by ``just``."""
        body = self.bodies.get(proposal.value)
        if body is None:
            return _Verdict.WAIT
        new, lock = proposal.just == NO_ROUND, self.lock()
        on_it = lock is not None and lock[1] == proposal.value
        if not self.source.well_formed(body, proposal.member if new else None):
            return _Verdict.NO
        if not self.source.holds(body):
            return _Verdict.WAIT
        # just = -1: (unlocked or locked on v) and include_ok(v) (line 23); the latter is not asked of a set
        # that one is locked on
        if new:
            if lock is not None:
                return _Verdict.YES if on_it else _Verdict.NO
            return self._include_ok(body, now)
        # just >= 0: q prevotes (just, v) held, and (lockedRound <= just or locked on v) (lines 28-29)
        if not self.has_quorum(proposal.just, proposal.value):
            return _Verdict.WAIT
        return _Verdict.YES if lock is None or lock[0] <= proposal.just or on_it else _Verdict.NO

    def _include_ok(self, body: bytes, now: float) -> _Verdict:
        """complete: yes; before start + 4 delta: wait; lacks somebody whose statement I have held for
        2 delta: NO, and send it to the next proposer.

        2 delta of the first round in all rounds: a liar that ends rounds early would else make them longer.
        """
        lacks = self.source.lacks(body)
        if not lacks:
            return _Verdict.YES
        if now < self._from(4):
            return _Verdict.WAIT
        long = now - 2 * self.pace.delta
        left_out = [i for i in lacks if i in self.source.since and self.source.since[i] <= long]
        if not left_out:
            return _Verdict.YES
        if self.round not in self._refused:
            self._refused.add(self.round)
            parts = [part for i in left_out for part in self.source.of(i)]
            self.signer.send(self.proposer(self.round + 1), parts)
        return _Verdict.NO

    def _precommit(self, now: float) -> bool:
        """q prevotes v -> lock (r, v); precommit v (lines 36-41).
        q prevotes nil, or q prevotes of any value and then delta_r -> precommit nil
        (lines 34-35, 44-46, 61-64)
        """
        slot, prevotes = self._slot(Kind.PRECOMMIT), self._slot(Kind.PREVOTE)
        if self.started is None or self.book.of(slot, self.me):
            return False
        tally = self.book.tally(prevotes)
        for value, who in tally.items():
            if value != NIL and len(who) >= self.members.quorum and self.has_quorum(self.round, value):
                body = self._body(value)
                if body is not None:
                    quorum = self.justification(self.round, value)
                    return self.signer.say(slot, value, store=(*quorum, *self._parts(body)))
        if len(tally.get(NIL, ())) >= self.members.quorum:
            return self.signer.say(slot, NIL)
        if self.book.speakers(prevotes) >= self.members.quorum and self.book.of(prevotes, self.me):
            if self._prevoted_since is None:
                self._prevoted_since = now
            if now >= self._prevoted_since + self.pace.of(self.round):
                return self.signer.say(slot, NIL)
        return False

    def _next(self, now: float) -> bool:
        """q precommits of any value and then delta_r -> round r+1 (lines 47-48, 65-67)"""
        if self.book.speakers(self._slot(Kind.PRECOMMIT)) < self.members.quorum:
            return False
        if self._precommitted_since is None:
            self._precommitted_since = now
        if now < self._precommitted_since + self.pace.of(self.round):
            return False
        return self._enter(self.round + 1, now)

    def due(self, now: float) -> float | None:
        """When to step again although nothing arrives."""
        if self.decided is not None or self.started is None:
            return None
        delta = self.pace.of(self.round)
        times = [self._patience(), self._from(4), self._from(5)]
        if self._prevoted_since is not None:
            times.append(self._prevoted_since + delta)
        if self._precommitted_since is not None:
            times.append(self._precommitted_since + delta)
        return min((each for each in times if each > now), default=None)

    def lacking(self) -> dict[bytes, list[int]]:
        """Values whose set, or what it names, is not held; and who has it: the proposer, or f + 1 voters."""
        proposer = self.proposer(self.round)
        found: dict[bytes, list[int]] = {}
        for said in self.book.of(self._slot(Kind.PROPOSE), proposer):
            if self._body(said.value) is None:
                found[said.value] = [proposer]
        for kind in (Kind.PREVOTE, Kind.PRECOMMIT):
            for number, value in self.book.supported(kind, self.poll, self.stage, self.members.faults + 1):
                if self._body(value) is None:
                    found[value] = sorted(self.book.tally(self._slot(kind, number))[value])
        return found


class Stages:
    """Agreements, one after the other: those of a poll, or the one on a change of the roster."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.agreements: list[Agreement] = []  # those that have begun
        self.reveals: dict[int, Reveal] = {}  # of agreed commitments, by member

    @property
    def opens_later(self) -> bool:
        """Whether another agreement will begin, which reveals are for."""
        return False

    @property
    def stage(self) -> Agreement:
        """The one that goes on, or was the last."""
        return self.agreements[-1]

    def add_body(self, body: Body) -> bool:
        """Keep a set of an agreement that has begun; whether it is new."""
        return self.agreements[body.stage].add_body(body.body)

    def add_reveal(self, reveal: Reveal) -> bool:  # noqa: ARG002
        """Keep votes; whether they are new, and of use."""
        return False

    def due(self, now: float) -> float | None:
        """When to step again although nothing arrives."""
        return self.stage.due(now)
