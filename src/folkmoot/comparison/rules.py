"""The rules of a centre that sees every vote at once, by name: what a consensus is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot.accuracy import log_odds, participant_accuracies
from folkmoot.arrays import Floats, Ints
from folkmoot.baselines import DawidSkene, dawid_skene, majority, supermajority, weighted_majority
from folkmoot.votes import Votes

RuleName: TypeAlias = Literal["majority", "supermajority", "weighted majority", "Dawid-Skene"]
RULES: Final[tuple[RuleName, ...]] = get_args(RuleName)
# What each way to answer needs that a moot does without.
NEEDS: Final = {
    "best participant": "the truth, to know who it is",
    "majority": "a server",
    "supermajority": "a server",
    "weighted majority": "a server that is told accuracies",
    "Dawid-Skene": "a server",
    "stacking": "a server with labelled inputs",
}


def central_decisions(
    votes: Votes, classes: int, skills: Floats | None = None, rules: Sequence[RuleName] | None = None
) -> dict[RuleName, Ints | None]:
    """The colour of each input by every rule wanted, -1 where it has none.

    Nothing here uses the truth: votes are weighed by the log-odds of ``skills``, what each participant says
    its accuracy is (nan if it does not know), or else of what Dawid-Skene estimates from the votes alone.
    None for the weighted majority if nobody knows its accuracy. Without ``rules`` all are tried that apply;
    there is no supermajority of two.
    """

    @cache  # for two rules, or for none
    def estimated() -> DawidSkene:
        return dawid_skene(votes, classes)

    found: dict[RuleName, Ints | None] = {}
    for name in wanted_rules(rules, len(votes)):
        if name == "majority":
            found[name] = majority(votes, classes)
        elif name == "supermajority":
            found[name] = supermajority(votes, classes)
        elif name == "Dawid-Skene":
            found[name] = estimated().decision
        else:
            known = estimated().accuracies if skills is None else skills
            told = skills is None or not np.isnan(known).all()
            weights = log_odds(np.nan_to_num(known, nan=1 / classes), classes)
            found[name] = weighted_majority(votes, weights, classes) if told else None
    return found


def wanted_rules(rules: Sequence[RuleName] | None, participants: int) -> tuple[RuleName, ...]:
    """The rules of these names in their usual order; all that apply if none are named."""
    if rules is None:
        return tuple(name for name in RULES if name != "supermajority" or participants > 2)
    unknown = next((name for name in rules if name not in RULES), None)
    if unknown is not None:
        raise ValueError(f"rules must be among {', '.join(RULES)}: got {unknown!r}")
    return tuple(name for name in RULES if name in rules)


def judged_accuracies(votes: Votes, classes: int, truth: npt.ArrayLike | None = None) -> Floats:
    """Everybody's accuracy by the truth, or else as Dawid-Skene estimates it; 1/2 where nothing is known."""
    each = dawid_skene(votes, classes).accuracies if truth is None else participant_accuracies(votes, truth)
    return np.nan_to_num(each, nan=0.5)
