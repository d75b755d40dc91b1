"""Sweeps on the processor: votes tossed, played by the flip kernel and counted, some runs at a time."""

from __future__ import annotations

from threading import Lock
from typing import Final, NamedTuple

import numpy as np

from folkmoot.arrays import Array, Bools, Classes, Ints, Words
from folkmoot.simulation.kernels import flip
from folkmoot.simulation.kernels.arguments import Chances, Deliberation, Jobs, Results
from folkmoot.simulation.kernels.tossing import planes_of, toss
from folkmoot.simulation.sharing import Piece

TALLIES: Final = 8  # right, wrong, level, converged, rounds, queries; first votes: more right ones, as many
_SOME: Final = 4096  # runs in a piece
_WANT: Final = np.array([1, 0], dtype=np.uint8)  # a node of either class moves when the other wins


class SweptRule(NamedTuple):
    """The settings of a sweep as tables."""

    chance: Words  # flat: a row for each threshold
    row: int  # entries of a row
    offset: Words  # (setting, honest): where the row of its threshold starts
    thresholds: Words  # (setting, honest): uniform words below it are right votes
    seeds: Words  # (setting,)
    fixed: Ints  # (class,): malicious participants that always answer it
    closed: Bools  # (setting, class)
    rounds: int


class Kept(NamedTuple):
    """Votes and decisions of all runs, where they are kept: (setting, participant, run)."""

    votes: Classes
    decisions: Classes


def pieces(rule: SweptRule, repeats: int, found: Ints, kept: Kept | None) -> list[Piece]:
    """The work, cut up; what is counted is added to ``found`` (setting, TALLIES), queries as turns."""
    lock, planes = Lock(), planes_of(rule.thresholds)

    def piece(which: int, first: int, last: int) -> Piece:
        def play(halt: Array) -> None:
            results = _played(rule, planes[which], which, first, last, halt, kept)
            with lock:
                found[which] += results

        return Piece(last - first, play)

    return [
        piece(which, first, min(first + _SOME, repeats))
        for which in range(len(rule.seeds))
        for first in range(0, repeats, _SOME)
    ]


def _played(
    rule: SweptRule, planes: Words, which: int, first: int, last: int, halt: Array, kept: Kept | None
) -> Ints:
    """Runs ``first`` to ``last - 1`` of a setting, counted."""
    many, honest = last - first, rule.offset.shape[1]
    votes = np.empty((many, honest), dtype=np.int8)
    toss(rule.seeds[which], first, planes, votes)
    results = Results(
        decisions=np.empty_like(votes),
        played=np.zeros(many, dtype=np.int64),
        asked=np.zeros(many, dtype=np.int64),
        converged=np.zeros(many, dtype=np.bool_),
        history=np.zeros((0, 0, 0), dtype=np.int32),
    )
    flip.play(
        Jobs(0, many, halt, int(rule.seeds[which]), np.arange(first, last)),
        Deliberation(votes, np.tile(rule.closed[which], (many, 1)), False, rule.rounds),
        Chances(rule.chance, rule.offset[which], np.tile(rule.fixed, (many, 1)), np.uint64(0)),
        _WANT,
        _WANT,
        results,
    )
    if kept is not None:
        kept.votes[which, :, first:last] = votes.T
        kept.decisions[which, :, first:last] = results.decisions.T
    right = 2 * results.decisions.sum(axis=1, dtype=np.int64) - honest
    cast = 2 * votes.sum(axis=1, dtype=np.int64) - honest - int(rule.fixed[0])  # the malicious vote, too
    counted = [right > 0, right < 0, right == 0, results.converged, results.played, results.asked]
    counted += [cast > 0, cast == 0]
    return np.array([each.sum() for each in counted], dtype=np.int64)
