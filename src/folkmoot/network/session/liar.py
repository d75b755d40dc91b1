"""A node that plays an adversary, for drills: what it commits to, and what it tells each asker.

A real node has no truth, so an adversary that must know it (perfectly malicious) takes its own model's
answer for the truth. One that must see what others hold without asking cannot be played by a node.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from folkmoot.adversaries import ATTACKS, Adversary, Knows, Sees
from folkmoot.arrays import Colours
from folkmoot.votes import UNCOLOURED

PLAYABLE = tuple(name for name, kind in ATTACKS.items() if Knows.POPULATION not in kind.knows)


class Liar:
    """An adversary in the place of an honest participant."""

    def __init__(self, adversary: Adversary, rng: random.Random) -> None:
        if Knows.POPULATION in adversary.knows:
            name = next((name for name, kind in ATTACKS.items() if kind is type(adversary)), "this")
            raise ValueError(f"a node cannot play {name!r}, which sees what others hold without asking")
        self._adversary = adversary
        self._rng = rng

    @property
    def fickle(self) -> bool:
        """Whether its answer may change with every query, and not only with who asks."""
        return self._adversary.sees is Sees.DIE

    def first(self, votes: Colours, classes: int) -> Colours:
        """The first votes it commits to, given what its model says."""

        def vote(said: int) -> int:
            return self._adversary.first_vote(vote=said, truth=said, classes=classes)

        return _each(vote, votes)

    def answer(self, asker: int, votes: Colours, classes: int) -> Colours | None:
        """What it tells this asker; None is silence."""
        if self._adversary.sees is Sees.DIE:
            dice = [self._rng.randrange(classes) for _ in range(votes.size)]
            pairs = zip(dice, votes.tolist(), strict=True)
            told = [
                self._adversary.answer(die, vote=said, truth=said, classes=classes) for die, said in pairs
            ]
            return np.array(told, dtype=np.int8)
        seen = asker if self._adversary.sees is Sees.ASKER else 0

        def answer(said: int) -> int:
            return self._adversary.answer(seen, vote=said, truth=said, classes=classes)

        colours = _each(answer, votes)
        return None if (colours == UNCOLOURED).all() else colours


def _each(rule: Callable[[int], int], votes: Colours) -> Colours:
    """The rule for every vote; where the model said nothing, so does the liar."""
    told = np.full(votes.shape, UNCOLOURED, dtype=np.int8)
    for said in np.unique(votes).tolist():
        if said != UNCOLOURED:
            told[votes == said] = rule(said)
    return told
