"""Accuracies from a beta distribution, by its mean and variance (section 5.2 of the paper)."""

from __future__ import annotations

import math

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Floats


def beta_accuracies(n: int, mean: float, variance: float, seed: int = 0) -> Floats:
    """Draw n accuracies from the beta distribution of this mean and variance."""
    everyone = checks.integer("n", n, least=1)
    a, b = beta_parameters(mean, variance)
    return np.asarray(checks.generator(seed).beta(a, b, everyone), dtype=np.float64)


def beta_parameters(mean: float, variance: float) -> tuple[float, float]:
    """Find the parameters (a, b) of the beta distribution of this mean and variance.

    mean = a / (a + b) and variance = a b / ((a + b)^2 (a + b + 1)). Hence, with
    s = mean (1 - mean) / variance - 1: a = mean s, b = (1 - mean) s. Appendix C of the paper prints the last
    factor of the variance as (1 + b + 1), a slip for (a + b + 1). It allows variances in (0, 0.25). For a
    given mean the range is (0, mean (1 - mean)).
    """
    m, v = (checks.number(name, value) for name, value in (("mean", mean), ("variance", variance)))
    if not 0 < m < 1:
        raise ValueError(f"mean must satisfy 0 < mean < 1: got mean={mean}")
    limit = m * (1 - m)
    # 0.7 * (1 - 0.7) is a little more than 0.21: the limit itself must not slip through by rounding.
    if not 0 < v < limit * (1 - 1e-12):
        raise ValueError(
            f"variance must satisfy 0 < variance < mean (1 - mean) = {limit:.6g}: got variance={variance}"
        )
    total = limit / v - 1
    if math.isinf(total):
        raise ValueError(f"variance must not be within rounding of 0: got variance={variance}")
    return m * total, (1 - m) * total
