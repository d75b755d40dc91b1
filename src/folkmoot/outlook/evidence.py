"""Who is satisfied by whom, for many inputs at once: quorum sets as matrices; what was heard as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from folkmoot.arrays import Array, Bools, Colours, Ints
from folkmoot.outlook.ballots import Ballots, Phase
from folkmoot.outlook.quorum_set import QuorumSet


class Listening:
    """The quorum sets of all nodes, in the order of ``names``, as matrices of who counts for whom.

    Inner sets are rows of their own, the deepest first; a node without a set is never satisfied.
    """

    def __init__(self, names: Sequence[str], sets: Sequence[QuorumSet | None]) -> None:
        at = {name: place for place, name in enumerate(names)}
        n = len(names)
        levels: list[list[tuple[QuorumSet, list[int]]]] = []

        def add(quorum_set: QuorumSet, level: int) -> int:
            """Its row among those of its level."""
            while len(levels) <= level:
                levels.append([])
            inner = [add(part, level + 1) for part in quorum_set.inner]
            levels[level].append((quorum_set, inner))
            return len(levels[level]) - 1

        rows: dict[QuorumSet, int] = {}
        self.named = np.zeros((n, n), dtype=np.bool_)  # (node, peer): whom each has in its set, at any level
        self._row = np.full(n, -1)
        for place, each in enumerate(sets):
            if each is not None:
                if each not in rows:
                    rows[each] = add(each, 0)
                self._row[place] = rows[each]
                self.named[place, [at[name] for name in each.everyone() if name in at]] = True
        self.size = n
        self._levels = []
        for level, listed in enumerate(levels):
            below = len(levels[level + 1]) if level + 1 < len(levels) else 0
            named = np.zeros((len(listed), n + below), dtype=np.float32)
            for row, (quorum_set, inner) in enumerate(listed):
                named[row, [at[name] for name in quorum_set.members if name in at]] = 1.0
                named[row, [n + part for part in inner]] = 1.0
            limit = np.array([min(each.threshold, n + below + 1) for each, _ in listed], dtype=np.float32)
            self._levels.append((named, limit[:, None]))

    def satisfied(self, present: Bools) -> Bools:
        """(node, input): whether the set of each node is satisfied by those present (node, input)."""
        inner = np.zeros((0, present.shape[1]), dtype=np.float32)
        for named, limit in reversed(self._levels):
            seen = (
                np.concatenate([present.astype(np.float32), inner])
                if len(inner)
                else present.astype(np.float32)
            )
            inner = (named @ seen >= limit).astype(np.float32)
        if not len(inner):
            return np.zeros(present.shape, dtype=np.bool_)
        met: Array = inner[self._row] > 0
        met[self._row < 0] = False
        return met

    def quorum(self, present: Bools, free: Bools | None = None) -> Bools:
        """(node, input): who of those present is in a quorum of them.

        ``free`` (node,) are nodes whose sets bind nobody: liars, who show whatever set they like.
        """
        left = present.copy()
        while True:
            met = self.satisfied(left)
            if free is not None:
                met[free] = True
            now = left & met
            if np.array_equal(now, left):
                return now
            left = now

    def blocked(self, present: Bools) -> Bools:
        """(node, input): whose set cannot be satisfied without one of those present."""
        blocked: Bools = ~self.satisfied(~present)
        return blocked


@dataclass
class Heard:
    """What some nodes (``rows``) have heard from everybody, all of them the same."""

    listening: Listening  # everybody's quorum sets, as they were stated to them
    rows: Ints  # which nodes have heard it
    first: Colours  # (node, input): first votes
    ballots: Ballots  # of all nodes
    free: Bools | None = None  # (node,): whose own sets are always satisfied

    def quorum(self, phase: Phase, counter: int, label: int) -> Bools:
        """(row, input): whether all of a quorum that it belongs to says so."""
        said = self.ballots.says(phase, counter, label)
        found = np.zeros((len(self.rows), said.shape[1]), dtype=np.bool_)
        where = said[self.rows].any(axis=0)
        if where.any():
            found[:, where] = self.listening.quorum(said[:, where], self.free)[self.rows]
        return found

    def block(self, phase: Phase, counter: int, label: int) -> Bools:
        """(row, input): whether those who say so block it."""
        return self.blocked(self.ballots.says(phase, counter, label))

    def blocked(self, present: Bools) -> Bools:
        """(row, input): whether those present (node, input) block it; nobody never does."""
        found = np.zeros((len(self.rows), present.shape[1]), dtype=np.bool_)
        where = present.any(axis=0)
        if where.any():
            found[:, where] = self.listening.blocked(present[:, where])[self.rows]
        return found

    def qualified(self, label: int) -> Bools:
        """(row, input): whether the label may be voted for: a set that blocks it votes for it."""
        return self.blocked(self.first == label) | self.blocked(self.ballots.votes_for(label))

    def blocked_by_later(self, counter: Ints) -> Bools:
        """(row, input): whether those at later counters than its own (row, input) block it."""
        found = np.zeros(counter.shape, dtype=np.bool_)
        for each in np.unique(counter).tolist():
            found |= (counter == each) & self.blocked(self.ballots.counter > each)
        return found
