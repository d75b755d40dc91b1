"""What a Byzantine participant is where numbers are agreed on: a pure answer to all that it may see.

The counterpart of ``Adversary`` for ``agree``. The liar is omniscient, the worst case of Dolev et al. (1986):
it is shown the range of the honest numbers and the asker's own, and may tell every asker something else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries.adversary import Knows
from folkmoot.arrays import Floats


@dataclass(frozen=True, eq=False)
class Observation:
    """What a liar is shown when it is asked, for many inputs and askers at once.

    The arrays have the axes (input, asker, output) and broadcast against each other.
    """

    low: Floats  # the lowest current honest number, in each output
    high: Floats  # the highest
    asker: Floats  # the current number of the asking participant
    own: Floats  # what the liar's own model says
    die: Floats  # uniform over [0, 1); one throw for all inputs, as one query carries them all


class NumberAdversary(ABC):
    """A Byzantine behaviour in numbers. Subclasses say what they know, and give a pure answer."""

    knows: ClassVar[Knows] = Knows.NOTHING

    @abstractmethod
    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        """What it says, an array that broadcasts to the shape of ``seen.asker``.

        NaN is silence. So is any number that no honest node would send (infinite, or beyond ``LARGEST``): the
        asker counts its own number in its place, which keeps it in the honest range.
        """


def numbers_handed_in(values: Floats, adversaries: Mapping[int, NumberAdversary]) -> Floats:
    """The first numbers, (participant, input, output), that a centre would be sent; NaN where it gets none.

    A centre is not one of them: liars answer it as they would a participant in the middle of the honest
    range, with a die that shows one half.
    """
    honest = np.ones(len(values), dtype=np.bool_)
    honest[list(adversaries)] = False
    low, high = values[honest].min(axis=0)[:, None], values[honest].max(axis=0)[:, None]
    sent = values.copy()
    for participant, adversary in adversaries.items():
        middle, die = 0.5 * (low + high), np.full((1, 1, values.shape[2]), 0.5)
        seen = Observation(low, high, asker=middle, own=values[participant][:, None], die=die)
        sent[participant] = np.broadcast_to(np.asarray(adversary.answer_number(seen)), middle.shape)[:, 0]
    return sent
