"""One node's part in one motion: a state machine without sockets, clocks, threads or files.

Everything that decides what a node says about a motion is in this package; its rules are in ``phases.py``.
Whoever drives a session calls ``receive``, ``predicted``, ``judged`` and ``tick`` with the time. Then it does
what the ``minutes`` want, in this order: it stores ``saves``, sends ``out``, and hands ``work`` and ``study``
to the model's thread. It wakes the session at ``wake``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from folkmoot.arrays import Array
from folkmoot.network.session.asking import Asking, OwnChange
from folkmoot.network.session.closing import Closing
from folkmoot.network.session.comparing import Comparing
from folkmoot.network.session.gathering import Gathering
from folkmoot.network.session.judgement import Judgement, LocalThreshold
from folkmoot.network.session.minutes import CheckRows, Ended, Memory, Minutes, Seat
from folkmoot.network.session.numbers import NumberStance, NumberTalking
from folkmoot.network.session.opening import Opening, ShownRows
from folkmoot.network.session.patience import Health, Patience
from folkmoot.network.session.phases import (
    WITH_TRUST,
    WITHOUT_TRUST,
    Event,
    Part,
    Phase,
    Table,
)
from folkmoot.network.session.revealing import Revealing
from folkmoot.network.session.reviewing import Reviewing
from folkmoot.network.session.series import Rounds
from folkmoot.network.session.stance import Holding, Stance
from folkmoot.network.session.talking import Talking
from folkmoot.network.session.view import View, shares_of
from folkmoot.network.session.voting import Fetching, Voting
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.verdict import Verdict, verdict


class Session:
    """One motion, as one node sees it."""

    def __init__(
        self,
        header: bytes,
        motion: Motion,
        seat: Seat,
        health: Health,
        rng: random.Random,
        *,
        now: float,
        end: float,
        alpha: int | LocalThreshold,
        weights: Sequence[float] | None = None,
        memory: Memory | None = None,
        shown: ShownRows | None = None,
    ) -> None:
        """``shown`` are the check rows that this node has sent for the motion."""
        known = memory or Memory()
        self.minutes = Minutes(header, motion, seat, health, known)
        self.name, self.motion, self.seat = self.minutes.name, motion, seat
        self.commits, self.closes = self.minutes.commits, self.minutes.closes
        self.cheats, self.late = self.minutes.cheats, self.minutes.late
        self.wake = now
        self._shares: tuple[int, dict[str, float]] = (0, {})  # after which round, and what was held then
        self._patience = Patience(motion.seconds, health, seat.n, now, end)
        # Salts come from the caller's source, which is a secret one in earnest. Whom to ask need only be
        # unknown to others, and is drawn a thousand times as often.
        self._secrets, self._rng = rng, random.Random(rng.getrandbits(256))
        if isinstance(alpha, LocalThreshold):
            self.minutes.local, alpha = alpha, alpha.alpha()
        self._opening = Opening(header, self.minutes, shown)
        self._opening.remember(known.opened)
        self._take_places(alpha, weights)
        # Nine messages of ten are questions and answers, which drivers bring here: what a peer that asks is
        # to be told, and whether a tick is due after an answer. Either may find something to be saved.
        self.asked, self.answered = self._talking.on_ask, self._talking.on_answer
        self._parts: dict[Phase, Part] = {
            Phase.VOTING: self._voting,
            Phase.GATHERING: self._gathering,
            Phase.TALKING: self._talking,
            Phase.CLOSING: self._closing,
        }
        if self._revealing is not None:
            self._parts[Phase.REVEALING] = self._revealing
        if known.voted is not None:
            self._go_on(now, self._voting.resume(known.voted))
        self.tick(now)

    def _take_places(self, alpha: int, weights: Sequence[float] | None) -> None:
        """Who plays which phase, and by which table they follow each other."""
        minutes, patience = self.minutes, self._patience
        self._table: Table = WITH_TRUST if self.motion.reveals else WITHOUT_TRUST
        self._comparing = Comparing(minutes, self._secrets)
        self._revealing: Revealing | None = None
        self._talking: Asking
        self._stance: Holding
        if self.motion.is_labels:
            stance = self._stance = Stance(minutes, self.motion.rule(alpha))
            self._revealing = Revealing(minutes, patience, stance, self._comparing)
            if self.motion.review is not None:
                self._revealing = Reviewing(minutes, patience, stance, self._comparing, self._opening)
            self._talking = Talking(minutes, patience, stance, self._rng, weights)
        else:
            numbers = self._stance = NumberStance(minutes)
            if self.motion.review is not None:
                self._revealing = Reviewing(minutes, patience, numbers, self._comparing, self._opening)
            self._talking = NumberTalking(minutes, patience, numbers, self._rng)
        self._voting = Voting(minutes, patience, self._stance, self._secrets, Fetching(self.motion))
        self._gathering = Gathering(minutes, patience)
        self._closing = Closing(minutes, patience, self._stance, self._rng)

    # ---- what a driver asks ------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        """Where it stands."""
        return self.minutes.phase

    @property
    def end(self) -> float:
        """The deadline."""
        return self._patience.end

    @property
    def rounds(self) -> int:
        """Rounds that this node has asked."""
        return self._talking.rounds

    @property
    def changes(self) -> list[OwnChange]:
        """Its own changes of mind."""
        return self._talking.changes

    @property
    def queries(self) -> int:
        """Peers that it has asked in them."""
        return self._talking.queries

    @property
    def judgement(self) -> Judgement | None:
        """Whom it trusts, if the motion wants that and it has listened."""
        return self.minutes.judgement

    @property
    def checked(self) -> CheckRows | None:
        """The check rows that it learnt from, if the motion has any and they were opened."""
        return self.minutes.checked

    @property
    def refusals(self) -> dict[int, str]:
        """Who said that it takes no part, and why; without those who have closed all the same."""
        return {place: why for place, why in self.minutes.refusals.items() if place not in self.closes}

    def view(self) -> View:
        """What this node sees of the motion now; a copy, which stays as it is."""
        motion = self.motion
        asked, answers = self._talking.latest
        if self._shares[0] != self.rounds:  # many may look at one round, and inputs may be many
            self._shares = (self.rounds, shares_of(list(map(motion.form.colours, answers)), motion.labels))
        return View(
            motion=self.name.hex(),
            asker=motion.asker,
            phase=self.phase.value,
            inputs=motion.asked,
            round=self.rounds,
            rounds=motion.rounds,
            end=self.end,
            committed=tuple(sorted(self.commits)),
            closed=tuple(sorted(self.closes)),
            accused=tuple(sorted(self.cheats)),
            late=tuple(sorted(self.late & self.commits.keys())),
            refused=self.refusals,
            asked=tuple(asked),
            heard=len(answers),
            shares=self._shares[1],
            held=shares_of([motion.form.colours(self._stance.held)], motion.labels),
            apart=self._talking.apart(),
            protocol=motion.protocol,
        )

    def played(self) -> Rounds:
        """The rounds of this node so far, within their budget."""
        return self._talking.series.kept()

    def verdict(self) -> Verdict:
        """What the closes that this node holds come to."""
        own, owners = self.seat.place, self.minutes.owners
        weights = None if self.judgement is None else self.judgement.counts
        return verdict(self.motion, self.seat.n, self.closes, self.cheats, own, weights, owners)

    def prepare(self) -> None:
        """What the talk needs and takes long: to be called in the model's thread, before the talk."""
        self._stance.prepare()

    # ---- what a driver tells -----------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Do what is due, and say when to be woken next."""
        if self.phase is not Phase.OVER and now >= self.end:
            self._go_on(now, Event.OUT_OF_TIME)
        while self.phase is not Phase.OVER and self._step(now):
            pass

    def prolong(self, now: float, end: float) -> None:
        """There is more time than was said at first."""
        if self.phase is not Phase.OVER:
            self._patience.prolong(end)
            self.tick(now)

    def predicted(self, now: float, index: int, votes: Array, reason: str = "") -> None:
        """The model's votes on a chunk; a reason if it could not vote on all of it."""
        if self.phase is Phase.VOTING:
            self._voting.predicted(index, votes, reason)
            self.tick(now)

    def judged(self, now: float, judgement: Judgement | None) -> None:
        """What was made of the first votes; None if nothing could be."""
        if self.phase is Phase.REVEALING and self._revealing is not None:
            self._go_on(now, self._revealing.judged(judgement))
            self.tick(now)

    def receive(self, now: float, peer: int, message: m.AnyMessage) -> None:
        """What a peer says about this motion."""
        due = False
        match message:
            case m.Answer():
                due = self.answered(now, peer, message)
            case m.Ask():
                reply = self.asked(now, peer, message)
                if reply is not None:
                    self.minutes.tell(peer, reply)
            case m.Commit():
                if message.node == peer:
                    due = self._gathering.on_commit(peer, message)
                else:
                    due = self._comparing.on_relayed(peer, message)
            case m.Marks():
                due = self._comparing.on_marks(peer, message)
            case m.Pending():
                self._patience.still_there(peer)
            case m.Reveal():
                due = self._revealing is not None and self._revealing.on_reveal(peer, message)
            case m.Owners():
                due = self._opening.on_owners(message)
            case m.Labels():
                due = self._opening.on_labels(message)
            case m.Unopened():
                self._opening.on_unopened(peer, message)
            case m.Unready():
                due = self._talking.on_unready(now, peer, message)
            case m.Close():
                due = self._closing.on_close(message)
            case m.Want():
                self._closing.on_want(peer, message)
            case m.Refuse():
                due = self.minutes.on_refuse(peer, message)
            case m.Chunk():
                if self._voting.on_chunk(peer, message):
                    self._step(now)
        if due:
            self.tick(now)

    # ---- from phase to phase -----------------------------------------------------------------

    def _step(self, now: float) -> bool:
        """Let the present phase do what is due; whether that ended it."""
        found = self._parts[self.phase].tick(now)
        if isinstance(found, Event):
            self._go_on(now, found)
            return True
        self.wake = found
        return False

    def _go_on(self, now: float, event: Event) -> None:
        self.minutes.phase = self._table[self.phase, event]
        if self.phase is Phase.OVER:
            self.wake = float("inf")
            self._talking.stop()
            self.minutes.saves.append(Ended(self.rounds, self.queries, self._talking.series.packed()))
        else:
            self._parts[self.phase].begin(now)
