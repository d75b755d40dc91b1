"""Random number: drawn anew at every query from more than the honest range (noise; the weakest attack)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.adversary import Knows
from folkmoot.adversaries.numbers.number_adversary import NumberAdversary, Observation


@dataclass(frozen=True)
class RandomNumber(NumberAdversary):
    """Uniform over the honest range, made longer by ``widen`` of its length at either end."""

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
