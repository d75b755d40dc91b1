"""Silent: votes, then never answers in the communication phase (definition "Faulty participant")."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Knows
from folkmoot.votes import UNCOLOURED, Colour


@dataclass(frozen=True)
class Silent(Adversary):
    """Its first vote counts in a centralised rule; afterwards it is gone."""

    knows = Knows.OWN_VOTE

    def answer(self, seen: int, *, vote: Colour, truth: Colour, colours: int) -> Colour:  # noqa: ARG002
        """Nothing."""
        return UNCOLOURED

    def first_vote(self, *, vote: Colour, truth: Colour, colours: int) -> Colour:  # noqa: ARG002
        """What its model says."""
        return vote
