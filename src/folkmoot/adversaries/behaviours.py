"""Adversaries, one short class each: what each says to a query, as its first vote, or in numbers.

First votes that several make up together (``colluding_votes``) are functions of a seed: all who share it say
the same; ``Steadfast`` then repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.interface import Adversary, Knows, NumberAdversary, NumbersSeen, Sees, wrong
from folkmoot.arrays import Bools, Ints
from folkmoot.votes import NO_VOTE, Vote


@dataclass(frozen=True)
class PerfectlyMalicious(Adversary):
    """Knows the right answer and always gives a wrong one (definition "Perfectly Byzantine participant").

    All of them name the same wrong class, the one after the right one, which is the strongest choice.

    Examples
    --------
    >>> from folkmoot.adversaries import PerfectlyMalicious
    >>> [PerfectlyMalicious().answer(0, vote=truth, truth=truth, classes=3) for truth in range(3)]
    [1, 2, 0]
    """

    knows = Knows.TRUTH

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """A wrong class, the same for all of them."""
        return wrong(truth, classes)


@dataclass(frozen=True)
class PerfectlyFaulty(Adversary):
    """Gives a wrong first vote and is silent afterwards.

    It hurts a central aggregator, which cannot tell, and not a deliberation, which can.
    """

    knows = Knows.TRUTH

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """Nothing."""
        return NO_VOTE

    def first_vote(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """A wrong class."""
        return wrong(truth, classes)


@dataclass(frozen=True)
class ConstantClass(Adversary):
    """Says the same class whatever the input.

    Parameters
    ----------
    choice : int, default 0
        The class that it names.

    Examples
    --------
    >>> from folkmoot.adversaries import ConstantClass
    >>> ConstantClass(2).answer(0, vote=1, truth=1, classes=3)
    2
    """

    choice: Vote = 0

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """The class it names."""
        if not 0 <= self.choice < classes:
            raise ValueError(f"choice must satisfy 0 <= choice < {classes}: got choice={self.choice}")
        return self.choice


@dataclass(frozen=True)
class RandomClass(Adversary):
    """Says a new class, drawn uniformly, at every query; in a central vote its model's answer."""

    sees = Sees.DIE

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """The class drawn."""
        return seen


