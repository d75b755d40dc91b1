"""Few inputs: several views of the same peers, each believed as far as the evidence at hand speaks for it.

No view is right everywhere when a batch is small. Camps are guesses that fit the own mistakes; agreement with
the own votes makes peers with the same mistakes look good; and where most lie, everybody alike is no view to
take. What a participant can ask of each view:

    own votes    Learn it from two thirds of the inputs and let it answer the others, the own votes (and
                 copies of them) left out. If the answer were the truth, it would agree with the own votes as
                 often as the holdout says these are right. The chance of just that many agreements is
                 beta-binomial. So a view that agrees too little is doubted, and one that agrees too much as
                 well: it repeats the own mistakes.
    gold         Where inputs with known answers have votes of all, let it answer them. It counts for the
                 log-odds of being right that this shows.

The weights of all views, each scaled to one, are added up in these shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from folkmoot.accuracy import laplace_accuracy, log_odds
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.trust.anchor import Anchor
from folkmoot.trust.gold import Gold
from folkmoot.trust.trusting import weighted_answer
from folkmoot.votes import UNCOLOURED, Votes

FOLDS: Final = 3
_DOUBT: Final = 0.02  # no view is believed beyond 1 - this by its answers to gold

Views = Mapping[str, Floats]
"""The weight of everybody's vote, (participant,), by the name of the view."""


def fold_of(inputs: int) -> Ints:
    """(input,): the third of the batch in which each input is left out; always the same."""
    return np.random.default_rng(0).permutation(inputs) % FOLDS


def shares_of(
    own: int,
    votes: Votes,
    anchor: Anchor,
    learnt: Sequence[Views],
    views: Views,
    others: Bools,
    gold: Gold | None = None,
) -> dict[str, float]:
    """How far each of ``views`` is believed; together 1.

    ``learnt`` holds the views from the inputs outside each fold, ``others`` who is no copy of ``own``.
    """
    classes, fold = anchor.classes, fold_of(votes.shape[1])
    mine = votes[own]
    told = mine != UNCOLOURED
    chance: dict[str, float] = {}
    for name in views:
        answer = np.full(len(mine), UNCOLOURED)
        for number, without in enumerate(learnt):
            left_out = fold == number
            answer[left_out] = weighted_answer(votes[:, left_out], without[name] * others, classes)
        chance[name] = _log_chance(_agreements(answer[told], mine[told], classes), int(told.sum()), anchor)
    most = max(chance.values())
    believed = {name: math.exp(value - most) for name, value in chance.items()}
    if gold is not None and gold.inputs:
        worth = {name: _worth(weight * others, gold, classes) for name, weight in views.items()}
        if any(believed[name] * worth[name] for name in views):
            believed = {name: believed[name] * worth[name] for name in views}
    total = sum(believed.values())
    return {name: value / total for name, value in believed.items()}


def mixed(views: Views, shares: Mapping[str, float]) -> Floats:
    """The weights of all views together, each scaled to one first."""
    parts = [shares[name] * weight / np.abs(weight).sum() for name, weight in views.items()]
    return np.asarray(sum(parts), dtype=np.float64)


def _agreements(answer: Ints, votes: Votes, classes: int) -> float:
    """On how many inputs the votes are the answer; where it has none, as often as by chance."""
    return float(np.where(answer == UNCOLOURED, 1 / classes, answer == votes).sum())


def _worth(weight: Floats, gold: Gold, classes: int) -> float:
    right = _agreements(weighted_answer(gold.votes, weight, classes), gold.truth, classes)
    return max(0.0, float(log_odds(laplace_accuracy(right, gold.inputs, classes), classes, doubt=_DOUBT)))


def _log_chance(right: float, of: int, anchor: Anchor) -> float:
    """Log of the chance that so many of one's own votes are right, by the holdout: beta-binomial."""
    good, bad = 1 + anchor.right, anchor.classes - 1 + anchor.held_out - anchor.right
    return (
        math.lgamma(of + 1) - math.lgamma(right + 1) - math.lgamma(of - right + 1)
        + _log_beta(right + good, of - right + bad) - _log_beta(good, bad)
    )  # fmt: skip


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
