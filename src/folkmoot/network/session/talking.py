"""TALKING: in a round some peers are asked what they hold, and the protocol's rule says what follows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np

from folkmoot.arrays import Bools, Colours
from folkmoot.network.membership.roster import faults, quorum
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import BEFORE_THE_TALK, Event, Phase
from folkmoot.network.session.punctuality import Punctuality
from folkmoot.network.session.series import Series
from folkmoot.network.session.stance import Stance, is_first
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.testimony import Testimony
from folkmoot.protocols.machine import machine_of
from folkmoot.protocols.many import winners
from folkmoot.sampling import draw, trust_weights
from folkmoot.trust import heeded
from folkmoot.votes import UNCOLOURED

_ASKS_TO_SPARE: Final = 64  # beyond two for every round, which nobody has reason to exceed
MOST_CHANGES: Final = 4  # of its own that a node remembers of an input
MOST_ANSWERS: Final = 2560  # and of all inputs together, counted in answers


class OwnChange(NamedTuple):
    """A change of this node's mind: on which input, in which round, and after whose answers."""

    input: int
    round: int
    before: int
    after: int
    alpha: int
    answers: list[tuple[int, int, bool]]  # of whom (a place), which colour, and whether it counted


class Talking:
    """The rounds of one node, and its answers to others; ends when there is nothing more to ask."""

    def __init__(
        self,
        minutes: Minutes,
        patience: Patience,
        stance: Stance,
        rng: random.Random,
        weights: Sequence[float] | None,
    ) -> None:
        self.rounds = self.queries = 0
        self.series = Series(patience.began)
        self.latest: tuple[list[int], list[Colours]] = ([], [])  # who was asked last, and what was answered
        self.changes: list[OwnChange] = []
        self._noted: Counter[int] = Counter()  # changes by input
        self._minutes, self._patience, self._stance, self._rng = minutes, patience, stance, rng
        self._weights = weights
        motion, seat = minutes.motion, minutes.seat
        self._testimony = Testimony(minutes.name, seat.keys, motion.inputs, motion.classes)
        self._mute: set[int] = set()  # peers who found nobody to trust: there is nothing to hear from them
        self._punctuality = Punctuality(patience, minutes.health, seat.n)
        self._waiting: set[int] = set()
        self._asked: list[int] = []
        self._places = 0  # answers that the round wants
        self._replies = 0
        self._filled = False  # were others asked in the place of those who are late?
        self._answers: dict[int, Colours] = {}
        self._unmoved: set[int] = set()  # peers who still held their first votes when they were asked
        self._round_began = self._round_deadline = self._next_round = 0.0
        self._most_closed: float | None = None  # when all but f had closed
        self._asked_at, self._all_measured = 0.0, False  # when somebody was last asked in this round
        self._asked_by = [0] * seat.n

    def prepare(self) -> None:
        """Tabulate the rule, which is remembered: two seconds, with many labels."""
        machine_of(self._stance.rule, self._minutes.motion.classes)

    def begin(self, now: float) -> None:
        """The first round comes as if one had just ended."""
        self._schedule_round(now)

    def tick(self, now: float) -> Event | float:
        """End a round whose time is over, begin the next."""
        while True:
            if self.has_ended(now):
                return Event.TALKED
            if not self._waiting:
                break
            if now >= self._round_deadline:
                self._punctuality.late(self._waiting)
                if not self._fill(now):
                    self._end_round(now)
                    continue
            return min(self._round_deadline, self._latest(now))
        if now >= self._next_round and not self._begin_round(now):
            self._next_round = now + self._patience.pause
        waits = self._round_deadline if self._waiting else self._next_round
        return min(waits, self._latest(now))

    def stop(self) -> None:
        """Wait for nobody any more."""
        self._waiting = set()

    def has_ended(self, now: float) -> bool:
        """Whether there is no more time, nothing left to ask, or nobody to be asked."""
        if now >= self._latest(now) or self.rounds >= self._minutes.motion.rounds:
            return True
        judgement = self._minutes.judgement
        trusts_nobody = judgement is not None and not (judgement.weights > 0).any()
        return trusts_nobody or not self._stance.opinions.asking

    def _latest(self, now: float) -> float:
        """When the talk ends, whatever has been reached.

        A node far away needs longer for its rounds. When all but f have closed it talks for as long again as
        they did, and no longer: they do not wait for its close for ever.
        """
        seat, patience = self._minutes.seat, self._patience
        if len(self._minutes.closes) < seat.n - faults(seat.n):
            return patience.talk_by
        if self._most_closed is None:
            self._most_closed = now
        return min(patience.talk_by, patience.others_by(self._most_closed))

    # ---- asking ------------------------------------------------------------------------------

    def _schedule_round(self, now: float) -> None:
        """Poisson clocks: whoever asks next is drawn uniformly, which makes the moot the chain of theory."""
        pace = self._minutes.motion.pace
        self._next_round = now + (self._rng.expovariate(1.0 / pace) if pace > 0 else 0.0)

    def _begin_round(self, now: float) -> bool:
        """Ask; False if nobody is live."""
        self._asked = self._peers_of_a_query(now, self._stance.rule.k)
        if not self._asked:
            return False
        self._places, self._replies, self._filled = len(self._asked), 0, False
        self._waiting = set()
        self._answers.clear()
        self._round_began = now
        self._ask(self._asked, now)
        return True

    def _fill(self, now: float) -> bool:
        """Ask others, once, in the place of those who are late; False if that cannot be.

        With them a round lasts no longer than one answer may take at the most.
        """
        latest = self._round_began + self._patience.answer
        if self._filled or now >= latest:
            return False
        self._filled = True
        others = self._peers_of_a_query(now, self._places - self._replies, without=self._asked)
        if not others:
            return False
        self._asked = [*self._asked, *others]
        self._ask(others, now)
        self._round_deadline = min(self._round_deadline, latest)
        return True

    def _ask(self, peers: list[int], now: float) -> None:
        self._waiting.update(peers)
        query = m.Ask(self._minutes.name, self.rounds, self._testimony.something(self._rng))
        for peer in peers:
            self._punctuality.asked(peer, self.rounds, now)
            self._minutes.tell(peer, query)
        self.queries += len(peers)
        self._asked_at, self._all_measured = now, self._minutes.health.knows(self._waiting)
        self._round_deadline = now + self._punctuality.seconds(self._waiting)

    def _peers_of_a_query(self, now: float, k: int, without: Collection[int] = ()) -> list[int]:
        """k of the live peers, all alike; or, with trust, in proportion to it."""
        seat = self._minutes.seat
        self._punctuality.give_up(now)
        live, judgement = self._minutes.live_peers(now), self._minutes.judgement
        if judgement is None and len(live) + 1 < quorum(seat.n):
            return []  # too few to decide anything, and nobody should change its mind for so few
        live = [peer for peer in self._punctuality.usable(live) if peer not in without]
        if judgement is None:
            return self._rng.sample(live, min(k, len(live)))
        weights = np.zeros(seat.n)
        trusted = trust_weights(judgement.weights, seat.place)
        heard = [peer for peer in live if peer not in self._mute]
        weights[heard] = trusted[heard]
        return draw(weights, k, self._rng.random)

    def on_answer(self, now: float, peer: int, message: m.Answer) -> bool:
        """What a peer holds; whether the round has ended with it."""
        minutes = self._minutes
        self._punctuality.replied(peer, message.round, now)
        if minutes.phase is not Phase.TALKING or message.round != self.rounds or peer not in self._waiting:
            return False
        colours, evidence = self._testimony.take(peer, message)
        if evidence is not None:
            minutes.accuse(peer, evidence)
        if colours is not None:
            self._answers[peer] = colours
            if is_first(message.version):
                self._unmoved.add(peer)
            if minutes.judgement is not None and (colours == UNCOLOURED).all():
                self._mute.add(peer)
        return self._not_waiting_for(peer, now)

    def on_unready(self, now: float, peer: int, message: m.Unready) -> bool:
        """A peer has nothing to tell yet; whether the round has ended with it."""
        self._punctuality.replied(peer, message.round, now)
        if message.round != self.rounds or peer not in self._waiting:
            return False
        return self._not_waiting_for(peer, now)

    def _not_waiting_for(self, peer: int, now: float) -> bool:
        self._waiting.discard(peer)
        self._replies += 1
        if self._waiting and self._replies < self._places:
            if not self._all_measured:  # what is usual is known better now
                seconds = self._punctuality.seconds(self._waiting)
                self._round_deadline = min(self._round_deadline, self._asked_at + seconds)
                return True
            return False
        self._end_round(now)
        return True

    def _end_round(self, now: float) -> None:
        self._punctuality.give_up(now)
        self._waiting = set()
        self.rounds += 1
        self._schedule_round(now)
        changed = self._heed()
        heard = {peer: self._testimony.packed(peer) for peer in self._answers}
        self.series.add(now, self._asked, heard, changed)
        self.latest = (self._asked, list(self._answers.values()))

    def _heed(self) -> int:
        """Let what was heard count; on how many inputs that changed this node's mind."""
        if not self._answers:
            return 0
        self._stance.heard_somebody = True
        first = [held for peer, held in self._answers.items() if peer in self._unmoved]
        self._stance.settle_threshold(first or list(self._answers.values()))
        return 0 if self._nothing_new() else self._react()

    def _react(self) -> int:
        """Let the protocol's rule say what follows from the answers; on how many inputs that is new."""
        stance, classes = self._stance, self._minutes.motion.classes
        rule = stance.rule.scaled(self._places + 1)
        order = [*self._answers, *(p for p in self._asked if p not in self._answers)][: self._places]
        weights = None if self._weights is None else [self._weights[p] for p in order]
        assert isinstance(rule.alpha, int)  # noqa: S101 (a session has one threshold, its own)
        answers = list(self._answers.values())
        near = np.ones(len(answers), dtype=np.bool_)
        if self._minutes.anchored:
            # Honest first votes earn trust; who then says something else altogether is not heeded.
            near = heeded(stance.colours, np.stack(answers))
        heard = [
            answer if fine else np.full_like(answer, UNCOLOURED)
            for answer, fine in zip(answers, near, strict=True)
        ]
        stance.opinions.react(winners(heard, rule.alpha, classes, asked=self._places, weights=weights))
        changed = int(np.count_nonzero(stance.opinions.colours != stance.colours))
        if changed:
            self._note(stance.opinions.colours, rule.alpha, near)
            stance.change_to(stance.opinions.colours)
        return changed

    def _note(self, after: Colours, alpha: int, near: Bools) -> None:
        """Remember what the answers of this round have changed, as far as there is room."""
        before, told = self._stance.colours, list(zip(self._answers.items(), near.tolist(), strict=True))
        for i in np.flatnonzero(before != after).tolist():
            if (len(self.changes) + 1) * len(told) > MOST_ANSWERS:
                return
            if self._noted[i] < MOST_CHANGES:
                self._noted[i] += 1
                said = [(peer, int(colours[i]), fine) for (peer, colours), fine in told]
                self.changes.append(OwnChange(i, self.rounds, int(before[i]), int(after[i]), alpha, said))

    def _nothing_new(self) -> bool:
        """Everybody said to the byte what we hold, and the protocol keeps no count: nothing can change.

        Most rounds are like this, once a moot has agreed; it spares them the counting.
        """
        if self._stance.rule.decides:
            return False
        return all(self._stance.is_told(self._testimony.packed(peer)) for peer in self._answers)

    # ---- being asked -------------------------------------------------------------------------

    def on_ask(self, now: float, peer: int, message: m.Ask) -> None:
        """A peer wants to know what we hold."""
        minutes = self._minutes
        self._punctuality.asks(peer, now)
        self._asked_by[peer] += 1
        if self._asked_by[peer] > 2 * minutes.motion.rounds + _ASKS_TO_SPARE:
            return
        if message.heard is not None:
            evidence = self._testimony.compare(message.heard)
            if evidence is not None:
                minutes.accuse(message.heard.node, evidence)
        if not self.may_tell() or peer not in minutes.commits:
            minutes.tell(peer, m.Unready(minutes.name, message.round))
            return
        told = self._stance.told_to(peer)
        if told is not None:
            minutes.tell(peer, m.Answer(minutes.name, message.round, *told))

    def may_tell(self) -> bool:
        """Whether there is something to tell: after the first vote or, with trust, in the talk."""
        minutes = self._minutes
        early = minutes.motion.trust and minutes.phase in BEFORE_THE_TALK
        return minutes.voted is not None and not early
