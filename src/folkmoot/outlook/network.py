"""Messages of FBA: statements of malicious participants, and what has arrived by a round.

The adversaries are those of the other protocols. The answer that one would give to a query it states here of
every ballot and in all phases. One that repeats somebody repeats its statements. Each claims the quorum set
that helps it most, which it satisfies alone. So it is two-faced if its answers are, as is its first vote. One
that misstates draws every part of its statements by the seed and the receiver, and keeps to it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from folkmoot.adversaries.interface import Sees
from folkmoot.arrays import Bools, Classes, Ints
from folkmoot.outlook.ballots import NONE, PHASES, StatedBallots
from folkmoot.outlook.evidence import ListeningNode
from folkmoot.outlook.moot import OutlookMoot
from folkmoot.outlook.rounds import below, counted, runner_up, streams, words


class MaliciousStatements:
    """The statements of malicious participants, by receiver."""

    def __init__(self, moot: OutlookMoot, repetition: int, counters: int) -> None:
        self.moot, self.purpose, self.counters = moot, (moot.seed, repetition), counters
        self.who = np.flatnonzero(~moot.honest)
        self.table = moot.malicious
        self.followed = np.flatnonzero(moot.honest)[self.table.target] if len(self.who) else self.who
        self.misstates = [moot.adversaries[i].misstates for i in self.who.tolist()]
        own = [streams(moot.input_keys, *self.purpose, i) for i in self.who.tolist()]
        self.dice = [below(each, moot.classes) for each in own]
        self.runner_up = runner_up(counted(moot.votes[moot.honest].T, moot.classes))
        self.anything = cache(self._anything)

    def key(self, viewer: int) -> bytes:
        """Equal for receivers of equal statements."""
        two_faced = self.table.sees == Sees.ASKER.value
        answers = self.table.answers[two_faced, :, viewer + 1] if two_faced.any() else np.empty(0)
        return answers.tobytes() + (viewer.to_bytes(8, "big") if any(self.misstates) else b"")

    def mix_in(self, viewer: int, inputs: Ints, ballots: StatedBallots, first: Classes) -> None:
        """Replace the statements of the malicious by those that this receiver gets."""
        at, highest = np.arange(len(inputs)), ballots.counter.max(axis=0)
        said, wanted, counter = ballots.statements, ballots.wanted, ballots.counter
        for adversary, place in enumerate(self.who.tolist()):
            if self.misstates[adversary]:
                drawn, reached = self.anything(viewer, place)
                first[place], wanted[place] = drawn[:2, inputs]
                said[:, :, place] = drawn[2:, inputs].reshape(said[:, :, place].shape)
                counter[place] = reached[inputs]
            else:
                says, follows = self.table.answers[adversary, inputs], self.followed[adversary]
                seen: Any = {
                    Sees.ASKER.value: viewer,
                    Sees.DIE.value: self.dice[adversary][inputs],
                    Sees.RUNNER_UP.value: self.runner_up[inputs],
                }.get(int(self.table.sees[adversary]), 0)
                if self.table.sees[adversary] == Sees.TARGET.value:
                    said[:, :, place] = says[at, said[:, :, follows] + 1]
                    wanted[place] = says[at, wanted[follows] + 1]
                    counter[place] = counter[follows]
                else:
                    said[:, :, place] = wanted[place] = says[at, seen + 1]
                    counter[place] = np.where(wanted[place] == NONE, 0, highest)
                if self.table.sees[adversary] == Sees.ASKER.value:
                    first[place] = wanted[place]
            away = ~self.moot.present[place, inputs]
            said[:, :, place, away] = first[place, away] = wanted[place, away] = NONE
            counter[place, away] = 0

    def _anything(self, viewer: int, place: int) -> tuple[Classes, Ints]:
        """Drawn statements to this receiver: (part, input) labels or NONE, and (input,) a counter.

        The parts are its first vote, its wish, and each phase and counter.
        """
        drawn = streams(self.moot.input_keys, *self.purpose, place, viewer)
        parts = words(drawn, np.arange(3 + len(PHASES) * self.counters)[:, None])
        labels = below(parts[1:], self.moot.classes + 1).astype(np.int8) - np.int8(1)
        return labels, below(parts[0], self.counters + 1)


class Network:
    """Messages that take 1 to ``delay`` rounds each, and their receivers."""

    def __init__(self, moot: OutlookMoot, listening: ListeningNode, delay: int, repetition: int) -> None:
        n = len(moot.votes)
        self.rng, self.delay = np.random.default_rng([moot.seed, repetition]), delay
        self.newest = np.full((n, n), -1)  # (receiver, sender): when the newest that arrived was sent
        self.sent: list[tuple[int, Ints, StatedBallots]] = []  # when, when it arrives, what
        self.named = listening.named

    def send(self, when: int, ballots: StatedBallots) -> None:
        """All send their statements at the end of a round; first votes are sent at 0."""
        takes = self.rng.integers(1, self.delay + 1, self.newest.shape)
        np.fill_diagonal(takes, 1)  # a node knows its own statements
        self.sent = [*self.sent[-self.delay :], (when, when + takes, ballots)]
        for sent, arrives, _ in self.sent:
            self.newest = np.maximum(self.newest, np.where(arrives <= when + 1, sent, -1))

    def delivered(self, viewer: int) -> tuple[StatedBallots, Bools]:
        """The statements that have arrived here, and (participant,) whether any has."""
        newest, received = self.newest[viewer], StatedBallots.like(self.sent[-1][2])
        for when, _, old in self.sent:
            rows = np.flatnonzero(newest == when)
            received.put(rows, old.part(rows))
        return received, newest >= 0

    def ready(self, now: int, rows: Ints) -> Bools:
        """(row,): whether all first votes that it waits for have arrived, or no more will."""
        arrived = (self.newest[rows] >= 0) | ~self.named[rows]
        return np.asarray(arrived.all(axis=1) | (now > self.delay))

    def go_on_with(self, inputs: Bools) -> None:
        """The other inputs are over."""
        self.sent = [(when, arrives, each.part(inputs=inputs)) for when, arrives, each in self.sent]
