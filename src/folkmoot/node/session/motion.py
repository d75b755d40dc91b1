"""A motion: one or two polls, perhaps a talk between them, and the answer that is computed from them.

It knows no sockets, clocks, threads or files. ``received``, ``wake`` and ``vote`` say what happened and when.
``take`` says what to store and, after that, what to send, and ``due`` when to be woken.

The answer of a large motion is not computed at once. If it is ``computable``, run ``answering()`` where it
holds up nobody, and hand the answer to ``conclude``.

``wanted`` says in which poll this member's votes are wanted; ``vote`` hands them in. Votes:

- an invitation (``header.invites``): its rows, sealed for the asker, or no bytes if it shows none
  (``review.pack_rows``, ``sealing.sealed``);
- poll 0: what its model says of all inputs (``review.ballots_of(header, 0).pack``). If there are validation
rows
  among them: ``review.first_ballot``, with the labels of its own rows and, from the asker, the order;
- poll 1 after a talk: ``talked``, which is there as soon as poll 1 is wanted;
- poll 1 with ``believe="own"``: ``own.final_votes(header, n, me, tables, knowledge).ballot``.

No bytes at all are a ballot as well. Whoever has nothing to vote hands these in, and nobody waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

from folkmoot.node.answer import answer_of, digest_of
from folkmoot.node.review import ballots_of, judge_of
from folkmoot.node.session.agreement import Pace
from folkmoot.node.session.book import Book, Evidence
from folkmoot.node.session.desk import Desk, request
from folkmoot.node.session.frames import Answer, Ask, Have, Secret, Told, read, read_stored
from folkmoot.node.session.header import Header, motion_of
from folkmoot.node.session.poll import Poll
from folkmoot.node.session.speaker import Outbox, Speaker
from folkmoot.node.session.statement import NIL, Kind, Members, Said, Sign
from folkmoot.node.session.talk import Talk

_QUICK: Final = 250_000  # votes: with more, the answer may take longer than 50 ms
_REMEMBERED: Final = 1 << 13  # signatures: of twice as many commitments as a moot has members


def _spoken_of(peer: int, told: Told, polls: int) -> Iterator[tuple[int, int]]:
    """The (poll, stage) of what a member says itself; a result comes after all of them."""
    for said in told.said:
        if said.member == peer:
            yield (polls, 0) if said.kind == Kind.RESULT else (said.poll, said.stage)
    for reveal in told.reveals:
        if reveal.member == peer:
            yield reveal.poll, 1


class Motion:
    """One member's part in a motion."""

    def __init__(
        self, header: Header, members: Members, me: int, sign: Sign, *, delta: float,
        records: Iterable[bytes] = (), now: float = 0.0, seed: bytes = b"", holdout: tuple[int, int] = (0, 0),
    ) -> None:  # fmt: skip
        """``records`` is the journal, in order: with it a member never says anything else than before.

        For a talk: ``seed`` are secret random bytes that say whom it asks, and ``holdout`` is how many rows
        that it held out its own model had right, and how many these are.
        """
        # A commitment comes alone and in sets: its signature is verified once.
        members = replace(members, verify=lru_cache(_REMEMBERED)(members.verify))
        self.header, self.members, self.me = header, members, me
        self.name = motion_of(header.encoded())
        self.book = Book(self.name, members, header.polls)
        self.speaker = Speaker(self.name, me, sign, self.book)
        self.polls: list[Poll] = []
        self.answer: bytes | None = None
        self.alarms: set[int] = set()  # who computed another answer
        self.talk: Talk | None = None
        self._seed, self._holdout = seed, holdout
        self._early_asks: dict[int, Ask] = {}  # by peer, the last from before the talk
        self._delta = delta
        self._desk = Desk(self.book, self.speaker, delta, now)
        self._refused: set[int] = set()
        self._unused: dict[int, Told] = {}  # by peer, the last with sets or votes that it could not judge yet
        known = list(records)
        secrets: dict[int, Secret] = {}
        told: list[Told] = []
        for record in known:
            frame = read_stored(record)
            if isinstance(frame, Secret):
                secrets[frame.poll] = frame
            else:
                told.append(frame)
        for each in told:
            for said in each.said:
                self.book.add(said, stored=True)
        self._secrets = secrets
        self._open(now)
        while sum(self._absorb(each, now) for each in told):
            self._step(now)
        if known:
            outbox = self.speaker.outbox
            outbox.records = [record for record in outbox.records if record not in set(known)]
            self._say_again()

    def _say_again(self) -> None:
        """What it said last, and that it lacks what was said since."""
        stage = self.polls[-1].stage
        own = [
            said for said in self.book.everything()
            if said.member == self.me and said.poll == stage.poll
            and (said.kind == Kind.COMMIT or (said.stage == stage.stage and said.round == stage.round))
        ]  # fmt: skip
        self.speaker.send(None, own)
        if self._agreeing:
            self.speaker.put(None, request(self.book, self.polls[-1]))

    # What happens

    @property
    def wanted(self) -> int | None:
        """The poll in which this member's votes are wanted: it has not committed there yet."""
        poll = self.polls[-1]
        return poll.number if poll.agreed is None and not poll.has_committed else None

    @property
    def talked(self) -> bytes | None:
        """The member's votes after a talk."""
        return self.talk.held if self.talk is not None and len(self.polls) == 2 else None

    @property
    def tables(self) -> list[dict[int, bytes]]:
        """The agreed votes of the polls that are over, by member."""
        return [poll.table for poll in self.polls if poll.table is not None]

    @property
    def evidence(self) -> dict[int, Evidence]:
        """Against whom this member holds evidence."""
        return self.book.evidence

    @property
    def computable(self) -> bool:
        """Whether all votes are agreed, and nothing but the answer is lacking."""
        is_over = len(self.polls) == self.header.polls and self.polls[-1].table is not None
        return is_over and self.answer is None

    def answering(self) -> Callable[[], bytes]:
        """A function that computes the answer; it may run in another thread."""
        coin = self.polls[0].agreements[0].decided or NIL
        members = self.members
        return partial(answer_of, self.header, self.tables, coin, members.n, members.faults)

    def conclude(self, answer: bytes) -> None:
        """answer = rule(votes, H(C)); sign RESULT(H(answer))"""
        self.answer = answer
        last = len(self.polls) - 1
        self.speaker.say((Kind.RESULT, last, 0, 0), digest_of(self.name, answer))
        for said in self.book.all_of((Kind.RESULT, last, 0, 0)):
            self._compare(said)

    def vote(self, poll: int, votes: bytes, salt: bytes, now: float) -> None:
        """Commit to votes of this member; ``salt`` is 32 random bytes. ValueError if these are no ballot."""
        if self.wanted == poll:
            if not self.polls[poll].is_ballot(self.me, votes):
                raise ValueError(f"votes of poll {poll} must be a ballot: got {len(votes):,} other bytes")
            self.polls[poll].commit(votes, salt)
            self._step(now)

    def refuse(self, member: int, now: float) -> None:
        """A member has said that it takes no part: nobody waits for its commitments, but takes them."""
        if 0 <= member < self.members.n and member not in self._refused:
            self._refused.add(member)
            for poll in self.polls:
                poll.commitments.refused.add(member)
            self._step(now)

    def received(self, peer: int, frame: bytes, now: float) -> None:
        """Take in a frame of a member; ValueError if it is none of ours, or has a forged statement.

        Nobody honest passes one on, and what follows a forged statement is not looked at: a frame of them
        costs one signature.
        """
        message = read(frame)
        if message.motion != self.name:
            raise ValueError("a frame must be about this motion")
        if isinstance(message, Have):
            self._desk.is_at(peer, (message.poll, message.stage), now)
            self._desk.help(self.polls, peer, message, now)
        elif isinstance(message, Ask):
            self._asked_by(peer, message)
        elif isinstance(message, Answer):
            if self.talk is not None:
                self.talk.heard(peer, message)
                self._step(now)
        else:
            forged = self.book.forged
            if self._absorb(message, now, peer):
                self._step(now)
            if self.book.forged > forged:
                raise ValueError("statements must be signed by their members")
            for place in _spoken_of(peer, message, self.header.polls):
                self._desk.is_at(peer, place, now)

    def wake(self, now: float) -> None:
        """Time has passed."""
        self._step(now)
        if self._agreeing and now >= self._desk.stalls_at(self.polls[-1].stage):
            self._desk.ask(self.polls[-1], now)

    def due(self, now: float) -> float | None:
        """When to be woken, unless something happens before."""
        if self.answer is not None or self.computable:
            return None
        if self.talking and self.talk is not None:
            return self.talk.due()
        times = [self._desk.stalls_at(self.polls[-1].stage), self.polls[-1].due(now)]
        return min(each for each in times if each is not None)

    def take(self) -> Outbox:
        """Data to store and, only then, to send."""
        return self.speaker.take()

    # Inside

    def _open(self, now: float) -> None:
        """The next poll, which binds what the one before decided."""
        number = len(self.polls)
        before = (self.polls[-1].stage.decided or NIL) if self.polls else NIL
        poll = Poll(
            number, before, pace=Pace(self._delta, self.header.terms.window), opened=now, book=self.book,
            speaker=self.speaker, is_ballot=judge_of(self.header, number, self.members.n),
        )  # fmt: skip
        poll.secret = self._secrets.get(number)
        poll.commitments.refused |= self._refused
        self.polls.append(poll)

    def _absorb(self, told: Told, now: float, peer: int | None = None) -> bool:
        """Keep what is new; whether anything was."""
        fresh: list[bool] = []
        early, forged = False, self.book.forged
        for said in told.said:
            fresh.append(self.book.add(said))
            if self.book.forged > forged:
                told = Told(told.motion)
                break
        for body in told.bodies:
            if body.poll >= len(self.polls) or body.stage >= len(self.polls[body.poll].agreements):
                early = True
                continue
            poll = self.polls[body.poll]
            if poll.agreements[body.stage].add_body(body.body):
                fresh.append(True)
                if body.stage == 0:
                    fresh += [self.book.add(said) for said in poll.commitments.statements(body.body)]
        for reveal in told.reveals:
            if reveal.poll < len(self.polls):
                poll = self.polls[reveal.poll]
                fresh.append(poll.add_reveal(reveal))
                early = early or not (fresh[-1] or poll.agreed)
            else:
                early = True
        if early and peer is not None:
            self._unused[peer] = told
        if any(fresh):
            self._desk.moved(now)
        for said in told.said:
            if said.kind == Kind.RESULT:
                self._compare(said)
        return any(fresh)

    def _step(self, now: float) -> None:
        while self.answer is None and (self.polls[-1].step(now) or self._talk_on(now)):
            if self.polls[-1].table is not None:
                if self.computable:
                    if self.header.cost(self.members.n) <= _QUICK:
                        self.conclude(self.answering()())
                elif not self._begin_to_talk(now):
                    self._open(now)
            stage = self.polls[-1].stage
            if self._desk.entered((stage.poll, stage.stage), now):
                unused, self._unused = self._unused, {}
                for peer, told in unused.items():
                    self._absorb(told, now, peer)
        if self._agreeing:
            self._desk.fetch(self.polls[-1])

    @property
    def _agreeing(self) -> bool:
        """Whether this member lacks what others may have."""
        return self.answer is None and not self.talking and not self.computable

    @property
    def talking(self) -> bool:
        """Whether this member still asks others."""
        return self.talk is not None and len(self.polls) == 1 and not self.talk.over

    def _begin_to_talk(self, now: float) -> bool:
        """Whether this member talks now: the terms say so, and it has not voted in the second poll."""
        terms, polls = self.header.terms, self.polls
        if self.talk is None and terms.protocol and not self.speaker.has_said(Kind.COMMIT, 1, 0, 0):
            first = ballots_of(self.header, 0).table(polls[0].table or {}, self.members.n)
            self.talk = Talk(
                terms, first, delta=self._delta, began=now, speaker=self.speaker, seed=self._seed,
                holdout=self._holdout,
            )  # fmt: skip
            for peer, ask in self._early_asks.items():
                self.talk.answer(peer, ask)
        return self.talking

    def _talk_on(self, now: float) -> bool:
        if self.talk is None or len(self.polls) > 1:
            return False
        voted = self.book.speakers((Kind.COMMIT, 1, 0, 0))
        return self.talk.step(now, others_are_done=voted >= self.members.least)

    def _asked_by(self, peer: int, ask: Ask) -> None:
        """In a talk a member answers as soon as the first votes are agreed, and as long as it is asked."""
        if self.talk is not None:
            self.talk.answer(peer, ask)
        elif self.header.terms.protocol:
            self._early_asks[peer] = ask

    def _compare(self, said: Said) -> None:
        """Who signs another result computes differently: an alarm, and never part of the decision."""
        if self.answer is not None and said.value != digest_of(self.name, self.answer):
            self.alarms.add(said.member)
