"""Public aggregations in whole numbers alone: the same decisions, bit for bit, on every processor.

Votes are counted, each as one or by a whole weight. Numbers are whole multiples of a grid's step; of them
there are the trimmed mean and the median. Probabilities on 256 levels are pooled by their mean or the mean of
their logarithms. Dawid-Skene is the rule of ``folkmoot.aggregation.DawidSkene``: beliefs are multiples of
2^-16, skills are quotients, logarithms a table.

numpy's logarithms and powers differ in the last bit between processors. The tables here are made of products,
shifts and integer square roots alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import cache
from typing import Final, Literal

import numpy as np

from folkmoot.aggregation.interface import ballots
from folkmoot.arrays import Bools, Ints
from folkmoot.votes import NO_VOTE

BITS: Final = 16  # of a logarithm, below the point
ONE: Final = 1 << BITS
_FINE: Final = 30  # bits of what the tables are made of


@cache
def _logarithms() -> Ints:
    """log2(1 + i / 2^16) for i below 2^16: a bit of it for each squaring."""
    x = (np.arange(ONE, dtype=np.int64) + ONE) << (_FINE - BITS)
    found = np.zeros(ONE, dtype=np.int64)
    for _ in range(BITS):
        x = (x * x) >> _FINE
        twice = x >> (_FINE + 1)
        found = 2 * found + twice
        x >>= twice
    return found


@cache
def _powers() -> Ints:
    """2^(-i / 2^16), as multiples of 2^-30, for i below 2^16: a square root of two for each bit."""
    found = np.full(ONE, 1 << _FINE, dtype=np.int64)
    factor = 1 << (_FINE - 1)  # 2^-1
    for bit in reversed(range(BITS)):
        factor = math.isqrt(factor << _FINE)
        where = (np.arange(ONE) >> bit) & 1 == 1
        found[where] = (found[where] * factor) >> _FINE
    return found


def log2(numbers: Ints) -> Ints:
    """The binary logarithms of whole numbers of at least 1, as multiples of 2^-16."""
    whole = np.searchsorted(_WHOLE, numbers, side="right") - 1
    up = np.maximum(BITS - whole, 0)
    down = np.maximum(whole - BITS, 0)
    return np.asarray((whole << BITS) + _logarithms()[((numbers << up) >> down) - ONE])


def power(below: Ints) -> Ints:
    """2^(-below / 2^16), as multiples of 2^-30, for whole numbers of at least 0."""
    return np.asarray(_powers()[below & (ONE - 1)] >> np.minimum(below >> BITS, _FINE + 1))


_WHOLE: Final = np.array([1 << bit for bit in range(62)], dtype=np.int64)


# Weights are whole numbers up to this, so that the sum over any moot stays within 64 bits.
MOST_WEIGHT = 1 << 40


def plurality(votes: Ints, *, least: int, coin: bytes | None = None) -> Ints:
    """Decide each input by the class that most members voted for, if at least ``least`` did.

    ``votes`` (member, input) has -1 for no vote. A tie is undecided; with a ``coin``, the hash of the agreed
    commitments, one of the tied classes is drawn by it.
    """
    choices, _, counts = counted(votes)
    return decide(choices, counts, counts, least, coin)


def weighted(votes: Ints, weights: Ints, *, least: int, coin: bytes | None = None) -> Ints:
    """Decide by the sum of whole weights, one per member; a class needs ``least`` votes all the same."""
    if weights.shape != (len(votes),) or weights.dtype.kind not in "iu":
        raise ValueError(f"weights must be one whole number per member ({len(votes)}): got {weights.shape}")
    if (weights < 0).any() or (weights > MOST_WEIGHT).any():
        raise ValueError(f"weights must be within 0..{MOST_WEIGHT}: got others")
    choices, places, counts = counted(votes)
    scores = np.zeros(choices.shape, dtype=np.int64)
    member, column = np.nonzero(places != NO_VOTE)
    np.add.at(scores, (column, places[member, column]), weights[member])
    return decide(choices, scores, counts, least, coin)


def counted(votes: Ints) -> tuple[Ints, Ints, Ints]:
    """The choices of each input, the choice of each vote, and (input, choice) how many members voted so."""
    choices, places = ballots(votes)
    inputs, width = choices.shape
    member, column = np.nonzero(places != NO_VOTE)
    cells = column * width + places[member, column]
    return choices, places, np.bincount(cells, minlength=inputs * width).reshape(inputs, width)


def decide(choices: Ints, scores: Ints, counts: Ints, least: int, coin: bytes | None) -> Ints:
    """(input,): the choice with the largest score among those with ``least`` votes; -1 is undecided."""
    able: Bools = (choices != NO_VOTE) & (counts >= max(least, 1)) & (scores > 0)
    raised = np.where(able, scores, -1)
    best = able & (raised == raised.max(axis=1, keepdims=True))
    many = best.sum(axis=1)
    place = best.argmax(axis=1)
    if coin is not None:
        for i in np.flatnonzero(many > 1).tolist():
            tied = np.flatnonzero(best[i])
            place[i] = tied[draw(coin, i, len(tied))]
    there = (many == 1) if coin is None else (many > 0)
    return np.where(there, choices[np.arange(len(choices)), place], NO_VOTE)


def draw(coin: bytes, i: int, among: int) -> int:
    """A number below ``among`` for input i, by the hash of the agreed commitments.

    It is fixed before anybody reveals: else the last to reveal would choose it.
    """
    return int.from_bytes(hashlib.sha256(coin + i.to_bytes(8, "big")).digest(), "big") % among


# Twice the sum over the largest moot stays within 64 bits.
MOST: Final = 1 << 48


def trimmed_mean(numbers: Ints, there: Bools, *, liars: int) -> tuple[Ints, Bools]:
    """The mean of each input without the lowest and highest ``liars`` numbers, rounded to the grid.

    ``numbers`` and ``there`` are (member, input). Halves are rounded up. Also says which inputs have an
    answer: those with more than 2 ``liars`` numbers.
    """
    _check(numbers)
    return _combined(numbers, there, lambda column: _rounded(column[liars : len(column) - liars]), 2 * liars)


def median(numbers: Ints, there: Bools, *, liars: int) -> tuple[Ints, Bools]:
    """The median of each input, halves rounded up; there must be more than 2 ``liars`` numbers."""
    _check(numbers)
    return _combined(numbers, there, _middle, 2 * liars)


def _check(numbers: Ints) -> None:
    if numbers.size and max(-int(numbers.min()), int(numbers.max())) > MOST:
        raise ValueError(f"numbers must be within -{MOST}..{MOST} steps of the grid: got others")


def _combined(
    numbers: Ints, there: Bools, rule: Callable[[list[int]], int], more_than: int
) -> tuple[Ints, Bools]:
    answers = np.zeros(numbers.shape[1], dtype=np.int64)
    able = there.sum(axis=0) > more_than
    for i in np.flatnonzero(able).tolist():
        answers[i] = rule(sorted(numbers[there[:, i], i].tolist()))
    return answers, able


def _middle(ordered: list[int]) -> int:
    """The one in the middle, or the mean of both."""
    return _rounded(ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1])


def _rounded(kept: list[int]) -> int:
    """The mean of whole numbers, halves rounded up."""
    return (2 * sum(kept) + len(kept)) // (2 * len(kept))


LEVELS: Final = 255  # that of certainty


def pool(
    levels: Ints,
    there: Bools,
    *,
    rule: Literal["mean", "log"],
    trim: int,
    least: int,
    coin: bytes | None = None,
) -> Ints:
    """Decide each input by the class that the members together find likeliest.

    ``levels`` (member, input, class) are whole numbers within 0..255, ``there`` (member, input) says who gave
    any. Of each class the ``trim`` lowest and highest do not count. A class needs ``least`` members that find
    it likeliest, or as likely as any.
    """
    if levels.min(initial=0) < 0 or levels.max(initial=0) > LEVELS:
        raise ValueError(f"levels must be within 0..{LEVELS}: got others")
    inputs, classes = levels.shape[1:]
    # That of nothing is half a level: one member that rules a class out has no veto.
    scale = log2(np.maximum(2 * np.arange(LEVELS + 1), 1)) + 1 if rule == "log" else np.arange(LEVELS + 1)
    scores = np.zeros((inputs, classes), dtype=np.int64)
    for voters in np.unique(there.T, axis=0):
        who, columns = np.flatnonzero(voters), np.flatnonzero((voters == there.T).all(axis=1))
        if not who.size:
            continue
        block = np.sort(scale[levels[np.ix_(who, columns)]], axis=0)
        cut = min(trim, (len(who) - 1) // 2)
        found = block[cut : len(who) - cut].sum(axis=0)
        flat = found.max(axis=1) <= 0  # nothing is left of any class
        found[flat] = block[:, flat].sum(axis=0)
        scores[columns] = found
    favoured = (levels == levels.max(axis=2, keepdims=True)) & there[:, :, None] & (levels > 0)
    choices = np.tile(np.arange(classes), (inputs, 1))
    return decide(choices, scores, favoured.sum(axis=0), least, coin)


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
    choices, places, counts = counted(votes)
    cast = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    belief = (counts << BITS) // cast
    entries = _Entries(choices, places, classes)
    if one_coin is None:
        one_coin = votes.shape[1] < classes**2
    estimate = entries.by_one_coin if one_coin else entries.by_confusion
    for _ in range(min(_MOST, max(_LEAST, _WORK // max(len(entries.where), 1)))):
        before, belief = belief, entries.believed(estimate(belief), belief)
        if (before == belief).all():
            break
    return decide(choices, belief, counts, least, coin)


class _Entries:
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
