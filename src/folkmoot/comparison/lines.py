"""The lines of a report: single participants, rules of a centre, stacking, and talks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from folkmoot.accuracy import participant_accuracies, share_right, standard_error
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.comparing.how_sure.scores import balanced_scores
from folkmoot.comparison.line import Line
from folkmoot.comparison.rules import NEEDS, RuleName, central_answers
from folkmoot.outcome import Answer, Outcome
from folkmoot.votes import UNCOLOURED, Votes

_LEAST_VOTES: Final = 10
_LEAST_SHARE: Final = 0.05


def single_lines(votes: Votes, truth: Ints | None, classes: int) -> list[Line]:
    """The mean and the best of those who do not lie; nothing without truth.

    A participant that is right once of once is not the best: it takes ten votes, and one in twenty of the
    inputs whose truth is known. If nobody has so many, the line has no accuracy.
    """
    if truth is None:
        return []
    each = participant_accuracies(votes, truth)
    known = truth != UNCOLOURED
    cast = (votes[:, known] != UNCOLOURED).sum(axis=1)
    able = (cast >= _LEAST_VOTES) & (cast >= _LEAST_SHARE * known.sum())
    proven = each[able]
    each = each[~np.isnan(each)]
    mean = float(each.mean()) if each.size else np.nan
    best = float(proven.max()) if proven.size else None
    judged = {i: _scores_of_one(votes[i], truth, classes) for i in np.flatnonzero(cast).tolist()}
    names = next(iter(judged.values()), {})
    usual = {name: float(np.mean([scores[name] for scores in judged.values()])) for name in names}
    return [
        Line("mean participant", mean, scores=usual),
        Line(
            "best participant",
            best,
            needs=NEEDS["best participant"],
            scores={} if best is None else judged[int(np.flatnonzero(able)[proven.argmax()])],
        ),
    ]


def _scores_of_one(votes: Ints, truth: Ints, classes: int) -> dict[str, float]:
    """Scores on the inputs on which a participant voted: the others are not held against it."""
    return balanced_scores(votes, np.where(votes == UNCOLOURED, UNCOLOURED, truth), classes)


def _scores(
    decisions: Ints, truth: Ints | None, classes: int, level: Bools | None = None
) -> dict[str, float]:
    return {} if truth is None else balanced_scores(decisions, truth, classes, level)


def central_lines(
    votes: Votes, truth: Ints | None, classes: int, skills: Floats | None, rules: Sequence[RuleName] | None
) -> list[Line]:
    """Every rule of a centre; one that could not be tried has no accuracy."""
    found = central_answers(votes, classes, skills, rules)
    return [
        Line(name, None, needs=NEEDS[name]) if answer is None else _decided(name, answer, truth, classes)
        for name, answer in found.items()
    ]


def _decided(name: str, answer: Answer, truth: Ints | None, classes: int) -> Line:
    decision, level = answer
    right = None if truth is None else float(share_right(decision, truth, level))
    undecided = int((decision == UNCOLOURED).sum())
    ties = None if level is None else level[None]
    scores = _scores(decision, truth, classes, ties)
    return Line(name, right, None, undecided, NEEDS[name], decision[None], ties, scores)


def stacking_line(votes: Votes, truth: Ints, classes: int, seed: int) -> Line:
    """Only inputs whose truth is known can be learnt from and answered."""
    from folkmoot.comparing.stacking import stacked  # scikit-learn, for those who want it

    known = truth != UNCOLOURED
    answers = stacked(votes[:, known], truth[known], classes, seed)
    if answers is None:
        return Line("stacking", None, needs=NEEDS["stacking"])
    decision = np.full(len(truth), UNCOLOURED)
    decision[known] = answers
    right = float(share_right(decision, truth))
    scores = _scores(decision, truth, classes)
    return Line("stacking", right, None, 0, NEEDS["stacking"], decision[None], scores=scores)


def talk_line(name: str, outcome: Outcome, truth: Ints | None) -> Line:
    """What talks came to, with the standard error over repetitions."""
    decisions = np.atleast_2d(outcome.decision)
    level = outcome.level.reshape(*decisions.shape, -1)
    undecided = outcome.undecided / len(decisions)
    if truth is None:
        return Line(name, None, None, undecided, decisions=decisions, level=level)
    error = standard_error(outcome.accuracies(truth))
    scores = _scores(decisions, truth, outcome.classes, level)
    return Line(name, outcome.accuracy(truth), error, undecided, "", decisions, level, scores)
