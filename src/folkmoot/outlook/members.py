"""Nodes of FBA that hear the same: the rules of ``ballots.py`` applied to what was heard."""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Bools, Colours, Floats, Ints
from folkmoot.outlook.ballots import NONE, Ballots, only, preferred, wanted_by_first
from folkmoot.outlook.evidence import Heard


class Members:
    """Some nodes that hear the same, and what they say.

    ``weights`` (row, node) is what a first vote counts for each of them.
    """

    def __init__(self, rows: Ints, classes: int, counters: int, weights: Floats, own: Colours) -> None:
        self.rows = rows
        self.classes = classes
        self.ballots = Ballots.none(counters, *own.shape)
        self._weights, self._own = weights, own
        self._first: Colours | None = None
        self._said: Colours | None = None
        self._own_said: Colours | None = None
        self._qualified: Bools = np.zeros((classes, *own.shape), dtype=np.bool_)

    def turn(self, heard: Heard, due: Bools) -> None:
        """Say what follows from what was heard; ``due`` (row, input): whose time at its counter is over."""
        ballots = self.ballots
        before = self._said
        if not self._known(heard):  # facts only grow, so what follows from these has followed
            new = self._new(heard.ballots.said, before)
            spoken = [each for each in heard.ballots.named() if new[each[0] - 1]]
            ballots.advance(spoken, heard.quorum, heard.block)
            self._qualified = np.stack([heard.qualified(label) for label in range(self.classes)])
        qualified = self._qualified
        own = preferred(qualified, self._scores(heard.first), self._own)
        ballots.want(own)
        at = ballots.counter.copy()
        passed = heard.blocked_by_later(at) & (at > 0)  # nobody is hurried before it has heard first votes
        hurried = due | passed
        here = np.unique(np.concatenate([at[hurried] + 1, at[at > 0]]))  # counters that anybody can vote at
        for counter in here[here <= len(ballots.said[0])].tolist():
            coming = hurried & (at == counter - 1)
            waiting = (at == counter) & (ballots.said[0, counter - 1] == NONE)
            if coming.any() or waiting.any():
                free = own if counter == 1 else self._of_first(counter, heard, qualified, own)
                ballots.vote(counter, free, coming | waiting)

    def go_on_with(self, inputs: Bools) -> None:
        """Go on with these inputs (input,) only: the others are over."""
        self.ballots = only(self.ballots, inputs)
        self._own = self._own[:, inputs]
        self._first = self._said = None

    def _of_first(self, counter: int, heard: Heard, qualified: Bools, own: Colours) -> Colours:
        """(row, input): what the counter's first node wants, where that qualifies; else what one prefers."""
        wanted = wanted_by_first(counter, heard.listening.named[self.rows], heard.ballots.wanted)
        fits = np.take_along_axis(qualified, np.maximum(wanted, 0)[None].astype(np.int64), axis=0)[0]
        return np.where((wanted != NONE) & fits, wanted, own).astype(np.int8)

    def _known(self, heard: Heard) -> bool:
        """Whether the same was heard the last time."""
        known = self._said is not None and np.array_equal(heard.ballots.said, self._said)
        known = known and self._first is not None and np.array_equal(heard.first, self._first)
        if not known:
            self._said = heard.ballots.said.copy()
        return known

    def _new(self, said: Colours, before: Colours | None) -> Bools:
        """(counter,): where more was heard than ``before``, or said by these nodes themselves.

        A rule looks at one counter, but for what forbids it, and that grows as well.
        """
        own, self._own_said = self._own_said, self.ballots.said.copy()
        if before is None or own is None:
            return np.ones(len(said[0]), dtype=np.bool_)
        new: Bools = (said != before).any(axis=(0, 2, 3)) | (own != self._own_said).any(axis=(0, 2, 3))
        return new

    def _scores(self, first: Colours) -> Floats:
        """(label, row, input): how much each prefers each label, by its own aggregation of first votes."""
        if self._first is None or not np.array_equal(first, self._first):
            self._first = first.copy()
            self._counted = np.stack([self._weights @ (first == label) for label in range(self.classes)])
        return self._counted
