"""Every state that ballots on one input can reach, whatever is delivered when, and whatever one node makes up.

Facts only grow and rules ask only whether enough is known, so a node that may fire a rule knowing some of what was
said may fire it knowing all: to let each node fire any rule at any time, or not, covers every order of delivery.
Timers go off at any moment. A Byzantine node is taken to say everything, to everybody, with whatever quorum set
helps. States are columns of the same arrays that simulations have, so these are the rules as they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from folkmoot.arrays import Array, Bools
from folkmoot.federated import QuorumSet
from folkmoot.federated.ballots import NONE, Ballots, Statement
from folkmoot.federated.evidence import Listening

LABELS = 2


class Exploration:
    """The states of a system with at most one Byzantine node."""

    def __init__(self, sets: Mapping[str, QuorumSet | None], byzantine: str | None, counters: int = 2) -> None:
        self.names = list(sets)
        self.listening = Listening(self.names, list(sets.values()))
        self.free = np.array([name == byzantine for name in self.names])
        self.honest = np.flatnonzero(~self.free)
        self.counters = counters

    def states(self, most: int = 3_000_000) -> Array:
        """All of them, a number each."""
        level = self.encoded(Ballots.none(self.counters, len(self.names), 1))
        seen = level
        while level.size:
            found = [self.encoded(after) for after in self.successors(level)]
            level = np.setdiff1d(np.concatenate(found), seen)
            seen = np.union1d(seen, level)
            assert seen.size <= most, "more states than expected"
        return seen

    def successors(self, level: Array) -> Iterator[Ballots]:
        """What may come next: one rule, of one node."""
        for node in self.honest:
            for label in range(LABELS):
                for counter in range(1, self.counters + 1):
                    now = self.decoded(level)
                    mine = np.zeros(now.decided.shape, dtype=np.bool_)
                    mine[node] = True
                    ready = mine & (now.counter == counter - 1)
                    now.vote(counter, np.full(now.decided.shape, label, dtype=np.int8), ready)
                    yield now
                    yield from self.fired(level, mine, counter, label)

    def fired(self, level: Array, mine: Bools, counter: int, label: int) -> Iterator[Ballots]:
        now = self.decoded(level)
        quorum = {each: mine & self.quorum(now, each, counter, label) for each in STATEMENTS}
        block = {each: mine & self.block(now, each, counter, label) for each in STATEMENTS}
        now.decide(label, quorum["committed"])
        yield now
        now = self.decoded(level)
        now.accept_committed(counter, label, quorum["commit"], block["committed"])
        yield now
        now = self.decoded(level)
        now.vote_commit(counter, label, quorum["prepared"])
        yield now
        now = self.decoded(level)
        now.accept_prepared(counter, label, quorum["prepare"], block["prepared"])
        yield now

    def said(self, now: Ballots, statement: Statement, counter: int, label: int) -> Bools:
        said = now.says(statement, counter, label)
        said[self.free] = True
        return said

    def quorum(self, now: Ballots, statement: Statement, counter: int, label: int) -> Bools:
        return self.listening.quorum(self.said(now, statement, counter, label), self.free)

    def block(self, now: Ballots, statement: Statement, counter: int, label: int) -> Bools:
        return self.listening.blocked(self.said(now, statement, counter, label))

    # A state is a number: what each honest node said, in base 3.

    def encoded(self, now: Ballots) -> Array:
        digits = self._digits(now)
        number = np.zeros(digits.shape[1], dtype=np.int64)
        for digit in digits:
            number = number * 3 + digit
        return np.unique(number)

    def _digits(self, now: Ballots) -> Array:
        parts = [now.voted, now.prepared, now.commit, now.committed, now.decided[None], now.counter[None] - 1]
        return np.concatenate([each[:, self.honest].reshape(-1, now.decided.shape[1]) + 1 for each in parts])

    def decoded(self, numbers: Array) -> Ballots:
        now = Ballots.none(self.counters, len(self.names), numbers.size)
        many = self.honest.size
        digits = np.empty(((4 * self.counters + 2) * many, numbers.size), dtype=np.int64)
        rest = numbers.copy()
        for row in range(len(digits) - 1, -1, -1):
            rest, digits[row] = np.divmod(rest, 3)
        at = 0
        for part in (now.voted, now.prepared, now.commit, now.committed):
            rows = self.counters * many
            part[:, self.honest] = (digits[at : at + rows] - 1).reshape(self.counters, many, -1)
            at += rows
        now.decided[self.honest] = digits[at : at + many] - 1
        now.counter[self.honest] = digits[at + many :]
        return now

    def disagreeing(self, states: Array, nodes: list[str]) -> Array:
        """The states in which two of these nodes have decided differently."""
        rows = [self.names.index(name) for name in nodes]
        decided = self.decoded(states).decided[rows]
        return states[(decided == 0).any(axis=0) & (decided == 1).any(axis=0)]


STATEMENTS: tuple[Statement, ...] = ("prepare", "prepared", "commit", "committed")
UNDECIDED = NONE
