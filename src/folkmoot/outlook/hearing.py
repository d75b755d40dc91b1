"""Statements that a participant has heard in FBA: those of liars, and those that have arrived by now.

Liars are the Byzantine participants of the other protocols. Its answer to a query holds here for every ballot
and in all phases at once. One that repeats somebody repeats its statements. Each shows the quorum set that
helps it most, which it satisfies by itself. So a liar is two- faced if its answers are, and its first vote
with them. One that misstates says something else to each in every part of its statements, drawn by the seed
and the hearer, and keeps to it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from folkmoot.adversaries import Sees
from folkmoot.arrays import Bools, Colours, Ints
from folkmoot.outlook.ballots import NONE, PHASES, StatedBallots
from folkmoot.outlook.evidence import ListeningNode
from folkmoot.outlook.moot import OutlookMoot
from folkmoot.outlook.talk import below, counted, runner_up, streams, words


class Announced:
    """The statements of liars, and their receivers."""

    def __init__(self, moot: OutlookMoot, repetition: int, counters: int) -> None:
        self.moot, self.purpose, self.counters = moot, (moot.seed, repetition), counters
        self.who = np.flatnonzero(~moot.honest)
        self.table = moot.liars
        self.followed = np.flatnonzero(moot.honest)[self.table.target] if len(self.who) else self.who
        self.misstates = [moot.adversaries[i].misstates for i in self.who.tolist()]
        own = [streams(moot.input_keys, *self.purpose, i) for i in self.who.tolist()]
        self.dice = [below(each, moot.classes) for each in own]
        self.runner_up = runner_up(counted(moot.votes[moot.honest].T, moot.classes))
        self.anything = cache(self._anything)

    def key(self, viewer: int) -> bytes:
        """The same for those who are told the same."""
        two_faced = self.table.sees == Sees.ASKER.value
        told = self.table.answers[two_faced, :, viewer + 1] if two_faced.any() else np.empty(0)
        return told.tobytes() + (viewer.to_bytes(8, "big") if any(self.misstates) else b"")

    def mix_in(self, viewer: int, inputs: Ints, ballots: StatedBallots, first: Colours) -> None:
        """Write what the liars say to this one over what they have said so far."""
        at, highest = np.arange(len(inputs)), ballots.counter.max(axis=0)
        said, wanted, counter = ballots.said, ballots.wanted, ballots.counter
        for liar, place in enumerate(self.who.tolist()):
            if self.misstates[liar]:
                drawn, reached = self.anything(viewer, place)
                first[place], wanted[place] = drawn[:2, inputs]
                said[:, :, place] = drawn[2:, inputs].reshape(said[:, :, place].shape)
                counter[place] = reached[inputs]
            else:
                says, follows = self.table.answers[liar, inputs], self.followed[liar]
                seen: Any = {
                    Sees.ASKER.value: viewer,
                    Sees.DIE.value: self.dice[liar][inputs],
                    Sees.RUNNER_UP.value: self.runner_up[inputs],
                }.get(int(self.table.sees[liar]), 0)
                if self.table.sees[liar] == Sees.TARGET.value:
                    said[:, :, place] = says[at, said[:, :, follows] + 1]
                    wanted[place] = says[at, wanted[follows] + 1]
                    counter[place] = counter[follows]
                else:
                    said[:, :, place] = wanted[place] = says[at, seen + 1]
                    counter[place] = np.where(wanted[place] == NONE, 0, highest)
                if self.table.sees[liar] == Sees.ASKER.value:
                    first[place] = wanted[place]
            away = ~self.moot.present[place, inputs]
            said[:, :, place, away] = first[place, away] = wanted[place, away] = NONE
            counter[place, away] = 0

    def _anything(self, viewer: int, place: int) -> tuple[Colours, Ints]:
        """What this liar tells this hearer, drawn: (part, input) labels or NONE, and (input,) its counter.

        The parts are its first vote, its wish, and each phase and counter.
        """
        drawn = streams(self.moot.input_keys, *self.purpose, place, viewer)
        parts = words(drawn, np.arange(3 + len(PHASES) * self.counters)[:, None])
        labels = below(parts[1:], self.moot.classes + 1).astype(np.int8) - np.int8(1)
        return labels, below(parts[0], self.counters + 1)


class Post:
    """Messages that take 1 to ``delay`` rounds each; who has heard what by when."""

    def __init__(self, moot: OutlookMoot, listening: ListeningNode, delay: int, repetition: int) -> None:
        n = len(moot.votes)
        self.rng, self.delay = np.random.default_rng([moot.seed, repetition]), delay
        self.newest = np.full((n, n), -1)  # (hearer, speaker): when the newest was sent that has arrived
        self.sent: list[tuple[int, Ints, StatedBallots]] = []  # when, when it arrives, what
        self.named = listening.named

    def send(self, when: int, ballots: StatedBallots) -> None:
        """Everybody sends what it says at the end of a round; first votes are sent at 0."""
        takes = self.rng.integers(1, self.delay + 1, self.newest.shape)
        np.fill_diagonal(takes, 1)  # what one says oneself one knows
        self.sent = [*self.sent[-self.delay :], (when, when + takes, ballots)]
        for sent, arrives, _ in self.sent:
            self.newest = np.maximum(self.newest, np.where(arrives <= when + 1, sent, -1))

    def delivered(self, viewer: int) -> tuple[StatedBallots, Bools]:
        """The statements that this one has heard by now, and (participant,) from whom anything."""
        newest, heard = self.newest[viewer], StatedBallots.like(self.sent[-1][2])
        for when, _, old in self.sent:
            rows = np.flatnonzero(newest == when)
            heard.put(rows, old.part(rows))
        return heard, newest >= 0

    def ready(self, now: int, rows: Ints) -> Bools:
        """(row,): who has the first votes of all whom it waits for, or of all that are to come."""
        heard = (self.newest[rows] >= 0) | ~self.named[rows]
        return np.asarray(heard.all(axis=1) | (now > self.delay))

    def go_on_with(self, inputs: Bools) -> None:
        """The other inputs are over."""
        self.sent = [(when, arrives, each.part(inputs=inputs)) for when, arrives, each in self.sent]
