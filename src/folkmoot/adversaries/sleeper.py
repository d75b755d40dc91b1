"""Sleeper: votes honestly, earns trust by it, and lies in the talk, on few enough inputs not to stand out.

A guard that drops answers which differ from what the asker holds on more than a fifth of the batch
(folkmoot.trust.conduct) does not see an adversary that lies on 19% and says on the rest what others hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from folkmoot import checks
from folkmoot.adversaries.adversary import Adversary, Knows, Sees, wrong
from folkmoot.arrays import Bools
from folkmoot.votes import Colour


@dataclass(frozen=True)
class Sleeper(Adversary):
    """Lies on a share of the inputs, and repeats on the others what a participant holds.

    Parameters
    ----------
    target : int, default 0
        The participant that it repeats where it does not lie.
    share : float, default 0.19
        The share of the inputs on which it lies, rounded down.
    seed : int, default 0
        Draws these inputs; all with the same seed lie on the same ones, with the same wrong colour.

    Examples
    --------
    >>> from folkmoot.adversaries import Sleeper
    >>> sleeper = Sleeper(target=4, share=0.5)
    >>> sleeper.first_vote(vote=0, truth=0, classes=2)
    0
    >>> sleeper.answer(0, vote=0, truth=0, classes=2), sleeper.candid(0, vote=0, truth=0, classes=2)
    (1, 0)
    >>> sleeper.lies_on(6)
    array([False, False,  True,  True, False,  True])
    """

    target: int = 0
    share: float = 0.19
    seed: int = 0

    knows = Knows.TRUTH | Knows.POPULATION
    sees = Sees.TARGET

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """The wrong colour that all who lie agree on."""
        return wrong(truth, classes)

    def candid(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """What the target holds now."""
        return seen

    def lies_on(self, inputs: int) -> Bools:
        """A share of the inputs, drawn by the seed."""
        struck = np.zeros(inputs, dtype=np.bool_)
        rng = np.random.default_rng(checks.integer("seed", self.seed, least=0))
        struck[rng.permutation(inputs)[: int(checks.probability("share", self.share) * inputs)]] = True
        return struck

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
