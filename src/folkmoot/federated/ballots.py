"""Federated agreement on labels: the rules of ballots. No I/O, no clock, no randomness.

A *ballot* is a counter n = 1, 2, ... and a label x. On each input a node says, of ballots,

- that it votes to **prepare** (n, x): let no other label be decided by any ballot up to n;
- that it has accepted that (n, x) is prepared;
- that it votes to **commit** (n, x): let x be the answer;
- that it has accepted that (n, x) is committed;

and it *decides* x when all of a quorum that it belongs to has accepted (n, x) as committed. Preparing (n, x)
contradicts committing (m, y) if y is another label and m <= n. A node votes for one label a counter and for
nothing that contradicts a vote to commit, unless it has accepted that this ballot will come to nothing.

It *accepts* what all of a quorum that it belongs to votes for or has accepted, or what a set that blocks it has
accepted (then at least one of those who are not faulty has), but nothing that contradicts what it has accepted.

What it votes for at a counter:

1. the label of its last vote to commit, while that may still be decided;
2. else, from counter 2 on, the label of that counter's first node, if that label qualifies;
3. else the label that its own aggregation of first votes prefers among those that qualify.

A label *qualifies* for a node if a set that blocks it voted for it at first, or votes for it in ballots: so at
least one node that is not faulty voted for it at first.

Everything is an array over (node, input), so that a simulation plays all nodes on all inputs at once; a node of
a network plays its own row. What the others are known to have said comes in as evidence, which is computed
elsewhere (``evidence.py``): facts only grow, so a rule that may fire once may fire ever after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from folkmoot.arrays import Array, Bools

NONE: Final = -1
Statement = Literal["prepare", "prepared", "commit", "committed"]
# (statement, counter, label) -> (node, input): whether a quorum with the node in it, or a set that blocks it, says so
Evidence = Callable[[Statement, int, int], Bools]


@dataclass
class Ballots:
    """What each node says on each input; a label, or NONE, for each counter.

    Statements are kept at the place of their counter: ``voted[n - 1]`` is what was voted to prepare at n.
    """

    voted: Array  # (counter, node, input) int8
    prepared: Array  # (counter, node, input) int8: accepted
    commit: Array  # (counter, node, input) int8: voted
    committed: Array  # (counter, node, input) int8: accepted
    decided: Array  # (node, input) int8
    counter: Array  # (node, input) int: the last at which it voted, 0 before

    @classmethod
    def none(cls, counters: int, nodes: int, inputs: int) -> Ballots:
        """Nothing is said yet."""
        said = [np.full((counters, nodes, inputs), NONE, dtype=np.int8) for _ in range(4)]
        return cls(
            *said,
            np.full((nodes, inputs), NONE, dtype=np.int8),
            np.zeros((nodes, inputs), dtype=np.int64),
        )

    def says(self, statement: Statement, counter: int, label: int) -> Bools:
        """(node, input): who says this, or more than this."""
        at = counter - 1
        if statement == "prepare":  # who has accepted it, or votes to commit it, says so as well
            return (self.voted[at] == label) | self.says("prepared", counter, label)
        if statement == "prepared":
            return (self.prepared[at] == label) | self.says("commit", counter, label)
        if statement == "commit":
            return (self.commit[at] == label) | self.says("committed", counter, label)
        said: Bools = self.committed[at] == label
        return said

    def contradicted(self, counter: int, label: int, *, by: Statement) -> Bools:
        """(node, input): who said (by votes, or by what it accepted) that (counter, label) is not decided."""
        said = self.voted if by == "prepare" else self.prepared
        later: Bools = ((said[counter - 1 :] != NONE) & (said[counter - 1 :] != label)).any(axis=0)
        return later

    def locked(self) -> Array:
        """(node, input): the label of the last vote to commit that may still be decided, or NONE."""
        lock = np.full(self.decided.shape, NONE, dtype=np.int8)
        for counter in range(1, len(self.voted) + 1):
            for said in (self.commit[counter - 1], self.committed[counter - 1]):
                lock = np.where(said != NONE, said, lock)
            prepared = self.prepared[counter - 1]
            lock = np.where((prepared != NONE) & (prepared != lock), NONE, lock)
        return lock

    def vote(self, counter: int, wanted: Array, when: Bools) -> None:
        """Go to this counter and vote, for the locked label or else for the one that is wanted (or NONE)."""
        lock = self.locked()
        label = np.where(lock != NONE, lock, wanted)
        now = when & (self.counter < counter) & (self.decided == NONE)
        self.voted[counter - 1][now] = label[now]
        self.counter[now] = counter

    def accept_prepared(self, counter: int, label: int, quorum: Bools, block: Bools) -> Bools:
        """Accept that (counter, label) is prepared: a quorum votes for it, or those that block one accepted it."""
        earlier = self.committed[:counter]
        against = ((earlier != NONE) & (earlier != label)).any(axis=0)
        now = (quorum | block) & (self.prepared[counter - 1] == NONE) & ~against
        self.prepared[counter - 1][now] = label
        return now

    def vote_commit(self, counter: int, label: int, quorum: Bools) -> Bools:
        """Vote to commit what a quorum has accepted as prepared."""
        against = self.contradicted(counter, label, by="prepare") | self.contradicted(counter, label, by="prepared")
        now = quorum & (self.prepared[counter - 1] == label) & (self.commit[counter - 1] == NONE) & ~against
        self.commit[counter - 1][now] = label
        return now

    def accept_committed(self, counter: int, label: int, quorum: Bools, block: Bools) -> Bools:
        """Accept that (counter, label) is committed: a quorum votes for it, or those that block one accepted it."""
        against = self.contradicted(counter, label, by="prepared")
        now = (quorum | block) & (self.committed[counter - 1] == NONE) & ~against
        self.committed[counter - 1][now] = label
        return now

    def decide(self, label: int, quorum: Bools) -> Bools:
        """Decide what a quorum has accepted as committed."""
        now = quorum & (self.decided == NONE)
        self.decided[now] = label
        return now

    def advance(self, labels: int, quorum: Evidence, block: Evidence) -> bool:
        """Every rule but voting to prepare, once, for all counters reached; whether anything was new."""
        new = False
        for counter in range(1, int(self.counter.max(initial=0)) + 1):
            for label in range(labels):
                for fired in self._rules(counter, label, quorum, block):
                    new = new or bool(fired.any())
        return new

    def _rules(self, counter: int, label: int, quorum: Evidence, block: Evidence) -> Iterator[Bools]:
        yield self.decide(label, quorum("committed", counter, label))
        yield self.accept_committed(
            counter, label, quorum("commit", counter, label), block("committed", counter, label)
        )
        yield self.vote_commit(counter, label, quorum("prepared", counter, label))
        yield self.accept_prepared(
            counter, label, quorum("prepare", counter, label), block("prepared", counter, label)
        )
