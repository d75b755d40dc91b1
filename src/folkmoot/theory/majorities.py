"""Centralised rules: (super)majority of the first votes (definition "delta-supermajority rule")."""

from __future__ import annotations

import math
from fractions import Fraction

from folkmoot import checks
from folkmoot.theory.logsum import logsum
from folkmoot.theory.votes_law import Accuracies, log_votes_law


def majority_accuracy(
    n: int, p: Accuracies, *, delta: int = 0, q: float | Fraction | None = None, byzantine: int = 0
) -> float:
    """P_Maj, the chance that enough of n first votes are right (equation "hom Condorcet probability").

    Enough is ceil(n/2) + delta, or ceil(q n) when a fraction ``q`` is given. ``p`` is the accuracy of
    every honest participant, or one value for each of the n - byzantine; Byzantine votes are wrong.
    """
    everyone, liars = checks.population(n, byzantine)
    needed = checks.required_votes(everyone, delta, q)
    law = log_votes_law(p, everyone - liars)
    return math.exp(min(logsum(law[needed:]), 0.0))
