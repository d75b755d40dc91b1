"""Perfectly faulty: a wrong first vote, then silence (definition "Perfectly faulty participant")."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Knows, wrong
from folkmoot.votes import UNCOLOURED, Colour


@dataclass(frozen=True)
class PerfectlyFaulty(Adversary):
    """Hurts the centralised vote, which cannot tell, and not the talk, which can."""

    knows = Knows.TRUTH

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """Nothing."""
        return UNCOLOURED

    def first_vote(self, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """A wrong colour."""
        return wrong(truth, classes)
