"""Krum: the one value that lies closest to its nearest others.

Blanchard, El Mhamdi, Guerraoui and Stainer, "Machine learning with adversaries: Byzantine tolerant gradient
descent" (2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot.aggregation.rule import Trimming, added, arranged, squared_distances
from folkmoot.arrays import Floats


@dataclass(frozen=True)
class Krum(Trimming):
    """Krum: the value with the least sum of squared distances to its m - liars - 2 nearest others.

    At least one neighbour is always looked at. Among equals the value wins that is smaller in the first
    coordinate in which they differ. So the order of the answers does not matter.

    It is a selection for gradients: **no validity** (three liars of nine can win with a number outside the
    honest range).

    Parameters
    ----------
    liars : int, optional
        The number of liars among the m values to withstand. It needs 2 liars + 2 < m, so the neighbours of a
        value hold an honest majority. Without it, the largest safe number that satisfies this, and 0 below m
        = 5.

    Examples
    --------
    >>> from folkmoot.aggregation import Krum
    >>> Krum().combine([[0.0], [1.0], [1.5], [2.0], [99.0]])
    array([1.5])
    """

    def check(self, m: int) -> None:
        """2 liars + 2 < m, unless liars is 0."""
        if self.liars and not 2 * self.liars + 2 < m:
            raise ValueError(
                f"liars must satisfy 2 liars + 2 < m, the values held: got liars={self.liars}, m={m}"
            )

    def trimmed(self, m: int) -> int:
        """The number of liars among m values that the rule stands against."""
        return max(0, min(super().trimmed(m), (m - 3) // 2)) if self.liars is None else super().trimmed(m)

    def _combine(self, block: Floats) -> Floats:
        m = block.shape[1]
        nearest = max(1, m - self.trimmed(m) - 2)
        values = arranged(block)
        scores = np.zeros(values.shape[:2])
        for j in range(m if m > 1 else 0):
            apart = np.sort(squared_distances(values, values[:, j]), axis=1)
            scores[:, j] = added(apart[:, 1 : nearest + 1])  # the first is its distance to itself
        return np.asarray(values[np.arange(len(values)), scores.argmin(axis=1)])
