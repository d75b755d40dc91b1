"""Quorum sets as a matrix, for many inputs at once, and received statements as evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from folkmoot.arrays import Bools, Classes, Ints
from folkmoot.outlook.ballots import Phase, StatedBallots
from folkmoot.outlook.quorum_set import QuorumSet


class ListeningNode:
    """The quorum sets of all nodes, by ``names``: a row for each unlike set, inner ones too."""

    def __init__(self, names: Sequence[str], sets: Sequence[QuorumSet | None]) -> None:
        at = {name: place for place, name in enumerate(names)}
        n = len(names)
        rows: dict[QuorumSet, int] = {}

        def add(each: QuorumSet) -> None:
            for part in each.inner:
                add(part)
            rows.setdefault(each, len(rows))

        for each in sets:
            if each is not None:
                add(each)
        self.named = np.zeros((n, n), dtype=np.bool_)  # (node, peer): whom each has in its set, at any level
        self._member = np.zeros((len(rows), n + len(rows)), dtype=np.float32)  # nodes, then other sets
        for each, row in rows.items():
            members = [at[name] for name in each.members if name in at]
            self._member[row, members + [n + rows[part] for part in each.inner]] = 1
        # A threshold beyond all members says "never".
        limit = [min(each.threshold, n + len(rows) + 1) for each in rows]
        self._limit = np.array(limit, dtype=np.float32)[:, None]
        self._depth = max((each.depth for each in rows), default=1)
        self._row = np.array([-1 if each is None else rows[each] for each in sets])
        for place, own in enumerate(sets):
            self.named[place, [at[name] for name in (own.everyone() if own else ()) if name in at]] = True

    def satisfied(self, present: Bools) -> Bools:
        """(node, input): whether the set of each node is satisfied by those present (node, input)."""
        n, seen = len(present), present.astype(np.float32)
        met = self._member[:, :n] @ seen >= self._limit
        for _ in range(self._depth - 1):  # inner sets count once they are satisfied themselves
            met = self._member @ np.concatenate([seen, met]) >= self._limit
        none = np.zeros((1, present.shape[1]), dtype=np.bool_)  # who has no set is never satisfied
        own: Bools = np.concatenate([met, none])[self._row]
        return own

    def quorum(self, present: Bools, free: Bools) -> Bools:
        """(node, input): who of those present is in a quorum of them; the sets of ``free`` bind nobody."""

        def among(left: Bools) -> Bools:
            while True:
                now = left & (self.satisfied(left) | free[:, None])
                if np.array_equal(now, left):
                    return now
                left = now

        return _where_any(present, among)

    def blocked(self, present: Bools) -> Bools:
        """(node, input): whose set cannot be satisfied without one of those present; nobody blocks nobody."""
        return _where_any(present, lambda some: ~self.satisfied(~some))


def _where_any(present: Bools, asked: Callable[[Bools], Bools]) -> Bools:
    """The answer for inputs on which anybody is present; False elsewhere."""
    found, where = np.zeros_like(present), present.any(axis=0)
    if where.any():
        found[:, where] = asked(present[:, where])
    return found


@dataclass
class ReceivedStatements:
    """The statements that some nodes (``rows``) have received, the same for all of them."""

    listening: ListeningNode
    rows: Ints  # the receiving nodes
    there: Bools  # (row, input): whether they take part
    first: Classes  # (node, input): first votes
    ballots: StatedBallots  # of all nodes
    free: Bools  # (node,): whether its set binds nobody: a malicious node claims any set

    def quorum(self, phase: Phase, counter: int, label: int) -> Bools:
        """(row, input): whether all of a quorum that it belongs to says so."""
        said = self.ballots.says(phase, counter, label)
        return self.listening.quorum(said, self.free)[self.rows] & self.there

    def block(self, phase: Phase, counter: int, label: int) -> Bools:
        """(row, input): whether those who say so block it."""
        return self.blocked(self.ballots.says(phase, counter, label))

    def blocked(self, present: Bools) -> Bools:
        """(row, input): whether those present (node, input) block it."""
        return self.listening.blocked(present)[self.rows] & self.there

    def qualified(self, label: int) -> Bools:
        """(row, input): whether the label may be voted for: a set that blocks it votes for it."""
        return self.blocked(self.first == label) | self.blocked(self.ballots.votes_for(label))

    def blocked_by_later(self, counter: Ints) -> Bools:
        """(row, input): whether those at later counters than its own (row, input) block it."""
        found = np.zeros(counter.shape, dtype=np.bool_)
        for each in np.unique(counter).tolist():
            found |= (counter == each) & self.blocked(self.ballots.counter > each)
        return found
