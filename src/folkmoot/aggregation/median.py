"""Median: the middle value in every coordinate, of an even number the mean of the two (Yin et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot.aggregation.rule import Rule
from folkmoot.arrays import Floats


@dataclass(frozen=True)
class Median(Rule):
    """The median: the middle value in every coordinate, of an even number the mean of the middle two.

    It stays in the honest range with any minority of liars.

    **Validity.** With fewer than m/2 liars the result lies in the range of the honest values, coordinate by
    coordinate. It is the trimmed mean with trim = ceil(m/2) - 1.

    Examples
    --------
    >>> from folkmoot.aggregation import Median
    >>> Median().combine([[0.0], [1.0], [2.0], [99.0]])
    array([1.5])
    """

    def _combine(self, block: Floats) -> Floats:
        return middle(block)


def middle(block: Floats) -> Floats:
    """The median over axis 1, coordinate by coordinate."""
    m = block.shape[1]
    ranked = np.sort(block, axis=1)
    return np.asarray(0.5 * (ranked[:, (m - 1) // 2] + ranked[:, m // 2]))
