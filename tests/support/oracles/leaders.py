"""Leaders a second time, slowly: the exact law of all colours at small n, every sample of k enumerated.

Given who leads which round and whom it asks. Participants have any numbers; ``liars`` always give one answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Literal

NONE = -1
Colours = tuple[int, ...]
Law = dict[Colours, Fraction]


def law_of_leaders(
    votes: Sequence[int],
    order: Sequence[int],
    samples: Sequence[Sequence[int]],
    rounds: int,
    *,
    k: int,
    alpha: Sequence[int],
    liars: Mapping[int, int],
    schedule: Literal["one", "lockstep"],
    weights: Sequence[Fraction] | None = None,
) -> Law:
    """What all hold after so many rounds, liars what they always say; one asks at a time, or all at once."""
    n = len(votes)
    honest = [i for i in range(n) if i not in liars]
    share = [Fraction(1)] * n if weights is None else list(weights)

    def winner(said: Colours, asked: Sequence[int], need: int) -> int:
        total = sum(share[j] for j in asked)
        for label in set(said) - {NONE}:
            named = sum(share[j] for j in asked if said[j] == label)
            if total and named * k >= need * total:
                return label
        return NONE

    def shown_to(i: int, leader: int, said: Colours) -> int:
        label = winner(said, samples[leader], alpha[i])
        return label if leader not in liars or liars[leader] == label else NONE

    def outcomes(i: int, now: Colours, shown: int) -> dict[int, Fraction]:
        """What i holds after its query, with what chance."""
        result: dict[int, Fraction] = defaultdict(Fraction)
        for asked in combinations([j for j in range(n) if j != i], k):
            won = winner(now, asked, alpha[i])
            held = won if won != NONE else shown if shown != NONE else now[i]
            result[held] += Fraction(1, comb(n - 1, k))
        return result

    def moved(now: Colours, i: int, to: int) -> Colours:
        return (*now[:i], to, *now[i + 1 :])

    law: Law = {tuple(liars.get(i, vote) for i, vote in enumerate(votes)): Fraction(1)}
    for number in range(rounds):
        leader = order[number % n]
        after: Law = defaultdict(Fraction)
        for before, chance in law.items():
            shown = {i: shown_to(i, leader, before) for i in honest}
            inside: Law = {before: chance}
            for turn in range(len(honest)):
                longer: Law = defaultdict(Fraction)
                for now, part in inside.items():
                    for i in honest if schedule == "one" else [honest[turn]]:
                        seen = now if schedule == "one" else before
                        each = Fraction(1, len(honest)) if schedule == "one" else Fraction(1)
                        for to, often in outcomes(i, seen, shown[i]).items():
                            longer[moved(now, i, to)] += part * each * often
                inside = longer
            for now, part in inside.items():
                after[now] += part
        law = after
    return dict(law)
