"""Constant number: says the same whatever the input; the simplest lobby."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.numbers.number_adversary import NumberAdversary, Observation


@dataclass(frozen=True)
class ConstantNumber(NumberAdversary):
    """Says the same number whatever the input, in every output.

    Parameters
    ----------
    value : float, default 0.0
        The number that it stands for.

    Examples
    --------
    A lobby of one among four moves the mean from 2 to 4; the median stays among the honest numbers.

    >>> import numpy as np
    >>> from folkmoot.adversaries import ConstantNumber, numbers_handed_in
    >>> from folkmoot.aggregation import Mean, Median
    >>> values = np.array([[[1.0]], [[2.0]], [[3.0]], [[2.0]]])
    >>> sent = numbers_handed_in(values, {3: ConstantNumber(10.0)})
    >>> print(Mean().combine(sent[:, 0]), Median().combine(sent[:, 0]))
    [4.] [2.5]
    """

    value: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.finite("value", self.value))

    def answer_number(self, seen: Observation) -> npt.ArrayLike:  # noqa: ARG002
        """The number it stands for."""
        return self.value
