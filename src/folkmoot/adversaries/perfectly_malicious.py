"""Perfectly malicious: knows the right answer and always gives a wrong one (section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Knows, wrong
from folkmoot.votes import Colour


@dataclass(frozen=True)
class PerfectlyMalicious(Adversary):
    """Definition "Perfectly Byzantine participant"."""

    knows = Knows.TRUTH

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """A wrong colour, the same for all of them."""
        return wrong(truth, classes)
