"""One motion under way at one node: what its session wants is stored, then sent, then worked on.

The session (``session/motion.py``) says what to store, what to send and when to be woken. Here are the world
around it: inputs, the model, own final votes, refusals, evidence, the certificate, and the asker's deadline.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from folkmoot.aggregation.texts import Candidate, Choice
from folkmoot.arrays import Array
from folkmoot.node.answer import proposals
from folkmoot.node.ballots import Choices
from folkmoot.node.certificate import certificate_of, verify
from folkmoot.node.evidence import what_of
from folkmoot.node.membership.roster import Roster
from folkmoot.node.own import OwnVotes, final_votes
from folkmoot.node.review import ballots_of, first_ballot
from folkmoot.node.service.context import NodeContext
from folkmoot.node.service.holdout import rows_shown, rows_to_show
from folkmoot.node.service.inputs import Inputs
from folkmoot.node.service.models import Model
from folkmoot.node.service.records import knowledge
from folkmoot.node.service.scheduling import Answered, Question
from folkmoot.node.service.voting import ModelVotes, chosen_by, question_of, votes_on
from folkmoot.node.session.header import Header
from folkmoot.node.session.motion import Motion
from folkmoot.node.session.statement import NIL, Kind
from folkmoot.node.storage.storage import Part, Round
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.messages import (
    LONGEST_REASON,
    Announce,
    Chunk,
    Fetch,
    Message,
    Refuse,
    encode,
    refusal,
)

# Delta before the window of a poll ends in which a member commits to what it has: one until it knows of the
# motion, one until others hold its commitment, two for which they have held it when they judge a set.
MARGIN: Final = 4
FETCHES: Final = 8  # times that a peer may have a chunk
LINGER: Final = 60.0  # seconds after the end of a motion in which it is kept in memory
REPLACED: Final = "its roster was replaced before it was decided"
_TO_COME_BACK: Final = 0.5  # seconds before that in which the answers of a service must be there
_MOST_REASONS: Final = 4  # refusals that a member may send in one motion, beside one of each other


class RunningMotion:
    """One motion under way."""

    def __init__(
        self,
        context: NodeContext,
        over: Callable[[RunningMotion], None],
        roster: Roster,
        place: int,
        announce: Announce,
        header: Header,
        *,
        ends: float,
        records: Sequence[bytes] = (),
        batch: Batch | None = None,
        part: Part | None = None,
        is_over: bool = False,
    ) -> None:
        """``over`` is told when the motion was decided, or its asker waits no longer.

        ``place`` is this node's, ``ends`` when the asker stops waiting, by the transport's clock.

        ``records`` are the journal of a motion that is taken up again, ``part`` what the node noted of it.
        One that ``is_over`` is taken up for those who still ask about it.
        """
        now, holdout = context.transport.now(), context.own.holdout
        self.context, self.roster, self.place, self.header = context, roster, place, header
        self.announce, self.ends, self.began = announce, ends, now
        self.asker = roster.peers[header.asker]  # the fingerprint of the member that put it
        self.confirmed = header.asker == place  # whether its asker itself has told of it
        self.is_over = is_over  # for who waits: decided, or past the deadline
        self.refusals: dict[int, str] = {}
        self.shares: dict[str, float] = {}  # of the first votes, by label, once somebody has looked
        self.reason = "" if part is None else part.abstained
        self.motion = Motion(
            header, roster.members, place, context.me.key.sign, delta=context.settings.delta, records=records,
            now=now, seed=context.settings.randbytes(32), holdout=(holdout.right, len(holdout)),
        )  # fmt: skip
        self.name = self.motion.name
        self._tell_over = over
        self._batch = batch
        self._inputs: Inputs | None = None
        self._rows: dict[int, Array] = {}  # inputs by chunk, for choices and for weights by nearness
        self._choosing = False
        self._busy: int | None = None  # the poll for which votes are being made
        self._cancel: Callable[[], None] | None = None
        self._wakes = math.inf
        self._is_computing = False
        self._accused: set[int] = set()
        self._alarms: set[int] = set()
        self._read: Counter[int] = Counter()  # refusals, by who sent them
        self._fetched: Counter[int] = Counter()
        self._sent = 0 if part is None else part.bytes_sent
        self._received = 0 if part is None else part.bytes_received
        self._part = part or Part()
        self._weights: dict[str, float] = self._part.weights
        self._fell_back = self._part.fell_back
        self.stopped, self.is_concluded, self._last = False, is_over, False
        self.is_old = is_over  # nobody follows it any more, but for those who ask for what they missed
        self._over_at = now

    @property
    def committed(self) -> list[int]:
        """Members that have committed to first votes."""
        return sorted({said.member for said in self.motion.book.all_of((Kind.COMMIT, 0, 0, 0))})

    # What happens

    def received(self, peer: int, frame: bytes) -> None:
        """A frame of the session; ValueError if it is none."""
        self._received += len(frame)
        try:
            self.motion.received(peer, frame, self._now())
        finally:
            self.settle()

    def refused(self, peer: int, message: Refuse) -> None:
        """A member says that it takes no part, or why it has no votes on some inputs.

        The second commits as well. So the asker waits until a commitment would be there, and then tells all
        that nobody need wait for this member. A commitment that comes nevertheless cancels that.
        """
        member, self._received = message.member, self._received + len(message.reason)
        n = len(self.roster)
        if member >= n or member == self.place or self._read[peer] >= n + _MOST_REASONS:
            return
        self._read[peer] += 1
        if not self.roster.members.verify(member, message.words, message.signature):
            raise ValueError("a refusal must be signed by its member")
        new = member not in self.refusals
        self.refusals[member] = message.reason
        if peer == self.header.asker:
            self.motion.refuse(member, self._now())
            self.settle()
        elif new and self.place == self.header.asker:
            when = self._now() + self.context.settings.delta
            self.context.transport.later(when, lambda: self._spread(message))
        self.context.changed(self.name)

    def _spread(self, message: Refuse) -> None:
        if self.context.broken or self.stopped or message.member in self.committed:
            return
        for peer in self.others:
            if peer != message.member:
                self.send(peer, message)
        self.motion.refuse(message.member, self._now())
        self.settle()

    def chunk(self, peer: int, message: Chunk) -> None:
        """Inputs, from the asker."""
        self._received += len(message.data)
        if self._inputs is None or peer != self.header.asker:
            return
        self._inputs.arrived(message.index, message.data)
        self._inputs.step(self._now())
        self._arm()

    def fetched(self, peer: int, index: int) -> None:
        """A member wants inputs: the asker sends them, some times at the most."""
        if self.place != self.header.asker or index >= len(self.header.chunks):
            raise ValueError("inputs must be fetched from the asker")
        if self._batch is None:  # the motion is over, or this node was started again
            return
        self._fetched[peer] += 1
        if self._fetched[peer] > FETCHES * len(self.header.chunks):
            raise ValueError("inputs must not be fetched that often")
        self.send(peer, Chunk(self.name, index, self._chunk(index)))

    def announced_until(self, remaining: float) -> None:
        """The asker itself tells of the motion, and perhaps of more time than somebody else had told."""
        self.confirmed = True
        ends = min(self._now() + remaining, self.began + self.header.terms.seconds)
        if not self.is_over and ends > self.ends:
            self.ends = ends
            self._arm()

    def tell(self, peer: int) -> None:
        """Announce the motion to a peer."""
        remaining = self.ends - self._now()
        self.send(peer, Announce(self.announce.header, self.announce.signature, remaining))

    def stop(self, why: str) -> None:
        """Give the motion up."""
        if not self.stopped and self.motion.answer is None:
            self.context.storage.stop(self.name, why, self.context.transport.clock(), **self._summary())
            self.context.log("info", "motion stopped", motion=self.name.hex(), why=why)
        self.drop()
        self._end()

    def roster_ended(self) -> None:
        """The roster of the motion was replaced: it goes on until the deadline that was agreed to."""
        self._last = True
        if self.is_over and self.motion.answer is None:
            self.stop(REPLACED)

    @property
    def lingers_until(self) -> float:
        """Until when others may still ask about it without its being read again."""
        return max(self.ends, self._over_at) + LINGER

    def drop(self) -> None:
        """Do nothing any more."""
        self.stopped = True
        self.context.scheduler.cancel(self.name)
        if self._cancel is not None:
            self._cancel()
        self._cancel = self._batch = None

    # Inside

    def _now(self) -> float:
        return self.context.transport.now()

    def send(self, peer: int, message: Message) -> None:
        """Send a message about this motion."""
        self._transmit(peer, encode(message))

    def _transmit(self, peer: int, frame: bytes) -> None:
        self._sent += len(frame)
        self.context.send(self.roster.peers[peer], frame)

    @property
    def others(self) -> list[int]:
        """All other members."""
        return [peer for peer in range(len(self.roster)) if peer != self.place]

    def settle(self) -> None:
        """Store, then send, then work: in this order, so that nothing is said that could be forgotten."""
        context = self.context
        if context.broken or self.stopped:
            return
        outbox = self.motion.take()
        if outbox.records:
            try:
                context.storage.append(self.name, outbox.records, context.transport.clock())
            except BaseException:
                context.broken = True  # what follows must not be said
                raise
        for to, frame in outbox.frames:
            for peer in self.others if to is None else [to]:
                self._transmit(peer, frame)
        self._accuse()
        self._compute()
        self._conclude()
        self._vote()
        self._arm()
        if not self.is_old:
            context.changed(self.name)

    def _arm(self) -> None:
        """Be woken when the session, the inputs or the deadline wants it."""
        if self.stopped:
            return
        now = self._now()
        times = [math.inf if self.is_over else self.ends]
        if (due := self.motion.due(now)) is not None:
            times.append(due)
        if self._inputs is not None:
            times += [self._inputs.due(), self._cutoff(0)]
        if self._choosing:
            times.append(self._cutoff(1))
        when = min(times)
        if when == self._wakes:
            return
        if self._cancel is not None:
            self._cancel()
        self._wakes, self._cancel = when, None
        if when < math.inf:
            self._cancel = self.context.transport.later(max(when, now), self._wake)

    def _wake(self) -> None:
        if self.context.broken or self.stopped:
            return
        self._wakes, self._cancel = math.inf, None
        now = self._now()
        if self._inputs is not None:
            self._inputs.step(now)
            if now >= self._cutoff(0):
                self._vote_first()
        if self._choosing and now >= self._cutoff(1):
            self._stay_with_own()
        self.motion.wake(now)
        if now >= self.ends:
            self._end()
            if self._last and self.motion.answer is None:
                self.stop(REPLACED)
        self.settle()

    def _end(self) -> None:
        """Nobody waits for the motion any more."""
        if not self.is_over:
            self.is_over, self._over_at = True, self._now()
            self._tell_over(self)

    def _accuse(self) -> None:
        context = self.context
        for member in self.motion.evidence.keys() - self._accused:
            self._accused.add(member)
            evidence = self.motion.evidence[member]
            if context.storage.accuse(self.name, evidence, context.transport.clock()):
                context.counts["evidence"] += 1
                context.log(
                    "warning", "evidence", motion=self.name.hex(), against=self.roster.names[member],
                    what=what_of(evidence),
                )  # fmt: skip
        for member in self.motion.alarms - self._alarms:
            self._alarms.add(member)
            context.counts["other_results"] += 1
            name = self.roster.names[member]
            context.log("error", "a member computed another result", motion=self.name.hex(), member=name)

    def _compute(self) -> None:
        """Have the answer of a large motion computed while the node does other things."""
        if self.motion.computable and not self._is_computing:
            self._is_computing = True
            self.context.transport.compute(self.motion.answering(), self._computed)

    def _computed(self, answer: bytes) -> None:
        if not self.stopped:
            self.motion.conclude(answer)
            self.settle()

    def _conclude(self) -> None:
        """Make the certificate once the answer is known, and look whether others will accept it."""
        answer = self.motion.answer
        if answer is None or self.is_concluded:
            return
        context = self.context
        data = certificate_of(self.motion, self.announce.signature)
        verify(data, self.roster, answer=answer)
        self.is_concluded = True
        context.storage.conclude(self.name, answer, data, context.transport.clock(), **self._summary())
        context.log(
            "info", "motion decided", motion=self.name.hex(), seconds=round(self._now() - self.began, 3)
        )
        self._end()

    def _summary(self) -> dict[str, Any]:
        names = self.roster.names
        return {
            "seconds": round(self._now() - self.began, 6),
            "bytes_sent": self._sent,
            "bytes_received": self._received,
            "refused": {names[member]: why for member, why in sorted(self.refusals.items())},
            "abstained": self.reason,
            "weights": self._weights,
            "fell_back": self._fell_back,
            **self._rounds(),
        }

    def _rounds(self) -> dict[str, Any]:
        """The rounds of its talk that are kept."""
        talk, names, labels = self.motion.talk, self.roster.names, self.header.terms.labels
        if talk is None:
            return {}
        rounds = [
            Round(
                each.round, round(each.at - self.began, 3), [names[i] for i in each.asked],
                [names[i] for i in each.heard], each.changed,
                {labels[i]: share for i, share in each.shares.items()},
            )
            for each in talk.past
        ]  # fmt: skip
        return {"rounds": msgspec.to_builtins(rounds), "rounds_played": talk.round}

    # Votes

    def _vote(self) -> None:
        """Begin to make the votes that are wanted."""
        poll, header = self.motion.wanted, self.header
        if poll is None or poll == self._busy:
            if poll is None and self._inputs is not None:
                self._leave_inputs()
            return
        self._busy = poll
        if header.invites:
            ballot, why = rows_to_show(self.context, self.name, header, self.place)
            if why:
                self.say_why(why)
            self._cast(poll, ballot)
        elif poll == 0:
            self._begin_inputs()
        elif header.terms.answers == "text":
            self._choose()
        elif self.motion.talked is not None:
            self._cast(poll, self.motion.talked)
        else:
            self._cast_own()

    def _cast(self, poll: int, votes: bytes) -> None:
        self.motion.vote(poll, votes, self.context.settings.randbytes(32), self._now())
        self.settle()

    def _begin_inputs(self) -> None:
        header = self.header
        patience = 4 * self.context.settings.delta
        own = rows_shown(self.context, self.name, header) if header.rows else None
        self._inputs = Inputs(header, self._fetch, self._ask_model, patience=patience, own=own)
        self._inputs.step(self._now())
        self._try_vote()

    def _leave_inputs(self) -> None:
        """They are not wanted any more."""
        self._inputs = None
        self.context.scheduler.cancel(self.name)

    def _fetch(self, index: int) -> None:
        if self.place != self.header.asker:
            self.send(self.header.asker, Fetch(self.name, index))
        elif self._batch is not None and self._inputs is not None:
            self._inputs.arrived(index, self._chunk(index))

    def _chunk(self, index: int) -> bytes:
        return b"" if self._batch is None else self._batch.chunk(index)

    def _ask_model(self, index: int, rows: Array) -> None:
        header, now = self.header, self.context.transport.now
        until = self._cutoff(0) - min(_TO_COME_BACK, header.terms.window / 10)
        if header.terms.answers == "text" or header.rows:
            self._rows[index] = rows

        def ask(model: Model, start: int, stop: int, wanted: Callable[[], bool]) -> ModelVotes:
            return votes_on(model, header, rows[start:stop], wanted, lambda: until - now())

        def done(found: Answered[ModelVotes]) -> None:
            if self._inputs is None:
                return
            cast = self._inputs.answered(index, found.parts, found.trouble)
            log, motion = self.context.log, self.name.hex()
            if cast.reason:
                log("warning", "abstains", motion=motion, why=cast.reason, detail=cast.detail)
            if cast.unchecked and index == 0:
                log("info", "columns unchecked", motion=motion, why=cast.unchecked)
            self._inputs.step(self._now())
            self._try_vote()
            self._arm()

        self.context.scheduler.ask(Question(self.name, self.asker, len(rows), ask, done, chunk=index))

    def _try_vote(self) -> None:
        if self._inputs is not None and self._inputs.complete:
            self._vote_first()

    def _cutoff(self, poll: int) -> float:
        """When a member commits to the votes that it has, so that these are in the set."""
        window, delta = self.header.terms.window, self.context.settings.delta
        return self.motion.polls[poll].opened + max(window - MARGIN * delta, window / 2)

    def _vote_first(self) -> None:
        """Commit to what the model has said so far."""
        inputs, header = self._inputs, self.header
        if inputs is None or self.motion.wanted != 0:
            return
        votes, reason = inputs.ballot(self.context.scheduler.so_far(self.name))
        if header.rows:
            order = bytes.fromhex(self._part.order) if header.asker == self.place else b""
            ballot = first_ballot(header, votes, inputs.places, order)
        else:
            ballot = ballots_of(header, 0).pack(votes)
        self._leave_inputs()
        if reason:
            self.say_why(reason)
        self._cast(0, ballot)

    def say_why(self, reason: str) -> None:
        """Tell all why this node has no votes, or not on all inputs."""
        self.reason = reason[:LONGEST_REASON]
        self.refusals[self.place] = self.reason
        signature = self.context.me.key.sign(refusal(self.name, self.place, self.reason))
        message = Refuse(self.name, self.place, self.reason, signature)
        for peer in self.others:
            self.send(peer, message)

    @property
    def _candidates(self) -> list[tuple[Candidate, ...]]:
        return proposals(
            self.header, self.motion.tables[0], self.motion.polls[0].agreements[0].decided or NIL
        )

    def _choose(self) -> None:
        """Choose among the texts that were proposed, by this node's own rule, until the window ends."""
        header, place, how = self.header, self.place, self.context.own.choose
        found = self._candidates
        rows = [row for _, chunk in sorted(self._rows.items()) for row in chunk]
        questions = [question_of(header, row) for row in rows]
        if how == "own-model" and len(questions) < header.inputs:
            self._fell_back = "it was started again, and does not hold the inputs any more"
        secret, now = self.context.settings.randbytes(32), self.context.transport.now
        until = self._cutoff(1) - min(_TO_COME_BACK, header.terms.window / 10)
        self._choosing = True

        def ask(model: Model, start: int, stop: int, wanted: Callable[[], bool]) -> ModelVotes:
            ask_model = model.say if len(questions) == header.inputs and wanted() else None
            say = None if ask_model is None else lambda prompts: ask_model(prompts, until - now())
            return chosen_by(how, say, place, questions[start:stop], found[start:stop], secret)

        def done(answered: Answered[ModelVotes]) -> None:
            if self.stopped or not self._choosing:
                return
            why = answered.trouble or next((part.detail for part in answered.parts if part.reason), "")
            if why:
                self.context.log("warning", "no choice", motion=self.name.hex(), why=why)
            choices = [each for part in answered.parts for each in part.votes]
            self._cast_choices([*choices, *[None] * (header.inputs - len(choices))])

        self.context.scheduler.ask(Question(self.name, self.asker, header.inputs, ask, done))
        self._arm()

    def _stay_with_own(self) -> None:
        """Choose one's own proposals: the model was too slow."""
        self._fell_back = "its model was too slow to choose, so it stayed with its own texts"
        self.context.log("warning", "no choice", motion=self.name.hex(), why=self._fell_back)
        self.context.scheduler.cancel(self.name)
        self._cast_choices(chosen_by("same", None, self.place, [], self._candidates, b"").votes)

    def _cast_choices(self, choices: Sequence[Choice | None]) -> None:
        self._choosing, self._rows = False, {}
        if self.motion.wanted == 1:
            self._cast(1, Choices(self.header.inputs).pack(choices))

    def _cast_own(self) -> None:
        """Final votes by what only this node knows, worked out beside the model."""
        header, roster, tables = self.header, self.roster, self.motion.tables
        own = knowledge(self.context.storage, self.context.own.holdout, header, roster)
        n, place = len(roster), self.place
        chunks = [rows for _, rows in sorted(self._rows.items())]
        whole = sum(map(len, chunks)) == header.inputs  # not after a restart
        inputs = np.concatenate(chunks) if whole and chunks else None

        def job() -> OwnVotes:
            return final_votes(header, n, place, tables, own, inputs)

        def done(answered: Answered[Any]) -> None:
            if self.stopped or self.motion.wanted != 1:
                return
            if answered.trouble:
                self.context.log("error", "no final votes", motion=self.name.hex(), why=answered.trouble)
                self._cast(1, b"")
                return
            found: OwnVotes = answered.parts[0]
            weights = (round(float(weight), 6) for weight in found.weights)
            self._weights = dict(zip(roster.names, weights, strict=True))
            self._fell_back = found.why or ""
            if found.why:
                self.context.log("info", "fell back to plurality", motion=self.name.hex(), why=found.why)
            self._cast(1, found.ballot)

        self.context.scheduler.work(self.name, self.asker, job, done)
