"""Mean: the plain average of all values; what federated averaging does, and what one liar can break."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.aggregation.rule import Rule
from folkmoot.aggregation.trimmed_mean import mean_of_the_middle
from folkmoot.arrays import Floats


@dataclass(frozen=True)
class Mean(Rule):
    """The mean of all values.

    If anybody lies, nothing is guaranteed.

    Examples
    --------
    >>> from folkmoot.aggregation import Mean
    >>> Mean().combine([[0.0], [1.0], [2.0], [99.0]])
    array([25.5])
    """

    def _combine(self, block: Floats) -> Floats:
        return mean_of_the_middle(block, 0)