@dataclass(frozen=True)
class Silent(Adversary, NumberAdversary):
    """Gives its first vote, then never answers.

    The first vote counts in a centralised rule. In numbers it gives none.

    Examples
    --------
    >>> from folkmoot.adversaries import Silent
    >>> Silent().first_vote(0, vote=1, truth=1, classes=2)
    1
    >>> Silent().answer(0, vote=1, truth=1, classes=2)
    -1
    """

    knows = Knows.OWN_VOTE

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """Nothing."""
        return NO_VOTE

    def answer_number(self, seen: NumbersSeen) -> npt.ArrayLike:  # noqa: ARG002
        """Nothing."""
        return np.nan

    def first_vote(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """The answer of its model."""
        return vote


@dataclass(frozen=True)
class Steadfast(Adversary, NumberAdversary):
    """Says its own first vote, or number, to everybody, always."""

    knows = Knows.OWN_VOTE

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """The first vote."""
        return vote

    def answer_number(self, seen: NumbersSeen) -> npt.ArrayLike:
        """The first number."""
        return seen.own


# Stalling: keeps the honest participants split, by always naming the class that is behind.
#
# The liveness attack on Snow protocols: Amores-Sesar, Cachin and Tedeschi, "When is Spring coming? A
# security analysis of Avalanche consensus" (2022); mentioned in section 4.1 of the paper.


@dataclass(frozen=True)
class Stalling(Adversary):
    """Watches the population and pulls it back towards the middle; silent when it is tied."""

    knows = Knows.POPULATION
    sees = Sees.RUNNER_UP

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """The runner-up."""
        return seen


# Equivocating: tells each asker something else, and the same asker always the same (two-faced).
#
# Lamport, Shostak and Pease (1982) call it the heart of the Byzantine generals problem.


@dataclass(frozen=True)
class Equivocating(Adversary):
    """Gives each asker another answer, the same asker always the same: participant i gets class i mod C."""

    sees = Sees.ASKER

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """A class by the number of the asker."""
        return seen % classes


# Copycat: has no model and repeats what another participant says.
#
# It adds weight to one participant's errors; commitments to first votes are the known remedy.


@dataclass(frozen=True)
class Copycat(Adversary):
    """Repeats the current class of another participant."""

    target: int = 0  # the participant that it repeats

    knows = Knows.POPULATION
    sees = Sees.TARGET

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """The present class of the target."""
        return seen

    @classmethod
    def against(cls, honest: int) -> Self:
        """One that repeats this participant."""
        return cls(target=honest)

    @property
    def follows(self) -> int:
        """The target."""
        return self.target

    def renumbered(self, place: Mapping[int, int]) -> Self:
        """One that repeats the same participant by its new number."""
        return replace(self, target=place[self.target])


# Sleeper: votes honestly, earns trust by it, and lies in rounds, on few enough inputs not to stand out.
#
# A guard that drops peers which differ from the asker on more than a fifth of the batch does not see an
# adversary that lies on 19% and agrees on the rest.


@dataclass(frozen=True)
class Sleeper(Copycat):
    """Lies on a share of the inputs, and repeats on the others what a participant holds."""

    share: float = 0.19  # the share of the inputs on which it lies, rounded down
    # Draws these inputs; all with the same seed lie on the same ones, with the same wrong class.
    seed: int = 0

    knows = Knows.TRUTH | Knows.POPULATION

    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """The wrong class that all malicious participants agree on."""
        return wrong(truth, classes)

    def candid(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:  # noqa: ARG002
        """The present class of the target."""
        return seen

    def lies_on(self, inputs: int) -> Bools:
        """A share of the inputs, drawn by the seed."""
        struck = np.zeros(inputs, dtype=np.bool_)
        rng = np.random.default_rng(checks.integer("seed", self.seed, least=0))
        struck[rng.permutation(inputs)[: int(checks.probability("share", self.share) * inputs)]] = True
        return struck


# Misstating: in federated agreement it sends everybody any well-formed statement; to a query, any class.
#
# The most that a Byzantine node of the Stellar protocol can do (Mazières, 2015): it may say of every ballot
# what it likes, something else to each, and show a quorum set that suits it.


@dataclass(frozen=True)
class Misstating(RandomClass):
    """Says anything, to each something else.

    In federated Byzantine agreement it draws a label for each receiver, phase and counter, and for its
    first vote.

    It does not take a statement back, as nobody would heed that. To a query it answers as ``RandomClass``.
    """

    misstates = True


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
    >>> from folkmoot.adversaries.behaviours import ConstantNumber
    >>> from folkmoot.adversaries.interface import numbers_handed_in
    >>> from folkmoot.aggregation import Mean, Median
    >>> values = np.array([[[1.0]], [[2.0]], [[3.0]], [[2.0]]])
    >>> sent = numbers_handed_in(values, {3: ConstantNumber(10.0)})
    >>> print(Mean().combine(sent[:, 0]), Median().combine(sent[:, 0]))
    [4.] [2.5]
    """

    value: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.finite("value", self.value))

    def answer_number(self, seen: NumbersSeen) -> npt.ArrayLike:  # noqa: ARG002
        """The number it stands for."""
        return self.value


@dataclass(frozen=True)
class RandomNumber(NumberAdversary):
    """Says a number drawn uniformly from the honest range, which is made longer at either end."""

    widen: float = 1.0  # by how much of its length the range is made longer at either end, at least 0

    knows = Knows.POPULATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "widen", checks.finite("widen", self.widen))
        if self.widen < 0:
            raise ValueError(f"widen must satisfy widen >= 0: got widen={self.widen}")

    def answer_number(self, seen: NumbersSeen) -> npt.ArrayLike:
        """The number drawn."""
        length = seen.high - seen.low
        return seen.low - self.widen * length + seen.draw * (1.0 + 2.0 * self.widen) * length


# Far away: a number far outside the honest range, the same for all; what a mean cannot stand.
#
# The attack that breaks every linear rule, however few the attackers: Blanchard et al. (2017), lemma 1.


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
    >>> from folkmoot.adversaries import FarAway
    >>> from folkmoot.adversaries.interface import numbers_handed_in
    >>> values = np.array([[[1.0]], [[3.0]], [[2.0]], [[2.0]]])
    >>> numbers_handed_in(values, {2: FarAway(100), 3: FarAway(-100)})[2:, 0, 0]
    array([103., -99.])
    """

    distance: float = 1e6

    knows = Knows.POPULATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", checks.finite("distance", self.distance))

    def answer_number(self, seen: NumbersSeen) -> npt.ArrayLike:
        """A number that no honest participant is near."""
        return (seen.low if self.distance < 0 else seen.high) + self.distance


# Edge: an end of the honest range, which a trimming rule cannot tell from an honest answer.
#
# Within the range a lie passes every test of plausibility; Baruch et al., "A little is enough" (2019).


@dataclass(frozen=True)
class Edge(NumberAdversary):
    """Says the highest honest number, or the lowest: no rule can tell that from an honest answer."""

    lowest: bool = False  # whether it says the lowest

    knows = Knows.POPULATION

    def answer_number(self, seen: NumbersSeen) -> npt.ArrayLike:
        """An end of the honest range."""
        return seen.low if self.lowest else seen.high


def colluding_votes(inputs: int, classes: int, *, seed: int) -> Ints:
    """One class for each input, drawn uniformly: unrelated to the truth, the same for all with the seed.

    Parameters
    ----------
    inputs : int
        The number of inputs.
    classes : int
        The number of classes.
    seed : int
        Everybody that gives the same seed gives the same votes.

    Returns
    -------
    ndarray of int, shape (input,)
        The first votes of each member of the colluding group.

    Examples
    --------
    >>> from folkmoot.adversaries import colluding_votes
    >>> colluding_votes(inputs=6, classes=3, seed=1)
    array([1, 1, 2, 2, 0, 0])
    >>> colluding_votes(inputs=6, classes=3, seed=1)
    array([1, 1, 2, 2, 0, 0])
    """
    columns = checks.integer("inputs", inputs, least=1)
    return _stream(seed).integers(0, checks.integer("classes", classes, least=2), columns)


def _stream(seed: int) -> np.random.Generator:
    return np.random.default_rng(checks.integer("seed", seed, least=0))
