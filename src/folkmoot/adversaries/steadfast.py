"""Steadfast: repeats its first vote, whatever is said (a stubborn agent, or a zealot, of opinion dynamics).

With first votes that were made to deceive (collusion.py) it is how a clique goes on lying in the talk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from folkmoot.adversaries.adversary import Adversary, Knows
from folkmoot.adversaries.numbers.number_adversary import NumberAdversary, Observation
from folkmoot.votes import Colour


@dataclass(frozen=True)
class Steadfast(Adversary, NumberAdversary):
    """Says its own first vote, or number, to everybody, always.

    Examples
    --------
    >>> from folkmoot.adversaries import Steadfast
    >>> Steadfast().answer(0, vote=0, truth=1, classes=2)
    0
    """

    knows = Knows.OWN_VOTE

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """The first vote."""
        return vote

    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        """The first number."""
        return seen.own
