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
    """A Byzantine behaviour in numbers. Subclasses say what they know, and give a pure answer.

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

        NaN is silence. So is any number that no honest node would send (infinite, or beyond ``LARGEST``): the
        asker counts its own number in its place, which keeps it in the honest range.
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
        The Byzantine participants by number.

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
