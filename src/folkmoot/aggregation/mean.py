"""Mean: the plain average of all values; what federated averaging does, and what one liar can break."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.aggregation.rule import Rule
from folkmoot.aggregation.trimmed_mean import mean_of_the_middle
from folkmoot.arrays import Floats


@dataclass(frozen=True)
class Mean(Rule):
    """Agreement in one round if nobody lies and all ask all; no guarantee at all if anybody does."""

    def _combine(self, block: Floats) -> Floats:
        return mean_of_the_middle(block, 0)
