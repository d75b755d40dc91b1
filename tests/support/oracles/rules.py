"""Rules of aggregation of numbers a second time: plain Python, loops, exact fractions, nothing of folkmoot.

A number is a tuple of d Fractions.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

Number = tuple[Fraction, ...]


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
