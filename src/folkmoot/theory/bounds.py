"""The bounds of the paper as functions, each with the label it has there and the condition it needs."""

from __future__ import annotations

import math

from folkmoot import checks
from folkmoot.sampling import Everyone


def condorcet_bound(n: int, p: float) -> float:
    """ "Condorcet's jury theorem": P_Maj >= p for odd n and p > 1/2. The bound is p itself."""
    checks.odd(checks.integer("n", n, least=1), "for a majority that cannot tie")
    return _better_than_chance(p)


def absorption_bound(n: int, b: int) -> float:
    """ "lemma: Slush symmetry": B_b >= b/n for b >= ceil(n/2), all honest and alpha <= ceil(n/2)."""
    everyone, blue = _blue_majority(n, b)
    return blue / everyone


def chvatal_bound(n: int, k: int, alpha: int, b: int) -> float:
    """ "Chvatal bound": exp(-2 (alpha/k - 1 + b/n)^2 k), for b >= ceil(n/2).

    It bounds the chance H(n, n-b, k, alpha) that *one* query of a blue node ends red. The paper
    also states it of R_b, which fails: near b = n/2, R_b tends to 1/2 as n grows and the bound
    does not (docs/theorems/chvatal-bound.md).
    """
    everyone, blue = _blue_majority(n, b)
    Everyone().urn(everyone, k)  # checks k <= n
    size, threshold = checks.query(k, alpha)
    return math.exp(-2.0 * (threshold / size - 1.0 + blue / everyone) ** 2 * size)


def slush_lower_bound(k: int, alpha: int) -> float:
    """ "prop: Slush lower bound": P_S > 1 - exp(-2 (alpha/k - 1/2)^2 k) for p > 1/2 and n large enough."""
    size, threshold = checks.query(k, alpha)
    return -math.expm1(-2.0 * (threshold / size - 0.5) ** 2 * size)


def performance_groups_bound(n1: int, n2: int) -> float:
    """p_max of "thm: performance groups": ceil(n/2) / (1 + n1), with n = n1 + n2 odd and n1 > n2.

    With the n2 weaker participants always wrong (p2 = 0), the control ratio is below 1 for every b
    as long as p1 is below this value, so Slush beats the majority there.
    """
    strong, weak = checks.integer("n1", n1, least=1), checks.integer("n2", n2, least=0)
    if strong <= weak:
        raise ValueError(f"n1 must satisfy n1 > n2: got n1={strong}, n2={weak}")
    checks.odd(strong + weak, "(n = n1 + n2) for a majority that cannot tie")
    return ((strong + weak + 1) // 2) / (1 + strong)


def byzantine_asymmetry(n: int, b: int, byzantine: int) -> float:
    """The ratio of "lemma: Slush asymmetry with Byzantine": R_b / B_{n-b} >= prod_{j=n-b}^b (n-j)/(c-j).

    For ceil(n/2) <= b <= n - alpha and f < alpha, so b < c. The paper states ">"; at b = n - alpha
    the two sides are equal.
    """
    everyone, liars = checks.population(n, byzantine)
    _, blue = _blue_majority(n, b)
    honest = everyone - liars
    if not blue < honest:
        raise ValueError(f"b must satisfy b < n - byzantine: got b={blue}, n - byzantine = {honest}")
    ratio = 1.0
    for j in range(everyone - blue, blue + 1):
        ratio *= (everyone - j) / (honest - j)
    return ratio


def _blue_majority(n: int, b: int) -> tuple[int, int]:
    everyone = checks.integer("n", n, least=1)
    blue = checks.integer("b", b)
    if not (everyone + 1) // 2 <= blue <= everyone:
        raise ValueError(f"b must satisfy ceil(n/2) <= b <= n: got b={blue}, n={everyone}")
    return everyone, blue


def _better_than_chance(p: float) -> float:
    chance = checks.probability("p", p)
    if not chance > 0.5:
        raise ValueError(f"p must satisfy p > 1/2: got p={chance}")
    return chance
