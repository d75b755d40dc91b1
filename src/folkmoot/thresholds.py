"""Local thresholds: how many answers a participant wants before it gives up its own (section 5).

Definition "strong confidence": a participant of accuracy p > 1/2 has strong confidence if its
threshold satisfies alpha >= k p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Ints


def strong_confidence(p: npt.ArrayLike, k: int) -> Ints:
    """The least threshold of strong confidence for each accuracy: max(floor(k/2)+1, ceil(k p)).

    It never exceeds k, since p <= 1. Accuracies are read as the decimals they print as: k=10,
    p=0.7 gives 7, not the 8 that binary rounding of 10 * 0.7 could give.
    """
    values = checks.accuracies(p)
    size = checks.integer("k", k, least=1)
    least = checks.least_alpha(size)
    thresholds = [max(least, math.ceil(size * Fraction(repr(value)))) for value in values.tolist()]
    return np.array(thresholds, dtype=np.int64)


@dataclass(frozen=True)
class StrongConfidence:
    """``alpha=StrongConfidence(p)``: every participant the threshold that its accuracy ``p[i]`` asks for."""

    p: tuple[float, ...]

    def __init__(self, p: npt.ArrayLike) -> None:
        object.__setattr__(self, "p", tuple(checks.accuracies(p).tolist()))

    def thresholds(self, k: int) -> Ints:
        """One threshold per participant, for samples of k."""
        return strong_confidence(self.p, k)
