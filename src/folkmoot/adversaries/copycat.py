"""Copycat: has no model and repeats what another participant says.

It adds weight to one participant's errors; commitments to first votes are the known remedy.
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Knows, Sees
from folkmoot.votes import Colour


@dataclass(frozen=True)
class Copycat(Adversary):
    """Repeats the current colour of participant ``target``."""

    target: int = 0

    knows = Knows.POPULATION
    sees = Sees.TARGET

    def answer(self, seen: int, *, vote: Colour, truth: Colour, colours: int) -> Colour:  # noqa: ARG002
        """What the target holds now."""
        return seen
