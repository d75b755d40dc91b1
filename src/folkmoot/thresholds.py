"""Local thresholds: how many answers a participant wants before it gives up its own (section 5).

Definition "strong confidence": a participant of accuracy p > 1/2 has strong confidence if its
threshold satisfies alpha >= k p.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Ints


@dataclass(frozen=True, repr=False)
class StrongConfidence:
    """The ``alpha`` of a protocol that gives every participant the threshold that its accuracy asks for.

    The better a participant is, the more answers it wants before it gives up its own (section 5).

    Parameters
    ----------
    p : array-like of float, shape (participant,), optional
        The accuracy of each participant. Default: not known yet; an estimator fills in the accuracies on the
        holdout.

    Examples
    --------
    >>> from folkmoot import Slush, StrongConfidence
    >>> protocol = Slush(k=10, alpha=StrongConfidence([0.5, 0.7, 0.95]))
    >>> protocol.thresholds(3)
    array([ 6,  7, 10])
    """

    p: tuple[float, ...] | None

    def __init__(self, p: npt.ArrayLike | None = None) -> None:
        object.__setattr__(self, "p", None if p is None else tuple(checks.accuracies(p).tolist()))

    def thresholds(self, k: int) -> Ints:
        """The least threshold of strong confidence for each accuracy: max(floor(k/2)+1, ceil(k p)).

        It never exceeds k, since p <= 1. Accuracies are read as the decimals they print as: k=10,
        p=0.7 gives 7, not the 8 that binary rounding of 10 * 0.7 could give.
        """
        if self.p is None:
            raise ValueError(
                "StrongConfidence() has no accuracies: give them, StrongConfidence(p); in an estimator they "
                "come from the holdout"
            )
        size = checks.integer("k", k, least=1)
        least = checks.least_alpha(size)
        alphas = [max(least, math.ceil(size * Fraction(repr(value)))) for value in self.p]
        return np.array(alphas, dtype=np.int64)

    def restricted(self, participants: Sequence[int]) -> StrongConfidence:
        """The same among some of the participants."""
        return self if self.p is None else StrongConfidence([self.p[i] for i in participants])

    def __repr__(self) -> str:
        return "StrongConfidence()" if self.p is None else f"StrongConfidence({list(self.p)})"
