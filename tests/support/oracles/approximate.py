"""Approximate agreement a second time: plain Python, loops, exact fractions, and nothing of folkmoot.

A number is a tuple of d Fractions. The truth that ``aggregation`` and ``agree`` are held to.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

Number = tuple[Fraction, ...]
Combine = Callable[[Sequence[Number]], Number]
# (honest numbers, the asker's number, the liar's own number, the liar) to what it says, None if silent
Lie = Callable[[Sequence[Number], Number, Number, int], Number | None]


def number(*coordinates: float) -> Number:
    return tuple(Fraction(float(x)) for x in coordinates)


def safe_trim(m: int) -> int:
    """The largest t with m > 3 t."""
    return max(t for t in range(m) if 3 * t < m)


def trimmed_mean(values: Sequence[Number], trim: int) -> Number:
    kept = [sorted(column)[trim : len(values) - trim] for column in zip(*values, strict=True)]
    return tuple(sum(column, Fraction(0)) / len(column) for column in kept)


def mean(values: Sequence[Number]) -> Number:
    return tuple(statistics.mean(column) for column in zip(*values, strict=True))


def median(values: Sequence[Number]) -> Number:
    return tuple(Fraction(statistics.median(column)) for column in zip(*values, strict=True))


def krum(values: Sequence[Number], trim: int) -> Number:
    """By trying every set of neighbours of every value."""
    size = len(values) - trim - 2
    if len(values) == 1:
        return values[0]
    ranked = []
    for i, value in enumerate(values):
        others = [squared(value, other) for j, other in enumerate(values) if j != i]
        ranked.append((min(sum(chosen) for chosen in combinations(others, max(1, size))), value))
    return min(ranked)[1]


def squared(one: Number, other: Number) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(one, other, strict=True)), Fraction(0))


def sum_of_distances(point: Sequence[float], values: Sequence[Sequence[float]]) -> float:
    return math.fsum(math.dist(point, value) for value in values)


def honest_range(values: Sequence[Number]) -> list[tuple[Fraction, Fraction]]:
    return [(min(column), max(column)) for column in zip(*values, strict=True)]


def spread(values: Sequence[Number]) -> Fraction:
    return max(high - low for low, high in honest_range(values))


def stalling(honest: Sequence[Number], asker: Number, _own: Number, _liar: int) -> Number:
    return tuple(
        low if x < (low + high) / 2 else high
        for x, (low, high) in zip(asker, honest_range(honest), strict=True)
    )


def play(
    first: Sequence[Number],
    combine: Combine,
    lies: dict[int, Lie],
    peers: Callable[[int, int], Sequence[int]],
    rounds: int,
    target: Fraction,
) -> tuple[list[Number], int, list[Fraction]]:
    """One input in lockstep: the honest numbers at the end, rounds played, the spread at every time.

    ``peers(round, node)`` are those that an honest node asks.
    """
    now = list(first)
    honest = [i for i in range(len(first)) if i not in lies]
    spreads = [spread([now[i] for i in honest])]
    played = 0
    while played < rounds and spreads[-1] > target:
        known = [now[i] for i in honest]
        after = list(now)
        for i in honest:
            held = [now[i]]
            for j in peers(played, i):
                said = lies[j](known, now[i], first[j], j) if j in lies else now[j]
                held.append(now[i] if said is None else said)
            after[i] = combine(held)
        now = after
        spreads.append(spread([now[i] for i in honest]))
        played += 1
    return [now[i] for i in honest], played, spreads
