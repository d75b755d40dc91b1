"""Stalling: keeps the honest participants split, by always naming the colour that is behind.

The liveness attack on Snow protocols: Amores-Sesar, Cachin and Tedeschi, "When is Spring coming? A
security analysis of Avalanche consensus" (2022); mentioned in section 4.1 of the paper. In numbers it is the
two-faced process that makes approximate agreement slow (Dolev et al., 1986).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries.adversary import Adversary, Knows, Sees
from folkmoot.adversaries.numbers.number_adversary import NumberAdversary, Observation
from folkmoot.votes import Colour


@dataclass(frozen=True)
class Stalling(Adversary, NumberAdversary):
    """Watches the population and pulls it back towards the middle; silent when it is level.

    In numbers it pulls apart: everybody hears the end of the honest range that is on its own side. A trimming
    rule cannot tell that from an honest answer, and a lie beyond the end would move it no further.

    Examples
    --------
    Honest numbers lie between 1 and 3; those who ask hold 1.5 and 2.5:

    >>> import numpy as np
    >>> from folkmoot.adversaries import Observation, Stalling
    >>> low, high, own, die = np.array(1.0), np.array(3.0), np.array(2.0), np.array(0.5)
    >>> Stalling().answer_number(Observation(low, high, np.array([1.5, 2.5]), own, die))
    array([1., 3.])
    """

    knows = Knows.POPULATION
    sees = Sees.RUNNER_UP

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """The runner-up."""
        return seen

    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        """The lowest honest number to those below the middle of the range, the highest to the others."""
        return np.where(seen.asker < 0.5 * (seen.low + seen.high), seen.low, seen.high)
