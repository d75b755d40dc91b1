"""Rules that see all votes at once, which the paper compares with: majorities and Dawid-Skene."""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.aggregation import DawidSkene
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.arrays import Floats
from folkmoot.outcome import Decided, log_odds, most
from folkmoot.votes import NO_VOTE, Votes

MAJORITY, WEIGHTED, DAWID_SKENE = "majority", "weighted majority", "Dawid-Skene"
RULES: Final = (MAJORITY, WEIGHTED, DAWID_SKENE)


def counted(name: str, votes: Votes, classes: int, skills: Floats) -> Decided:
    """What the rule of this name answers; the weighted majority knows everybody's accuracy."""
    if name == WEIGHTED:
        return weighted_answer(votes, log_odds(skills, classes), classes)
    if name == DAWID_SKENE:
        found = aggregate(votes, DawidSkene(one_coin=False), classes=classes)
        return Decided(found.decision, found.tied_classes(classes))
    return majority_answer(votes, classes)


def majority_answer(votes: Votes, classes: int) -> Decided:
    """The class with the most votes, with its ties."""
    found = aggregate(votes)
    return Decided(found.decision, found.tied_classes(classes))


def weighted_answer(votes: Votes, weights: Floats, classes: int) -> Decided:
    """The class with the largest sum of weights: a negative one, of a voter below chance, votes against."""
    sums = np.stack([((votes == each) * weights[:, None]).sum(axis=0) for each in range(classes)], axis=-1)
    return most(sums, (votes != NO_VOTE).any(axis=0), within=1e-9 * float(np.abs(weights).sum()))
