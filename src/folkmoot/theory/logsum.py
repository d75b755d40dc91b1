"""Sums that do not lose digits: running sums of logarithms, and sums of numbers given by logarithms."""

from __future__ import annotations

import math

import numpy as np

from folkmoot.arrays import Floats


def running_sum(terms: Floats) -> Floats:
    """Cumulative sum with the rounding error of every addition added back (Knuth's two-sum).

    A plain cumulative sum over 100,000 logarithms can drift by 1e-6. This one keeps each partial
    sum within about one rounding error of its true value.
    """
    sums = np.cumsum(terms)
    before = np.concatenate(([0.0], sums[:-1]))
    added = sums - before
    errors = (before - (sums - added)) + (terms - added)
    return np.asarray(sums + np.cumsum(errors), dtype=np.float64)


def running_logsum(logs: Floats) -> Floats:
    """log of the cumulative sum of exp(logs)."""
    return np.asarray(np.logaddexp.accumulate(logs), dtype=np.float64)


def logsum(logs: Floats) -> float:
    """log of the sum of exp(logs); -inf for no terms, as the sum of nothing is zero."""
    if logs.size == 0:
        return -math.inf
    top = float(logs.max())
    if math.isinf(top):
        return top
    return top + math.log(math.fsum(np.exp(logs - top).tolist()))
