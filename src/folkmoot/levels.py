"""Probabilities on 256 levels: 8 bits each, as participants hand them in.

A level is one of 256 equal cells, and stands for its middle. So no probability is 0 or 1: nobody rules a
class out, and every logarithm is finite.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.arrays import Array, Bytes, Floats

LEVELS: Final = 256


def to_levels(chances: Array) -> Bytes:
    """The cell of each probability, 0 to 255."""
    return np.asarray(np.minimum(np.floor(chances * LEVELS), LEVELS - 1)).astype(np.uint8)


def from_levels(levels: Array) -> Floats:
    """The middles of the cells (..., class), scaled to add up to 1."""
    middles = (levels + 0.5) / LEVELS
    return np.asarray(middles / middles.sum(axis=-1, keepdims=True))


def in_levels(chances: Floats) -> Floats:
    """Probabilities (..., class) rounded to the middles of 256 equal cells, and scaled to add up to 1."""
    return from_levels(to_levels(chances))
