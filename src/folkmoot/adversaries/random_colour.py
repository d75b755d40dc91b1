"""Random: a new colour, drawn uniformly, at every query (noise; the weakest attack)."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Sees
from folkmoot.votes import Colour


@dataclass(frozen=True)
class RandomColour(Adversary):
    """Says a new colour, drawn uniformly, at every query; to a centralised vote it gives its model's answer.

    Examples
    --------
    It is shown the colour drawn, and says it:

    >>> from folkmoot.adversaries import RandomColour
    >>> RandomColour().answer(2, vote=0, truth=0, classes=3)
    2
    >>> RandomColour().first_vote(vote=0, truth=0, classes=3)
    0
    """

    sees = Sees.DIE

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """The colour drawn for this query."""
        return seen
