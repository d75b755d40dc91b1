"""Silent: votes, then never answers in the communication phase (definition "Faulty participant")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries.adversary import Adversary, Knows
from folkmoot.adversaries.numbers.number_adversary import NumberAdversary, Observation
from folkmoot.votes import UNCOLOURED, Colour


@dataclass(frozen=True)
class Silent(Adversary, NumberAdversary):
    """Gives its first vote, then never answers.

    The first vote counts in a centralised rule. In numbers an asker counts its own number instead.

    Examples
    --------
    >>> from folkmoot.adversaries import Silent
    >>> Silent().first_vote(vote=1, truth=1, classes=2)
    1
    >>> Silent().answer(0, vote=1, truth=1, classes=2)
    -1
    """

    knows = Knows.OWN_VOTE

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """Nothing."""
        return UNCOLOURED

    def answer_number(self, seen: Observation) -> npt.ArrayLike:  # noqa: ARG002
        """Nothing: the asker counts its own number once more, which keeps it in the honest range."""
        return np.nan

    def first_vote(self, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """What its model says."""
        return vote
