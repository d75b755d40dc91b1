"""Perfectly malicious: knows the right answer and always gives a wrong one (section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Knows, wrong
from folkmoot.votes import Colour


@dataclass(frozen=True)
class PerfectlyMalicious(Adversary):
    """Knows the right answer and always gives a wrong one (definition "Perfectly Byzantine participant").

    All of them name the same wrong colour, the one after the right one, which is the strongest choice.

    Examples
    --------
    >>> from folkmoot.adversaries import PerfectlyMalicious
    >>> [PerfectlyMalicious().answer(0, vote=truth, truth=truth, classes=3) for truth in range(3)]
    [1, 2, 0]
    """

    knows = Knows.TRUTH

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """A wrong colour, the same for all of them."""
        return wrong(truth, classes)
