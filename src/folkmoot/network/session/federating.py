"""TALKING in a federated motion: signed statements instead of rounds, until quorums of their choice agree.

The rules are those of ``folkmoot.federated.ballots``, which ``Delegate`` carries out; here is what they need
of a network.

- At its beginning a node signs its quorum set, once a motion (``Choice``), and tells all.
- What it says is one statement on all inputs (``Ballot``). At every change its number goes up; it is stored,
  signed and sent to all. A node that is started again goes on from the last one that it stored.
- What others say counts once their choice is known. Two choices of one node, or two ballots of which the
  later takes back what the earlier says, are evidence; a node that is caught is not listened to any more.
- Now and then a node says its last statement again, and asks two others for what it lacks (``Lacking``):
  what was lost is found, and whoever tells two things is found out. First votes that were shown late count
  as soon as they are there.
- A node stays at counter n for 6 n units of time. What is undecided at the end of the talk stays so.

A node that has closed goes on hearing and answering until the motion is over, since slower ones may need it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.arrays import Array
from folkmoot.federated.agreement import MOST_COUNTERS, Delegate, Statement
from folkmoot.federated.ballots import NONE
from folkmoot.federated.ballots import patience as rounds_at
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.network.membership.roster import faults
from folkmoot.network.session.asking import OwnChange
from folkmoot.network.session.ballot_box import BallotBox
from folkmoot.network.session.federated_stance import FederatedStance
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import Event, Phase
from folkmoot.network.session.revealing import Revealing
from folkmoot.network.session.series import Series
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.ballots import (
    form_of,
    pack_statement,
    phases_of,
)
from folkmoot.network.wire.federated_verdict import heard_sets
from folkmoot.votes import UNCOLOURED

_UNITS: Final = 300  # of time in a motion: the first five counters take 90
_SHORTEST, _LONGEST = 0.02, 1.0  # seconds of a unit


@dataclass(frozen=True)
class Federation:
    """What a node brings to a federated motion: the names of all by place, and its own quorum set."""

    names: Sequence[str]
    own: QuorumSet | None


class Federating:
    """The statements of one node, and what it hears; ends when it has decided all inputs, or none is left."""

    def __init__(
        self,
        minutes: Minutes,
        patience: Patience,
        stance: FederatedStance,
        rng: random.Random,
        federation: Federation | None,
        weights: Sequence[float] | None,
        revealing: Revealing,
    ) -> None:
        self.queries = 0  # statements that it made
        self.series = Series(patience.began)
        self.latest: tuple[list[int], list[Array]] = ([], [])
        self.changes: list[OwnChange] = []
        self._minutes, self._patience, self._stance, self._rng = minutes, patience, stance, rng
        self._federation, self._weights, self._revealing = federation, weights, revealing
        self._unit = min(max(minutes.motion.seconds / _UNITS, _SHORTEST), _LONGEST)
        self._delegate: Delegate | None = None
        self._statement: Statement | None = None  # the last that was said
        self._entered: Array = np.zeros(minutes.motion.inputs)  # when it came to its counter, by input
        self._began = self._next_turn = self._next_resend = self._next_pull = 0.0
        self._most_closed: float | None = None
        self.box = BallotBox(minutes, rng)

    # ---- what a session asks -----------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """The highest counter that it has come to."""
        return 0 if self._statement is None else int(self._statement.counter.max(initial=0))

    def phases(self) -> list[str]:
        """How far it is with each input, in a word; nothing before it has begun."""
        return [] if self._statement is None else phases_of(self._statement, self._stance.decided)

    def apart(self) -> float | None:
        """There are no numbers."""
        return None

    def stop(self) -> None:
        """Say no more than what was said."""

    def on_ask(self, _now: float, _peer: int, message: m.Ask) -> m.Message | None:
        """Nobody is asked in such a motion."""
        return m.Unready(self._minutes.name, message.round)

    def on_answer(self, _now: float, _peer: int, _message: m.Answer) -> bool:
        """Nobody was asked."""
        return False

    def on_unready(self, _now: float, _peer: int, _message: m.Unready) -> bool:
        """Nobody was asked."""
        return False

    # ---- the phase ---------------------------------------------------------------------------

    def begin(self, now: float) -> None:
        """Say by which quorum set this node decides, and hear what others have said meanwhile."""
        self._began = self._next_turn = now
        self._next_resend = now + self._patience.answer
        self._next_pull = now + 3 * self._unit
        self._entered[:] = now
        own = self._own_choice()
        if own is None or self._federation is None:
            return
        self._minutes.tell_all(own)
        self._delegate = self._made(self._federation)
        for place in sorted(self._minutes.ballots):
            if place != self._minutes.seat.place:
                self._hear(place)

    def tick(self, now: float) -> Event | float:
        """Draw conclusions that are due, say the last statement again, ask others for what is lacking."""
        if now >= min(self._next_turn, self._next_timer()) and now < self._latest(now):
            self._turn(now, timers=True)
        if self._has_ended(now):
            # A last look at what two others hold: who says two things cannot say the same to all.
            self._pull(now)
            return Event.TALKED
        if now >= self._next_resend:
            self._next_resend = now + self._patience.answer
            self._say_again()
        if now >= self._next_pull:
            self._next_pull = now + min(6 * self._unit, self._patience.answer)
            self._pull(now)
        due = min(self._next_turn, self._next_timer(), self._next_resend, self._next_pull)
        return min(due, self._latest(now))

    def _has_ended(self, now: float) -> bool:
        delegate = self._delegate
        if delegate is None or now >= self._latest(now):
            return True
        open_ = delegate.decided == NONE
        if not open_.any():
            return True
        if (self.queries == 0 and self._statement is None) or not delegate.quiet[open_].all():
            return False
        # Nobody wants anything on what is left: no label has enough first votes. Others may say more.
        minutes = self._minutes
        unheard = [peer for peer in minutes.live_peers(now) if peer not in minutes.ballots]
        return now >= self._began + (2 if unheard else 1) * self._patience.answer

    def _latest(self, now: float) -> float:
        """When the talk ends, whatever has been reached; soon after most have closed."""
        minutes, patience = self._minutes, self._patience
        if len(minutes.closes) < minutes.seat.n - faults(minutes.seat.n):
            return patience.talk_by
        if self._most_closed is None:
            self._most_closed = now
        return min(patience.talk_by, patience.others_by(self._most_closed))

    def _next_timer(self) -> float:
        """When the time at some counter is over."""
        delegate = self._delegate
        if delegate is None:
            return float("inf")
        due = self._over_at()[(delegate.decided == NONE) & (delegate.counter < MOST_COUNTERS)]
        return float(due.min(initial=np.inf))

    def _over_at(self) -> Array:
        """(input,): when the time at its counter is over; at once before the first."""
        assert self._delegate is not None  # noqa: S101
        counter = self._delegate.counter
        return np.where(counter == 0, self._began, self._entered + self._unit * rounds_at(counter))

    def _turn(self, now: float, *, timers: bool) -> None:
        """Let the rules say what follows from what was heard, and tell all if that is new."""
        delegate = self._delegate
        if delegate is None:
            return
        self._next_turn = float("inf")
        if self._minutes.shown is not None:
            delegate.hear_first(self._minutes.shown)
        before = delegate.counter
        due = (self._over_at() <= now) & (before < MOST_COUNTERS) if timers else False
        statement = delegate.turn(due)
        self._entered[delegate.counter != before] = now
        self._stance.hold(delegate.decided, statement.wanted)
        if self._statement is None or not _same(self._statement, statement):
            self._statement = statement
            self._say(statement)

    def _say(self, statement: Statement) -> None:
        minutes = self._minutes
        place = minutes.seat.place
        known = minutes.ballots.get(place)
        number = 1 if known is None else known.number + 1
        packed = pack_statement(statement, minutes.motion.classes)
        digest = bytes.fromhex(statement.quorum_set)
        bare = m.Ballot(minutes.name, place, number, digest, packed, bytes(64))
        signature = minutes.seat.key.sign(statements.balloted(bare))
        ballot = m.Ballot(minutes.name, place, number, digest, packed, signature)
        minutes.ballots[place] = ballot
        minutes.saves.append(ballot)
        minutes.tell_all(ballot)
        self.queries += 1

    def _say_again(self) -> None:
        minutes = self._minutes
        for said in (minutes.choices, minutes.ballots):
            own = said.get(minutes.seat.place)
            if own is not None:
                minutes.tell_all(own)

    def _pull(self, now: float) -> None:
        """Ask two others for what this node lacks."""
        live = self._minutes.live_peers(now)
        have = b"".join(self.box.mark(place) for place in range(self._minutes.seat.n))
        for peer in self._rng.sample(live, min(2, len(live))):
            self._minutes.tell(peer, m.Lacking(self._minutes.name, have))
        self._revealing.ask_again(now, self._rng)

    # ---- what peers say, whenever they do ----------------------------------------------------

    def receive(self, now: float, peer: int, message: m.Choice | m.Ballot | m.Lacking) -> bool:
        """Take a message of a federated motion; whether something is due after it."""
        if isinstance(message, m.Lacking):
            self.box.relay(peer, message)
            return False
        minutes = self._minutes
        if not self.box.take(message) or self._delegate is None:
            return False
        self._hear(message.node)
        if minutes.phase is Phase.CLOSING:
            self._turn(now, timers=False)
            return False
        soon = now + self._unit / 4  # what others say at about the same time is drawn from at once
        if soon < self._next_turn:
            self._next_turn = soon
            return minutes.phase is Phase.TALKING
        return False

    # ---- the delegate ------------------------------------------------------------------------

    def _own_choice(self) -> m.Choice | None:
        """The quorum set by which this node decides: the one it has signed, or signs now."""
        minutes = self._minutes
        place = minutes.seat.place
        if place in minutes.choices:
            return minutes.choices[place]
        if self._federation is None or self._federation.own is None:
            return None
        form = form_of(self._federation.own)
        bare = m.Choice(minutes.name, place, form, bytes(64))
        choice = m.Choice(minutes.name, place, form, minutes.seat.key.sign(statements.chosen(bare)))
        minutes.choices[place] = choice
        minutes.saves.append(choice)
        return choice

    def _made(self, federation: Federation) -> Delegate:
        minutes = self._minutes
        place, names = minutes.seat.place, list(federation.names)
        shown = minutes.shown
        if shown is None:
            shown = np.full((minutes.seat.n, minutes.motion.inputs), UNCOLOURED, dtype=np.int8)
            shown[place] = minutes.motion.form.unpack_first(minutes.own.first)
        sets = heard_sets(minutes.choices, minutes.seat.n)
        judgement = minutes.judgement
        delegate = Delegate(
            names[place],
            dict(zip(names, sets, strict=True)),
            dict(zip(names, shown, strict=True)),
            classes=minutes.motion.classes,
            weights=None if self._weights is None else dict(zip(names, self._weights, strict=True)),
            leaning=judgement.start if judgement is not None and judgement.anchored else None,
        )
        own = minutes.ballots.get(place)
        if own is not None:  # of an earlier start: what was said stays said
            self._statement = self.box.read(own)
            delegate.resume(self._statement)
        return delegate

    def _hear(self, place: int) -> None:
        """Let the delegate hear what a node says, once its quorum set is known."""
        minutes, delegate, federation = self._minutes, self._delegate, self._federation
        choice, ballot = minutes.choices.get(place), minutes.ballots.get(place)
        if delegate is None or federation is None or choice is None or place in minutes.cheats:
            return
        name = federation.names[place]
        delegate.learn(name, self.box.set_of(choice)[0])
        if ballot is not None:
            self._stance.heard_somebody = True
            delegate.hear(name, self.box.last_of(ballot))


def _same(one: Statement, other: Statement) -> bool:
    """Whether two statements say the same; the second may have room for more counters."""
    return (
        np.array_equal(one.wanted, other.wanted)
        and np.array_equal(one.counter, other.counter)
        and one.said.shape[1] <= other.said.shape[1]
        and np.array_equal(one.said, other.said[:, : one.said.shape[1]])
        and bool((other.said[:, one.said.shape[1] :] == NONE).all())
    )
