"""Logarithms and powers of two in whole numbers: numpy's own differ in the last bit between processors.

Both tables are made of products, shifts and integer square roots alone. A logarithm is a multiple of 2^-16.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np

from folkmoot.arrays import Ints

BITS: Final = 16  # of a logarithm, below the point
ONE: Final = 1 << BITS
_FINE: Final = 30  # bits of what the tables are made of


@cache
def _logarithms() -> Ints:
    """log2(1 + i / 2^16) for i below 2^16: a bit of it for each squaring."""
    x = (np.arange(ONE, dtype=np.int64) + ONE) << (_FINE - BITS)
    found = np.zeros(ONE, dtype=np.int64)
    for _ in range(BITS):
        x = (x * x) >> _FINE
        twice = x >> (_FINE + 1)
        found = 2 * found + twice
        x >>= twice
    return found


@cache
def _powers() -> Ints:
    """2^(-i / 2^16), as multiples of 2^-30, for i below 2^16: a square root of two for each bit."""
    found = np.full(ONE, 1 << _FINE, dtype=np.int64)
    factor = 1 << (_FINE - 1)  # 2^-1
    for bit in reversed(range(BITS)):
        factor = math.isqrt(factor << _FINE)
        where = (np.arange(ONE) >> bit) & 1 == 1
        found[where] = (found[where] * factor) >> _FINE
    return found


def log2(numbers: Ints) -> Ints:
    """The binary logarithms of whole numbers of at least 1, as multiples of 2^-16."""
    whole = np.searchsorted(_WHOLE, numbers, side="right") - 1
    up = np.maximum(BITS - whole, 0)
    down = np.maximum(whole - BITS, 0)
    return np.asarray((whole << BITS) + _logarithms()[((numbers << up) >> down) - ONE])


def power(below: Ints) -> Ints:
    """2^(-below / 2^16), as multiples of 2^-30, for whole numbers of at least 0."""
    return np.asarray(_powers()[below & (ONE - 1)] >> np.minimum(below >> BITS, _FINE + 1))


_WHOLE: Final = np.array([1 << bit for bit in range(62)], dtype=np.int64)
