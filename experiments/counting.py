"""Rules that see all votes at once, which the paper compares with: majorities and Dawid-Skene."""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.accuracy import log_odds
from folkmoot.aggregation import Aggregation, Answers, DawidSkene, Known, Plurality, Weighted
from folkmoot.arrays import Floats
from folkmoot.votes import Votes

MAJORITY, WEIGHTED, DAWID_SKENE = "majority", "weighted majority", "Dawid-Skene"
RULES: Final = (MAJORITY, WEIGHTED, DAWID_SKENE)


def counted(name: str, votes: Votes, classes: int, skills: Floats) -> Answers:
    """What the rule of this name answers; the weighted majority knows everybody's accuracy."""
    rule: Aggregation = Plurality()
    if name == WEIGHTED:
        rule = Weighted(np.maximum(log_odds(skills, classes), 0).tolist())
    elif name == DAWID_SKENE:
        rule = DawidSkene()
    return rule.aggregate(votes, Known(classes=classes))
