"""Hierarchies of Slush a second time, in fractions: every first vote and every verdict enumerated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

from support.oracles import exact

Law = tuple[Fraction, Fraction, Fraction]  # of a verdict: right, wrong, none
Level = Callable[[tuple[int, ...]], Law]  # votes (1 right, 0 wrong, -1 none) -> its verdict


def slush(k: int, alpha: int) -> Level:
    """A group of Slush; k and alpha as they are (asked must be so many), or of a moot of all with votes."""

    def verdict(votes: tuple[int, ...]) -> Law:
        cast = [vote for vote in votes if vote >= 0]
        n, right = len(cast), sum(cast)
        if n < 2:
            return (Fraction(right), Fraction(n - right), Fraction(1 - n))
        size = min(k, n - 1)
        # The threshold as strict as before: the least majority stays that, unanimity stays unanimity.
        least, new_least = k // 2 + 1, size // 2 + 1
        place = Fraction(alpha - least, k - least) if k > least else Fraction(0)
        need = new_least + int(place * (size - new_least) + Fraction(1, 2))
        birth, death = exact.rates(n, size, need, 0, False)
        if birth[right] == death[right] == 0 and 0 < right < n:  # nobody can be turned
            return (Fraction(2 * right > n), Fraction(2 * right < n), Fraction(2 * right == n))
        blue = exact.hitting(exact.moves(birth, death), (n,))[right,]
        red = exact.hitting(exact.moves(birth, death), (0,))[right,]
        return (blue, red, 1 - blue - red)

    return verdict


def teams(members: Sequence[Sequence[int]], inner: Level, outer: Level) -> Level:
    """Teams of voters, and their verdicts as votes."""

    def verdict(votes: tuple[int, ...]) -> Law:
        inside = [inner(tuple(votes[i] for i in team)) for team in members]
        result = [Fraction(0)] * 3
        for verdicts in product((1, 0, -1), repeat=len(members)):
            chance = Fraction(1)
            for law, each in zip(inside, verdicts, strict=True):
                chance *= law[{1: 0, 0: 1, -1: 2}[each]]
            if chance:
                for at, part in enumerate(outer(verdicts)):
                    result[at] += chance * part
        return (result[0], result[1], result[2])

    return verdict


def chances(level: Level, p: Sequence[Fraction]) -> Law:
    """The law of the verdict if voter i is right with chance p[i]."""
    result = [Fraction(0)] * 3
    for votes in product((0, 1), repeat=len(p)):
        chance = Fraction(1)
        for right, each in zip(votes, p, strict=True):
            chance *= each if right else 1 - each
        for at, part in enumerate(level(votes)):
            result[at] += chance * part
    return (result[0], result[1], result[2])
