"""Constant number: says the same whatever the input; the simplest lobby."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.numbers.number_adversary import NumberAdversary, Observation


@dataclass(frozen=True)
class ConstantNumber(NumberAdversary):
    """Always ``value``, in every output."""

    value: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.finite("value", self.value))

    def answer_number(self, seen: Observation) -> npt.ArrayLike:  # noqa: ARG002
        """The number it stands for."""
        return self.value
