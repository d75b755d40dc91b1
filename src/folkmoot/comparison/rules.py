"""The rules of a centre that sees every vote at once, by name: what a consensus is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot.accuracy import log_odds, participant_accuracies
from folkmoot.arrays import Floats, Ints
from folkmoot.baselines import DawidSkene, dawid_skene, supermajority
from folkmoot.baselines.majority import majority_answer
from folkmoot.baselines.weighted import weighted_answer
from folkmoot.outcome import Answer
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
    """Decide every input by each rule of a centre that sees all votes.

    Nothing here uses the truth.

    Parameters
    ----------
    votes : ndarray of int, shape (participant, input)
        The votes that the centre sees: colours, -1 for none.
    classes : int
        The number of colours.
    skills : ndarray of float, shape (participant,), optional
        What each participant says its accuracy is, nan if it does not know. The weighted majority weighs
        votes by the log-odds of it. Default: what Dawid-Skene estimates from the votes alone.
    rules : sequence of {"majority", "supermajority", "weighted majority", "Dawid-Skene"}, optional
        The rules that are wanted. Default: all that apply; there is no supermajority of two.

    Returns
    -------
    dict of str to ndarray of int, shape (input,)
        The decisions by the names of the rules, -1 where there is none or labels are level. None instead for
        the weighted majority if no participant knows its accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparison import central_decisions
    >>> votes = np.array([[0, 1], [1, 1], [1, 0]])
    >>> skills = np.array([0.9, 0.6, 0.6])
    >>> central_decisions(votes, classes=2, skills=skills, rules=["majority", "weighted majority"])
    {'majority': array([1, 1]), 'weighted majority': array([0, 1])}
    """
    found = central_answers(votes, classes, skills, rules)
    return {name: None if answer is None else answer.decision for name, answer in found.items()}


def central_answers(
    votes: Votes, classes: int, skills: Floats | None = None, rules: Sequence[RuleName] | None = None
) -> dict[RuleName, Answer | None]:
    """The same with their ties; a supermajority that is not reached is undecided, and no tie."""

    @cache  # for two rules, or for none
    def estimated() -> DawidSkene:
        return dawid_skene(votes, classes)

    found: dict[RuleName, Answer | None] = {}
    for name in wanted_rules(rules, len(votes)):
        if name == "majority":
            found[name] = majority_answer(votes, classes)
        elif name == "supermajority":
            found[name] = Answer(supermajority(votes, classes))
        elif name == "Dawid-Skene":
            found[name] = Answer(estimated().decision, estimated().level)
        else:
            known = estimated().accuracies if skills is None else skills
            told = skills is None or not np.isnan(known).all()
            weights = log_odds(np.nan_to_num(known, nan=1 / classes), classes)
            found[name] = weighted_answer(votes, weights, classes) if told else None
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
    """Find everybody's accuracy by the truth, or else as Dawid-Skene estimates it.

    Parameters
    ----------
    votes : ndarray of int, shape (participant, input)
        Colours, -1 for no vote.
    classes : int
        The number of colours.
    truth : array-like of int, shape (input,), optional
        The right colour of each input, -1 where it is not known.

    Returns
    -------
    ndarray of float, shape (participant,)
        The accuracies; 1/2 where nothing is known.

    Examples
    --------
    >>> from folkmoot.comparison import judged_accuracies
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(5, p=0.8, inputs=500)
    >>> judged_accuracies(votes, classes=2, truth=truth).round(2)
    array([0.81, 0.81, 0.78, 0.83, 0.79])
    >>> judged_accuracies(votes, classes=2).round(2)  # from the votes alone
    array([0.81, 0.8 , 0.77, 0.83, 0.8 ])
    """
    each = dawid_skene(votes, classes).accuracies if truth is None else participant_accuracies(votes, truth)
    return np.nan_to_num(each, nan=0.5)
