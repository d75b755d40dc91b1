"""Bounds of the paper that no command shows, each with the label it has there and the condition it needs."""

from __future__ import annotations

import math

from folkmoot import checks
from folkmoot.theory.bounds import blue_majority


def condorcet_bound(n: int, p: float) -> float:
    """ "Condorcet's jury theorem": P_Maj >= p for p > 1/2. The bound is p itself.

    The paper states it for odd n. A tie counts as one half, which makes an even n as good as n - 1.
    """
    checks.integer("n", n, least=1)
    return _better_than_chance(p)


def slush_lower_bound(k: int, alpha: int) -> float:
    """ "prop: Slush lower bound": P_S > 1 - exp(-2 (alpha/k - 1/2)^2 k) for p > 1/2 and n large enough."""
    size, threshold = checks.query(k, alpha)
    return -math.expm1(-2.0 * (threshold / size - 0.5) ** 2 * size)


def performance_groups_bound(n1: int, n2: int) -> float:
    """p_max of "thm: performance groups": ceil(n/2) / (1 + n1), with n = n1 + n2 and n1 > n2.

    With the n2 weaker participants always wrong (p2 = 0), the control ratio is below 1 for every b > n/2
    as long as p1 is below this value. So Slush beats the majority there. The paper states it for odd n,
    where the ratio of b = ceil(n/2) is the first to reach 1. For even n a tie counts as one half and its
    ratio is 1 whatever p1 is. That of b = m + 1, with m = n/2, then decides:

        p_max / (1 - p_max) = sqrt(m (m+1) / ((n1-m) (n1-m+1))).
    """
    strong, weak = checks.integer("n1", n1, least=1), checks.integer("n2", n2, least=0)
    if strong <= weak:
        raise ValueError(f"n1 must satisfy n1 > n2: got n1={strong}, n2={weak}")
    half, odd = divmod(strong + weak, 2)
    if odd:
        return (half + 1) / (1 + strong)
    # From C(n1, m+1) p^2 = C(n1, m-1) (1-p)^2; the ratios of larger b are smaller, by the same step as in the
    # paper's proof: ((n1-c)^2 - x^2) / ((c+1)^2 - x^2) falls with x, where c = (n-1)/2.
    won, lost = math.sqrt(half * (half + 1)), math.sqrt((strong - half) * (strong - half + 1))
    return won / (won + lost)


def byzantine_asymmetry(n: int, b: int, byzantine: int) -> float:
    """The ratio of "lemma: Slush asymmetry with Byzantine": R_b / B_{n-b} >= prod_{j=n-b}^b (n-j)/(c-j).

    For ceil(n/2) <= b <= n - alpha and f < alpha, so b < c. The paper states ">"; at b = n - alpha
    the two sides are equal.
    """
    everyone, byzantine = checks.population(n, byzantine)
    _, blue = blue_majority(n, b)
    honest = everyone - byzantine
    if not blue < honest:
        raise ValueError(f"b must satisfy b < n - byzantine: got b={blue}, n - byzantine = {honest}")
    ratio = 1.0
    for j in range(everyone - blue, blue + 1):
        ratio *= (everyone - j) / (honest - j)
    return ratio


def _better_than_chance(p: float) -> float:
    chance = checks.probability("p", p)
    if not chance > 0.5:
        raise ValueError(f"p must satisfy p > 1/2: got p={chance}")
    return chance
