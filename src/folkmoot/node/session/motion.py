"""A motion: one or two polls, perhaps a talk between them, and the answer that is computed from them.

The answer of a large motion is not computed at once. If it is ``computable``, run ``answering()`` where it
holds up nobody, and hand the answer to ``conclude``.

``wanted`` says in which poll this member's votes are wanted; ``vote`` hands them in. Votes:

- an invitation (``header.invites``): its rows, sealed for the asker, or no bytes if it shows none
  (``review.pack_rows``, ``review.sealed``);
- poll 0: what its model says of all inputs (``review.ballots_of(header, 0).pack``). If there are validation
  rows among them: ``review.first_ballot``, with the labels of its own rows and, from the asker, the order;
- poll 1 after a talk: ``talked``, which is there as soon as poll 1 is wanted;
- poll 1 with ``believe="own"``: ``own.final_votes(header, n, me, tables, knowledge).ballot``.

No bytes at all are a ballot as well. Whoever has nothing to vote hands these in, and nobody waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from folkmoot.node.answer import answer_of, digest_of
from folkmoot.node.review import ballots_of, judge_of
from folkmoot.node.session.agreement import Pace
from folkmoot.node.session.frames import Answer, Ask, Have, Told
from folkmoot.node.session.header import Header, motion_of
from folkmoot.node.session.poll import Poll
from folkmoot.node.session.session import Session
from folkmoot.node.session.statement import NIL, Kind, Members, Sign
from folkmoot.node.session.talk import Talk

_QUICK: Final = 250_000  # votes: with more, the answer may take longer than 50 ms


class Motion(Session[Poll]):
    """One member's part in a motion."""

    def __init__(
        self, header: Header, members: Members, me: int, sign: Sign, *, delta: float,
        records: Iterable[bytes] = (), now: float = 0.0, seed: bytes = b"", holdout: tuple[int, int] = (0, 0),
    ) -> None:  # fmt: skip
        """``records`` is the journal, in order: with it a member never says anything else than before.

        For a talk: ``seed`` are secret random bytes that say whom it asks, and ``holdout`` is how many rows
        that it held out its own model had right, and how many these are.
        """
        super().__init__(
            motion_of(header.encoded()), members, me, sign, polls=header.polls, delta=delta, now=now
        )
        self.header = header
        self.answer: bytes | None = None
        self.alarms: set[int] = set()  # who computed another answer
        self.talk: Talk | None = None
        self._seed, self._holdout = seed, holdout
        self._early_asks: dict[int, Ask] = {}  # by peer, the last from before the talk
        self._refused: set[int] = set()
        self._begin(records, now)

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
        self.signer.say((Kind.RESULT, last, 0, 0), digest_of(self.name, answer))
        self._compare()

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

    def due(self, now: float) -> float | None:
        """When to be woken, unless something happens before."""
        return self.talk.due() if self.talking and self.talk is not None else super().due(now)

    # Inside

    def _open(self, now: float) -> None:
        """The next poll, which binds what the one before decided."""
        number = len(self.polls)
        before = (self.polls[-1].stage.decided or NIL) if self.polls else NIL
        poll = Poll(
            number, before, pace=Pace(self._delta, self.header.terms.window), opened=now, book=self.book,
            signer=self.signer, is_ballot=judge_of(self.header, number, self.members.n),
        )  # fmt: skip
        poll.secret = self._secrets.get(number)
        poll.commitments.refused |= self._refused
        self.polls.append(poll)

    def _absorb(self, told: Told, now: float, peer: int | None = None) -> bool:
        fresh = super()._absorb(told, now, peer)
        if any(said.kind == Kind.RESULT for said in told.said):
            self._compare()
        return fresh

    def _step(self, now: float) -> None:
        while self.answer is None and (self.polls[-1].step(now) or self._talk_on(now)):
            if self.polls[-1].table is not None:
                if self.computable:
                    if self.header.cost(self.members.n) <= _QUICK:
                        self.conclude(self.answering()())
                elif not self._begin_to_talk(now):
                    self._open(now)
            stage = self.polls[-1].stage
            if self._catchup.entered((stage.poll, stage.stage), now):
                self._use_early(now)
        if self._agreeing:
            self._catchup.fetch(self.polls[-1])

    @property
    def _agreeing(self) -> bool:
        return self.answer is None and not self.talking and not self.computable

    @property
    def talking(self) -> bool:
        """Whether this member still asks others."""
        return self.talk is not None and len(self.polls) == 1 and not self.talk.over

    def _begin_to_talk(self, now: float) -> bool:
        """Whether this member talks now: the terms say so, and it has not voted in the second poll."""
        terms, polls = self.header.terms, self.polls
        if self.talk is None and terms.protocol and not self.signer.has_said(Kind.COMMIT, 1, 0, 0):
            first = ballots_of(self.header, 0).table(polls[0].table or {}, self.members.n)
            self.talk = Talk(
                terms, first, delta=self._delta, began=now, signer=self.signer, seed=self._seed,
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

    def _asked_by(self, peer: int, message: Have | Ask | Answer, now: float) -> None:
        """In a talk a member answers as soon as the first votes are agreed, and as long as it is asked."""
        if isinstance(message, Have):
            super()._asked_by(peer, message, now)
        elif isinstance(message, Answer):
            if self.talk is not None:
                self.talk.heard(peer, message)
                self._step(now)
        elif self.talk is not None:
            self.talk.answer(peer, message)
        elif self.header.terms.protocol:
            self._early_asks[peer] = message

    def _compare(self) -> None:
        """Who signs another result computes differently: an alarm, and never part of the decision."""
        if self.answer is not None:
            digest = digest_of(self.name, self.answer)
            results = self.book.all_of((Kind.RESULT, len(self.polls) - 1, 0, 0))
            self.alarms |= {said.member for said in results if said.value != digest}
