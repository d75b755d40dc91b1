"""Perfectly faulty: a wrong first vote, then silence (definition "Perfectly faulty participant")."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Knows, wrong
from folkmoot.votes import UNCOLOURED, Colour


@dataclass(frozen=True)
class PerfectlyFaulty(Adversary):
    """Gives a wrong first vote and is silent afterwards.

    It hurts a centralised vote, which cannot tell, and not the talk, which can.

    Examples
    --------
    >>> from folkmoot.adversaries import PerfectlyFaulty
    >>> PerfectlyFaulty().first_vote(vote=1, truth=1, classes=2)
    0
    >>> PerfectlyFaulty().answer(0, vote=1, truth=1, classes=2)
    -1
    """

    knows = Knows.TRUTH

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """Nothing."""
        return UNCOLOURED

    def first_vote(self, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """A wrong colour."""
        return wrong(truth, classes)
