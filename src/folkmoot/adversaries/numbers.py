"""Adversaries where numbers are aggregated: what they see, and one short class each.

Such an adversary is omniscient, the worst case of Dolev et al. (1986): it is shown the range of the honest
numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.interface import Knows
from folkmoot.arrays import Floats


@dataclass(frozen=True, eq=False)
class Observation:
    """What a liar is shown when it is asked, for many inputs and askers at once.

    The arrays have the axes (input, asker, output) and broadcast against each other.

    Parameters
    ----------
    low : ndarray of float
        The lowest current honest number, in each output.
    high : ndarray of float
        The highest.
    asker : ndarray of float
        The current number of the asking participant.
    own : ndarray of float
        What the liar's own model says.
    die : ndarray of float
        Uniform over [0, 1); one throw for all inputs, as one query carries them all.

    Examples
    --------
    One input, two askers, one output:

    >>> import numpy as np
    >>> from folkmoot.adversaries import Observation, Stalling
    >>> one = np.ones((1, 1, 1))
    >>> seen = Observation(one, 3 * one, asker=np.array([[[1.5], [2.5]]]), own=2 * one, die=0.5 * one)
    >>> Stalling().answer_number(seen).shape
    (1, 2, 1)
    """

    low: Floats
    high: Floats
    asker: Floats
    own: Floats
    die: Floats


class NumberAdversary(ABC):
    """A malicious behaviour in numbers. Subclasses say what they know, and give a pure answer.

    ``NUMBER_ATTACKS`` has them by name.

    Examples
    --------
    A behaviour of your own: the opposite of what its model says.

    >>> import numpy as np
    >>> from folkmoot.adversaries import NumberAdversary, numbers_handed_in
    >>> class Opposite(NumberAdversary):
    ...     def answer_number(self, seen):
    ...         return -seen.own
    >>> values = np.array([[[1.0]], [[2.0]], [[3.0]]])
    >>> numbers_handed_in(values, {2: Opposite()})[:, 0, 0]
    array([ 1.,  2., -3.])
    """

    knows: ClassVar[Knows] = Knows.NOTHING

    @abstractmethod
    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        """What it says, an array that broadcasts to the shape of ``seen.asker``.

        NaN is silence. So is any number that no honest node would send (infinite, or beyond ``LARGEST``): it
        is left out.
        """


def numbers_handed_in(values: Floats, adversaries: Mapping[int, NumberAdversary]) -> Floats:
    """The first numbers that a centre would be sent; NaN where it gets none.

    A centre is not one of them: liars answer it as they would a participant in the middle of the honest
    range, with a die that shows one half.

    Parameters
    ----------
    values : ndarray of float, shape (participant, input, output)
        What every participant's model answers.
    adversaries : mapping of int to NumberAdversary
        The malicious participants by number.

    Returns
    -------
    ndarray of float, shape (participant, input, output)
        The numbers with the rows of the adversaries replaced.

    Examples
    --------
    One liar of four moves a mean as far as it likes, and a median not beyond the honest numbers:

    >>> import numpy as np
    >>> from folkmoot.adversaries import FarAway, numbers_handed_in
    >>> from folkmoot.aggregation import Mean, Median
    >>> values = np.array([[[1.0]], [[2.0]], [[3.0]], [[2.0]]])
    >>> sent = numbers_handed_in(values, {3: FarAway()})
    >>> print(Mean().combine(sent[:, 0]), Median().combine(sent[:, 0]))
    [250002.25] [2.5]
    """
    honest = np.ones(len(values), dtype=np.bool_)
    honest[list(adversaries)] = False
    low, high = (end.reduce(values[honest], axis=0)[:, None] for end in (np.fmin, np.fmax))  # NaN: none there
    sent = values.copy()
    for participant, adversary in adversaries.items():
        middle, die = 0.5 * (low + high), np.full((1, 1, values.shape[2]), 0.5)
        seen = Observation(low, high, asker=middle, own=values[participant][:, None], die=die)
        sent[participant] = np.broadcast_to(np.asarray(adversary.answer_number(seen)), middle.shape)[:, 0]
    return sent


@dataclass(frozen=True)
class ConstantNumber(NumberAdversary):
    """Says the same number whatever the input, in every output.

    Parameters
    ----------
    value : float, default 0.0
        The number that it stands for.

    Examples
    --------
    A lobby of one among four moves the mean from 2 to 4; the median stays among the honest numbers.

    >>> import numpy as np
    >>> from folkmoot.adversaries import ConstantNumber, numbers_handed_in
    >>> from folkmoot.aggregation import Mean, Median
    >>> values = np.array([[[1.0]], [[2.0]], [[3.0]], [[2.0]]])
    >>> sent = numbers_handed_in(values, {3: ConstantNumber(10.0)})
    >>> print(Mean().combine(sent[:, 0]), Median().combine(sent[:, 0]))
    [4.] [2.5]
    """

    value: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.finite("value", self.value))

    def answer_number(self, seen: Observation) -> npt.ArrayLike:  # noqa: ARG002
        """The number it stands for."""
        return self.value


@dataclass(frozen=True)
class RandomNumber(NumberAdversary):
    """Says the number that the die shows, uniform over the honest range made longer at either end.

    Parameters
    ----------
    widen : float, default 1.0
        By how much of its length the range is made longer at either end, at least 0.

    Examples
    --------
    The honest numbers lie between 1 and 3, so the liar's lie between -1 and 5:

    >>> import numpy as np
    >>> from folkmoot.adversaries import Observation, RandomNumber
    >>> low, high, own, asker = np.array(1.0), np.array(3.0), np.array(2.0), np.array(1.5)
    >>> RandomNumber().answer_number(Observation(low, high, asker, own, die=np.array([0.0, 0.5, 0.75])))
    array([-1. ,  2. ,  3.5])
    """

    widen: float = 1.0

    knows = Knows.POPULATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "widen", checks.finite("widen", self.widen))
        if self.widen < 0:
            raise ValueError(f"widen must satisfy widen >= 0: got widen={self.widen}")

    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        """The number that the die shows."""
        length = seen.high - seen.low
        return seen.low - self.widen * length + seen.die * (1.0 + 2.0 * self.widen) * length


# Far away: a number far outside the honest range, the same for all; what a mean cannot stand.
#
# The attack that breaks every linear rule, however few the liars: Blanchard et al. (2017), lemma 1.


@dataclass(frozen=True)
class FarAway(NumberAdversary):
    """Says a number far outside the honest range, the same to all.

    Parameters
    ----------
    distance : float, default 1e6
        How far above the highest honest number; below the lowest if it is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.adversaries import FarAway, Observation
    >>> low, high, own, die = np.array(1.0), np.array(3.0), np.array(2.0), np.array(0.5)
    >>> seen = Observation(low, high, np.array(1.5), own, die)
    >>> print(FarAway(100).answer_number(seen), FarAway(-100).answer_number(seen))
    103.0 -99.0
    """

    distance: float = 1e6

    knows = Knows.POPULATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", checks.finite("distance", self.distance))

    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        """A number that no honest participant is near."""
        return (seen.low if self.distance < 0 else seen.high) + self.distance
