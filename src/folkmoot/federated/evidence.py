"""Who is satisfied by whom, for many inputs at once: quorum sets as matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from folkmoot.arrays import Array, Bools
from folkmoot.federated.quorum_set import QuorumSet


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
        self._row = np.full(n, -1)
        for place, each in enumerate(sets):
            if each is not None:
                if each not in rows:
                    rows[each] = add(each, 0)
                self._row[place] = rows[each]
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
            seen = np.concatenate([present.astype(np.float32), inner]) if len(inner) else present.astype(np.float32)
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
