"""Far away: a number far outside the honest range, the same for all; what a mean cannot stand.

The attack that breaks every linear rule, however few the liars: Blanchard et al. (2017), lemma 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.adversary import Knows
from folkmoot.adversaries.numbers.number_adversary import NumberAdversary, Observation


@dataclass(frozen=True)
class FarAway(NumberAdversary):
    """Says a number far outside the honest range, the same to all.

    Parameters
    ----------
    distance : float, default 1e6
        How far above the highest honest number; below the lowest if it is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.adversaries import FarAway, Observation
    >>> low, high, own, die = np.array(1.0), np.array(3.0), np.array(2.0), np.array(0.5)
    >>> seen = Observation(low, high, np.array(1.5), own, die)
    >>> print(FarAway(100).answer_number(seen), FarAway(-100).answer_number(seen))
    103.0 -99.0
    """

    distance: float = 1e6

    knows = Knows.POPULATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", checks.finite("distance", self.distance))

    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        """A number that no honest participant is near."""
        return (seen.low if self.distance < 0 else seen.high) + self.distance
