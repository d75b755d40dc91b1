"""Rules that see all votes at once, which the paper compares with: majorities and Dawid-Skene."""

from __future__ import annotations

from typing import Final

from folkmoot.accuracy import log_odds
from folkmoot.aggregation import DawidSkene, aggregate
from folkmoot.arrays import Floats
from folkmoot.baselines.majority import majority_answer
from folkmoot.baselines.weighted import weighted_answer
from folkmoot.outcome import Answer
from folkmoot.votes import Votes

MAJORITY, WEIGHTED, DAWID_SKENE = "majority", "weighted majority", "Dawid-Skene"
RULES: Final = (MAJORITY, WEIGHTED, DAWID_SKENE)


def counted(name: str, votes: Votes, classes: int, skills: Floats) -> Answer:
    """What the rule of this name answers; the weighted majority knows everybody's accuracy."""
    if name == WEIGHTED:
        return weighted_answer(votes, log_odds(skills, classes), classes)
    if name == DAWID_SKENE:
        found = aggregate(votes, DawidSkene(one_coin=False), classes=classes)
        return Answer(found.decision, found.level(classes))
    return majority_answer(votes, classes)
