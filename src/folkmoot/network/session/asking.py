"""Rounds: in each some peers are asked what they hold, and others are answered; what follows is a rule's."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Final, NamedTuple

import numpy as np

from folkmoot.arrays import Array
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import BEFORE_THE_TALK, Event, Phase
from folkmoot.network.session.punctuality import Punctuality
from folkmoot.network.session.series import Series
from folkmoot.network.session.stance import Holding
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.testimony import Testimony
from folkmoot.node.membership.roster import faults, quorum
from folkmoot.sampling import draw, trust_weights

_ASKS_TO_SPARE: Final = 64  # beyond two for every round, which nobody has reason to exceed


class OwnChange(NamedTuple):
    """A change of this node's mind: on which input, in which round, and after whose answers."""

    input: int
    round: int
    before: int
    after: int
    alpha: int
    answers: list[tuple[int, int, bool]]  # of whom (a place), which colour, and whether it counted


class Asking(ABC):
    """The rounds of one node, and its answers to others; ends when there is nothing more to ask."""

    def __init__(
        self,
        minutes: Minutes,
        patience: Patience,
        stance: Holding,
        rng: random.Random,
    ) -> None:
        self.rounds = self.queries = 0
        self.number = 0  # of the present round, as others are told it
        self.series = Series(patience.began)
        self.latest: tuple[list[int], list[Array]] = ([], [])  # who was asked last, and what was answered
        self.changes: list[OwnChange] = []
        self._minutes, self._patience, self._stance, self._rng = minutes, patience, stance, rng
        motion, seat = minutes.motion, minutes.seat
        self._testimony = Testimony(minutes.name, seat.keys, motion.form)
        self._most, self._quorum = seat.n - faults(seat.n), quorum(seat.n)
        self._mute: set[int] = set()  # peers who found nobody to trust: there is nothing to hear from them
        self._punctuality = Punctuality(patience, minutes.health, seat.n)
        self._word = self._punctuality.word
        self._waiting: set[int] = set()
        self._asked: list[int] = []
        self._places = 0  # answers that the round wants
        self._replies = 0
        self._filled = False  # were others asked in the place of those who are late?
        self._answers: dict[int, Array] = {}
        self._round_began = self._round_deadline = self._next_round = 0.0
        self._most_closed: float | None = None  # when all but f had closed
        self._asked_at, self._all_measured = 0.0, False  # when somebody was last asked in this round
        self._asked_by = [0] * seat.n
        self._most_asks = 2 * motion.rounds + _ASKS_TO_SPARE
        self._told: dict[int, Array] = {}  # what each peer told last
        self._tells = False  # once it may, it may for ever

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

    def apart(self) -> float | None:
        """How far apart the numbers heard last are; None if they are none."""
        return None

    def stop(self) -> None:
        """Wait for nobody any more."""
        self._waiting = set()

    def has_ended(self, now: float) -> bool:
        """Whether there is no more time, nothing left to ask, or nobody to be asked."""
        if now >= self._latest(now) or self.rounds >= self._minutes.motion.rounds:
            return True
        if self._minutes.too_few_are_left():
            return True
        judgement = self._minutes.chooses
        trusts_nobody = judgement is not None and not (judgement.weights > 0).any()
        return trusts_nobody or not self._stance.asking

    def _latest(self, now: float) -> float:
        """When the talk ends, whatever has been reached.

        A node far away needs longer for its rounds. When all but f have closed it talks for as long again as
        they did, and no longer: they do not wait for its close for ever.
        """
        patience = self._patience
        if len(self._minutes.closes) < self._most:
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
        self._asked = self._peers_of_a_query(now, self._minutes.motion.k)
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
        query = m.Ask(self._minutes.name, self.number, self._testimony.something(self._rng))
        self._punctuality.asked(peers, self.number, now)
        self._minutes.out.extend([(peer, query) for peer in peers])
        self.queries += len(peers)
        self._asked_at, self._all_measured = now, self._minutes.health.knows(self._waiting)
        self._round_deadline = now + self._punctuality.seconds(self._waiting)

    def _peers_of_a_query(self, now: float, k: int, without: Collection[int] = ()) -> list[int]:
        """k of the live peers, all alike; or, with trust, in proportion to it."""
        seat = self._minutes.seat
        self._punctuality.give_up(now)
        live, judgement = self._minutes.live_peers(now), self._minutes.chooses
        if judgement is None and len(live) + 1 < self._quorum:
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
        if minutes.phase is not Phase.TALKING or message.round != self.number or peer not in self._waiting:
            return False
        held, evidence = self._testimony.take(peer, message)
        if evidence is not None:
            minutes.accuse(peer, evidence)
        if held is not None:
            self._answers[peer] = held
            if self._told.get(peer) is not held:  # mostly it is the same again
                self._told[peer] = held
                self._told_by(peer, message.version, held)
        return self._not_waiting_for(peer, now)

    def on_unready(self, now: float, peer: int, message: m.Unready) -> bool:
        """A peer has nothing to tell yet; whether the round has ended with it."""
        self._punctuality.replied(peer, message.round, now)
        if message.round != self.number or peer not in self._waiting:
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
        self.number += 1
        self._schedule_round(now)
        changed = self._heed()
        if not self.series.full:
            heard = {peer: self._testimony.packed(peer) for peer in self._answers}
            self.series.add(now, self._asked, heard, changed)
        self.latest = (self._asked, list(self._answers.values()))

    def _heed(self) -> int:
        """Let what was heard count; on how many inputs that changed this node's mind."""
        if not self._answers:
            return 0
        self._stance.heard_somebody = True
        self._prepare_to_react()
        return 0 if self._nothing_new() else self._react()

    @abstractmethod
    def _react(self) -> int:
        """Let the rule say what follows from the answers; on how many inputs that is new."""

    def _prepare_to_react(self) -> None:  # noqa: B027 (not every rule has something to prepare)
        """There are answers, of which the rule is yet to be told."""

    def _told_by(self, peer: int, version: int, held: Array) -> None:  # noqa: B027 (most do not mind)
        """A peer has told something else than the last time."""

    def _nothing_new(self) -> bool:
        """Everybody said to the byte what we hold, and the rule keeps no count: nothing can change.

        Most rounds are like this, once a moot has agreed; it spares them the counting.
        """
        told = None if self._stance.counts else self._stance.told
        return told is not None and self._testimony.all_told(self._answers, told.votes)

    # ---- being asked -------------------------------------------------------------------------

    def on_ask(self, now: float, peer: int, message: m.Ask) -> m.Message | None:
        """A peer wants to know what we hold; returns what it is told."""
        minutes, heard = self._minutes, message.heard
        self._word[peer] = now
        self._asked_by[peer] = asked = self._asked_by[peer] + 1
        if asked > self._most_asks:
            return None
        if heard is not None:
            evidence = self._testimony.compare(heard)
            if evidence is not None:
                minutes.accuse(heard.node, evidence)
        self._tells = self._tells or self.may_tell()
        if not self._tells or peer not in minutes.commits:
            return m.Unready(minutes.name, message.round)
        told = self._stance.told or self._stance.told_to(peer)
        return None if told is None else m.Answer(minutes.name, message.round, *told)

    def may_tell(self) -> bool:
        """Whether there is something to tell: after the first vote or, if they are revealed, in the talk."""
        minutes = self._minutes
        early = minutes.motion.reveals and minutes.phase in BEFORE_THE_TALK
        return minutes.voted is not None and not early
