"""Centralised rules: (super)majority of the first votes (definition "delta-supermajority rule")."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from folkmoot import checks
from folkmoot.theory.logsum import logsum
from folkmoot.theory.votes_law import Accuracies, log_votes_law


def majority_accuracy(
    n: int, p: Accuracies, *, delta: int = 0, q: float | Fraction | None = None, byzantine: int = 0
) -> float:
    """P_Maj, the chance that enough of n first votes are right (equation "hom Condorcet probability").

    Enough is floor(n/2) + 1 + delta (for odd n the paper's ceil(n/2) + delta), or ceil(q n) when a fraction
    ``q`` is given. A tie, n/2 right votes of an even n, counts as one half; a supermajority that is not
    reached counts as wrong. Byzantine votes are wrong.

    Parameters
    ----------
    n : int
        The number of voters.
    p : float or array-like of float, shape (n - byzantine,)
        The accuracy of every honest participant, or one value for each.
    delta : int, default 0
        Votes needed beyond a bare majority.
    q : float or Fraction, optional
        The share of the votes that is needed instead, 1/2 < q <= 1. A float is read as the decimal that it
        prints as.
    byzantine : int, default 0
        Participants that always vote wrong.

    Returns
    -------
    float
        The chance that the vote is right.

    Examples
    --------
    >>> from folkmoot.theory import majority_accuracy
    >>> round(majority_accuracy(3, 0.6), 12)
    0.648
    >>> round(majority_accuracy(3, 0.6, delta=1), 12)
    0.216
    >>> round(majority_accuracy(3, [0.6, 0.6], byzantine=1), 12)
    0.36

    With four, a tie of two to two is right half of the time, so the fourth adds nothing:

    >>> round(majority_accuracy(4, 0.6), 12)
    0.648
    """
    everyone, byzantine = checks.population(n, byzantine)
    needed = checks.required_votes(everyone, delta, q)
    tied = checks.tied_votes(everyone, delta, q)
    law = log_votes_law(p, everyone - byzantine)
    terms = law[needed:]
    if tied is not None and tied < law.size:
        terms = np.append(terms, law[tied] - math.log(2))
    return math.exp(min(logsum(terms), 0.0))
