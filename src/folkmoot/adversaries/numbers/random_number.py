"""Random number: drawn anew at every query from more than the honest range (noise; the weakest attack)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.adversary import Knows
from folkmoot.adversaries.numbers.number_adversary import NumberAdversary, Observation


@dataclass(frozen=True)
class RandomNumber(NumberAdversary):
    """Says a number drawn anew at every query, uniform over the honest range made longer at either end.

    Parameters
    ----------
    widen : float, default 1.0
        By how much of its length the range is made longer at either end, at least 0.

    Examples
    --------
    The honest numbers lie between 1 and 3, so the liar's lie between -1 and 5:

    >>> import numpy as np
    >>> from folkmoot.adversaries import Observation, RandomNumber
    >>> low, high, own, asker = np.array(1.0), np.array(3.0), np.array(2.0), np.array(1.5)
    >>> RandomNumber().answer_number(Observation(low, high, asker, own, die=np.array([0.0, 0.5, 0.75])))
    array([-1. ,  2. ,  3.5])
    """

    widen: float = 1.0

    knows = Knows.POPULATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "widen", checks.finite("widen", self.widen))
        if self.widen < 0:
            raise ValueError(f"widen must satisfy widen >= 0: got widen={self.widen}")

    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        """The number that the die shows."""
        length = seen.high - seen.low
        return seen.low - self.widen * length + seen.die * (1.0 + 2.0 * self.widen) * length
