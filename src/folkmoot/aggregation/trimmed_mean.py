"""Trimmed mean: in every coordinate drop the ``liars`` lowest and highest values, average the rest.

Dolev et al. (1986) for agreement on numbers, Yin, Chen, Ramchandran and Bartlett, "Byzantine-robust
distributed learning: towards optimal statistical rates" (2018) for learning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot.aggregation.rule import Trimming, added
from folkmoot.arrays import Floats


@dataclass(frozen=True)
class TrimmedMean(Trimming):
    """The mean of what is left when the lowest and highest values are dropped, in every coordinate.

    This is the rule to take: it stays in the honest range, and averages what is left.

    **Validity.** With at most ``liars`` liars among the m values, the result lies in the range of the honest
    ones, coordinate by coordinate. Each kept value has at least liars + 1 values on either side, itself
    included, and one of these is honest. This holds to the last bit, on every processor.

    Parameters
    ----------
    liars : int, optional
        How many of the lowest and how many of the highest values to drop; 2 liars < m. Without it,
        floor((m - 1) / 3).

    Examples
    --------
    >>> from folkmoot.aggregation import TrimmedMean
    >>> TrimmedMean().combine([[0.0], [1.0], [2.0], [99.0]])
    array([1.5])
    """

    def _combine(self, block: Floats) -> Floats:
        return mean_of_the_middle(block, self.trimmed(block.shape[1]))


def mean_of_the_middle(block: Floats, liars: int) -> Floats:
    """The mean over axis 1 without the ``liars`` lowest and highest, coordinate by coordinate."""
    kept = np.sort(block, axis=1)[:, liars : block.shape[1] - liars]
    # Rounding must not carry the mean out of the range: a third of 0.1 + 0.1 + 0.1 is above 0.1.
    return np.asarray(np.clip(added(kept) / kept.shape[1], kept[:, 0], kept[:, -1]))
