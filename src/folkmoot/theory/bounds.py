"""The bounds of the paper as functions, each with the label it has there and the condition it needs."""

from __future__ import annotations

import math

from folkmoot import checks
from folkmoot.protocols.sampling import Everyone


def absorption_bound(n: int, b: int) -> float:
    """ "lemma: Slush symmetry": B_b >= b/n for b >= ceil(n/2), all honest and alpha <= ceil(n/2)."""
    everyone, blue = blue_majority(n, b)
    return blue / everyone


def chvatal_bound(n: int, k: int, alpha: int, b: int) -> float:
    """ "Chvatal bound": exp(-2 (alpha/k - 1 + b/n)^2 k), for b >= ceil(n/2).

    It bounds the chance H(n, n-b, k, alpha) that *one* query of a blue node ends red. The paper
    also states it of R_b, which fails. Near b = n/2, R_b tends to 1/2 as n grows and the bound
    does not (docs/theorems/chvatal-bound.md).
    """
    everyone, blue = blue_majority(n, b)
    Everyone().peer_count(everyone, k)  # checks k <= n
    size, threshold = checks.query(k, alpha)
    return math.exp(-2.0 * (threshold / size - 1.0 + blue / everyone) ** 2 * size)


def blue_majority(n: int, b: int) -> tuple[int, int]:
    """n and b, if at least half of the participants are blue; else ValueError."""
    everyone = checks.integer("n", n, least=1)
    blue = checks.integer("b", b)
    if not (everyone + 1) // 2 <= blue <= everyone:
        raise ValueError(f"b must satisfy ceil(n/2) <= b <= n: got b={blue}, n={everyone}")
    return everyone, blue
