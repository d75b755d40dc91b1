"""Dawid-Skene in whole numbers: beliefs are multiples of 2^-16, skills are quotients, logarithms a table.

It is the rule of ``folkmoot.aggregation.DawidSkene``, whose floats differ in the last bit between processors.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.aggregation.interface import ballots
from folkmoot.arrays import Bools, Ints
from folkmoot.node.rules.fixed import BITS, ONE, log2, power
from folkmoot.node.rules.votes import count, decide
from folkmoot.votes import NO_VOTE

_SMOOTHING: Final = ONE // 100  # in votes per cell, as the float rule has it
_MOST: Final = 100  # iterations; of models that are better than guessing about ten are enough
_LEAST: Final = 8  # however much there is to look at
_WORK: Final = 16_000_000  # votes times choices of their inputs, in all iterations


def dawid_skene(
    votes: Ints, *, classes: int, least: int, one_coin: bool | None = None, coin: bytes | None = None
) -> Ints:
    """Decide each input by truth and skills that are estimated together from the votes.

    ``votes`` (member, input) has -1 for no vote. With one coin a member has one accuracy. This is the default
    if inputs are fewer than cells of a confusion matrix. A class needs ``least`` votes.
    """
    if not 2 <= classes <= 1 << 20:
        raise ValueError(f"classes must be within 2..{1 << 20}: got {classes}")
    choices, places = ballots(votes)
    counts = count(places, choices.shape[1])
    cast = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    belief = (counts << BITS) // cast
    told = _Told(choices, places, classes)
    estimate = told.by_one_coin if _has_one_coin(one_coin, votes, classes) else told.by_confusion
    for _ in range(min(_MOST, max(_LEAST, _WORK // max(len(told.where), 1)))):
        before, belief = belief, told.believed(estimate(belief), belief)
        if (before == belief).all():
            break
    return decide(choices, belief, counts, least, coin)


def _has_one_coin(one_coin: bool | None, votes: Ints, classes: int) -> bool:
    return bool(votes.shape[1] < classes**2) if one_coin is None else one_coin


class _Told:
    """The votes, each with every choice of its input: what the vote says for that choice."""

    def __init__(self, choices: Ints, places: Ints, classes: int) -> None:
        inputs, width = choices.shape
        member, column = np.nonzero(places != NO_VOTE)
        entry, choice = np.nonzero(choices[column] != NO_VOTE)
        self.members, self.classes, self.shape = len(places), classes, (inputs, width)
        self.who, at = member[entry], column[entry]
        true, said = choices[at, choice], choices[at, places[self.who, at]]
        self.where = at * width + choice
        self.hit: Bools = true == said
        span = int(choices.max(initial=0)) + 1
        self.row = np.unique(self.who * span + true, return_inverse=True)[1]
        cells, self.cell = np.unique(self.row * span + said, return_inverse=True)
        self.row_of_cell = cells // span
        self.class_of = choices.ravel()
        self.there = self.class_of != NO_VOTE

    def by_one_coin(self, belief: Ints) -> Ints:
        """(entry,): the logarithm of the chance of each vote, if the choice were true; one skill per
        member.
        """
        weight = belief.ravel()[self.where]
        right = _added(self.who, weight * self.hit, self.members) + ONE
        whole = _added(self.who, weight, self.members) + ONE * self.classes
        hits = log2(right) - log2(whole)
        misses = log2(whole - right) - log2(whole) - log2(np.array(self.classes - 1))
        return np.where(self.hit, hits[self.who], misses[self.who])

    def by_confusion(self, belief: Ints) -> Ints:
        """The same by a confusion matrix of each member."""
        weight = belief.ravel()[self.where]
        cells = log2(_added(self.cell, weight, len(self.row_of_cell)) + _SMOOTHING)
        rows = log2(_added(self.row, weight, int(self.row.max(initial=-1)) + 1) + _SMOOTHING * self.classes)
        return np.asarray((cells - rows[self.row_of_cell])[self.cell])

    def believed(self, logs: Ints, belief: Ints) -> Ints:
        """(input, choice): how likely each choice is, in multiples of 2^-16."""
        flat = belief.ravel()
        common = log2(
            _added(self.class_of[self.there], flat[self.there], int(self.class_of.max(initial=0)) + 1)
            + _SMOOTHING
        )
        scores = np.full(flat.size, -(1 << 60), dtype=np.int64)
        scores[self.there] = common[self.class_of[self.there]]
        scores += _added(self.where, logs, flat.size)
        table: Ints = scores.reshape(self.shape)
        odds = power(table.max(axis=1, keepdims=True) - table)
        odds[~self.there.reshape(self.shape)] = 0
        return np.asarray((odds << BITS) // np.maximum(odds.sum(axis=1, keepdims=True), 1))


def _added(where: Ints, what: Ints, many: int) -> Ints:
    """Sums by place: of whole numbers far below 2^53, so exact, and in any order."""
    return np.bincount(where, what, many).astype(np.int64)
