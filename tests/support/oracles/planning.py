"""A talk of Slush for some rounds, in fractions: what ``folkmoot.plan`` says, said a second time.

Nothing here imports folkmoot.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from support.oracles.exact import poisson_binomial, rates


class Exact(NamedTuple):
    """What a setting gives."""

    accuracy: Fraction
    agreement: Fraction
    in_time: Fraction


def after_rounds(n: int, k: int, alpha: int, f: int, law: list[Fraction], rounds: int) -> list[Fraction]:
    """The law of right honest participants after so many rounds of n - f steps, nobody asking itself."""
    c = n - f
    birth, death = rates(n, k, alpha, f, self_sampling=False)
    whole = c * math.comb(n - 1, k)
    for _ in range(rounds * c):
        law = [
            law[b] * Fraction(whole - birth[b] - death[b], whole)
            + (law[b - 1] * Fraction(birth[b - 1], whole) if b else 0)
            + (law[b + 1] * Fraction(death[b + 1], whole) if b < c else 0)
            for b in range(c + 1)
        ]
    return law


def judged(law: list[Fraction]) -> Exact:
    """More than half right, or one half if level; the share on the larger side; all on one side."""
    c = len(law) - 1
    return Exact(
        sum((law[b] * Fraction(1 + (2 * b > c) - (2 * b < c), 2) for b in range(c + 1)), Fraction(0)),
        sum((law[b] * Fraction(max(b, c - b), c) for b in range(c + 1)), Fraction(0)),
        law[0] + law[c],
    )


def some_of(p: list[Fraction], honest: int) -> list[Fraction]:
    """The law of right votes among ``honest`` participants drawn at random, by going through all choices."""
    from itertools import combinations

    choices = list(combinations(p, honest))
    laws = [poisson_binomial(list(choice)) for choice in choices]
    return [sum((law[b] for law in laws), Fraction(0)) / len(choices) for b in range(honest + 1)]
