"""Random: a new colour, drawn uniformly, at every query (noise; the weakest attack)."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Sees
from folkmoot.votes import Colour


@dataclass(frozen=True)
class RandomColour(Adversary):
    """Says what the die shows."""

    sees = Sees.DIE

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """The colour drawn for this query."""
        return seen
