"""Local thresholds: how many answers a participant wants before it gives up its own (section 5).

Definition "strong confidence": a participant of accuracy p > 1/2 has strong confidence if its
threshold satisfies alpha >= k p.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from folkmoot import checks


def strong_confidence(p: npt.ArrayLike, k: int) -> npt.NDArray[np.int64]:
    """The least threshold of strong confidence for each accuracy: max(floor(k/2)+1, ceil(k p)).

    It never exceeds k, since p <= 1. Accuracies are read as the decimals they print as: k=10,
    p=0.7 gives 7, not the 8 that binary rounding of 10 * 0.7 could give.
    """
    values = checks.accuracies(p)
    size = checks.integer("k", k, least=1)
    least = size // 2 + 1
    thresholds = [max(least, math.ceil(size * Fraction(repr(value)))) for value in values.tolist()]
    return np.array(thresholds, dtype=np.int64)
