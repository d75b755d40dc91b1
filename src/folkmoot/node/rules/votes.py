"""Votes counted, each as one or by a whole weight; ties, the least number of votes, and the coin."""

from __future__ import annotations

import hashlib

import numpy as np

from folkmoot.aggregation.interface import ballots
from folkmoot.arrays import Bools, Ints
from folkmoot.votes import NO_VOTE

# Weights are whole numbers up to this, so that the sum over any moot stays within 64 bits.
MOST_WEIGHT = 1 << 40


def plurality(votes: Ints, *, least: int, coin: bytes | None = None) -> Ints:
    """Decide each input by the class that most members voted for, if at least ``least`` did.

    ``votes`` (member, input) has -1 for no vote. A tie is undecided; with a ``coin``, the hash of the agreed
    commitments, one of the tied classes is drawn by it.
    """
    choices, places = ballots(votes)
    counts = count(places, choices.shape[1])
    return decide(choices, counts, counts, least, coin)


def weighted(votes: Ints, weights: Ints, *, least: int, coin: bytes | None = None) -> Ints:
    """Decide by the sum of whole weights, one per member; a class needs ``least`` votes all the same."""
    if weights.shape != (len(votes),) or weights.dtype.kind not in "iu":
        raise ValueError(f"weights must be one whole number per member ({len(votes)}): got {weights.shape}")
    if (weights < 0).any() or (weights > MOST_WEIGHT).any():
        raise ValueError(f"weights must be within 0..{MOST_WEIGHT}: got others")
    choices, places = ballots(votes)
    scores = np.zeros(choices.shape, dtype=np.int64)
    member, column = np.nonzero(places != NO_VOTE)
    np.add.at(scores, (column, places[member, column]), weights[member])
    return decide(choices, scores, count(places, choices.shape[1]), least, coin)


def count(places: Ints, width: int) -> Ints:
    """(input, choice): how many members voted for it."""
    inputs = places.shape[1]
    member, column = np.nonzero(places != NO_VOTE)
    cells = column * width + places[member, column]
    return np.bincount(cells, minlength=inputs * width).reshape(inputs, width)


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
