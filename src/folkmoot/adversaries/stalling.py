"""Stalling: keeps the honest participants split by always naming the colour that is behind.

The liveness attack on Snow protocols: Amores-Sesar, Cachin and Tedeschi, "When is Spring coming? A
security analysis of Avalanche consensus" (2022); mentioned in section 4.1 of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Knows, Sees
from folkmoot.votes import Colour


@dataclass(frozen=True)
class Stalling(Adversary):
    """Watches the population and pulls it back towards the middle; silent when it is level."""

    knows = Knows.POPULATION
    sees = Sees.RUNNER_UP

    def answer(self, seen: int, *, vote: Colour, truth: Colour, colours: int) -> Colour:  # noqa: ARG002
        """The runner-up."""
        return seen
