"""Constant colour: says the same whatever the input; the simplest lobby."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary
from folkmoot.votes import Colour


@dataclass(frozen=True)
class ConstantColour(Adversary):
    """Says the same colour whatever the input.

    Parameters
    ----------
    colour : int, default 0
        The colour that it stands for.

    Examples
    --------
    >>> from folkmoot.adversaries import ConstantColour
    >>> ConstantColour(2).answer(0, vote=1, truth=1, classes=3)
    2
    """

    colour: Colour = 0

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """The colour it stands for."""
        if not 0 <= self.colour < classes:
            raise ValueError(f"colour must satisfy 0 <= colour < {classes}: got colour={self.colour}")
        return self.colour
