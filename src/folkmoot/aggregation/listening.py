"""Listening: from one's own holdout and everybody's votes to what each vote is worth to one participant.

Nothing is taken from a majority: sixty copies of one lie are one voice. There are three views of the peers:

    by agreement   If i and j err independently and a wrong answer is any of the C - 1 others, they agree on a
                   share A = p_i p_j + (1 - p_i)(1 - p_j) / (C - 1), which tells p_j.
    by the answer  What all correlated groups together speak for tells everybody's accuracy (``refinement``).
    all alike      Everybody is worth the same, copies share one voice.

With many inputs the second is right; with few none is right everywhere, so each is believed as far as the
evidence speaks for it. Learnt from two thirds of the inputs, without the own votes and copies of them, a view
answers the others. If that were the truth, it would agree with the own votes as often as these are right by
the holdout. The number of agreements is then beta-binomial. So a view that agrees too little is doubted, and
one that agrees too much as well, since it repeats the own mistakes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from scipy.special import betaln, softmax

from folkmoot.aggregation.holdout import SURE, Holdout
from folkmoot.aggregation.refinement import SHRINK, informedness, refine
from folkmoot.aggregation.telling_apart import agreements, copies
from folkmoot.arrays import Bools, Floats, Ints, Singles
from folkmoot.outcome import log_odds, most

# Inputs on which one must have voted. With fewer an accuracy is known to 0.2 at best, and nobody is told from
# anybody: then the plurality is as good.
LEAST_INPUTS: Final = 50
# The same for inputs on which most others have voted, too. In sparse crowds two share a handful, so chance
# says who agrees, and the plurality is better.
LEAST_COMMON: Final = 20
# Inputs per pair of classes from which an answer can be calibrated, and per class from which it is right
# everywhere. Fewer would let a view of noise decide alone (-.05 in crowds), more only cost time.
_REFINED_FROM: Final = 10
_ENOUGH: Final = 100
# Nobody is believed, or disbelieved, beyond 1 - this: a lucky streak must not outvote all others.
_FIRM: Final = 0.02
_TIE_BREAK: Final = 1e-6  # of a vote, by which the own one counts for more where all are alike
_TIE: Final = 1e-9  # of the sum of all weights
_FOLDS: Final = 3
# What scores may be multiplied by before they are believed: votes are never less dependent than log-odds say.
_SHARPEST: Final = np.geomspace(1, 1 / 64, 19)

Views: TypeAlias = dict[str, Floats]
"""The weight of everybody's vote, (participant,), by the name of the view."""


@dataclass(frozen=True, eq=False)
class Heard:
    """Everybody's votes, in the shapes that all judges need."""

    votes: Ints
    classes: int

    @cached_property
    def one_hot(self) -> Singles:
        """(participant, class, input): 1 where a participant names the class."""
        named = self.votes[:, None, :] == np.arange(self.classes)[:, None]
        return np.asarray(named, dtype=np.float32)

    @cached_property
    def copies(self) -> Ints:
        """(participant,): the number of each set of copies."""
        return copies(self.votes)

    @cached_property
    def voices(self) -> Floats:
        """(participant,): what each vote counts for if all are alike, and copies share one voice."""
        return np.asarray((self.votes >= 0).any(axis=1) / np.bincount(self.copies)[self.copies])

    def voices_beside(self, own: int) -> Floats:
        """The same without a participant and its copies."""
        return np.where(self.copies == self.copies[own], 0.0, self.voices)

    @cached_property
    def alike(self) -> Floats:
        """(participant, participant): on how many inputs two agree."""
        return agreements(self.votes)

    @cached_property
    def both(self) -> Floats:
        """(participant, participant): on how many inputs both voted."""
        cast = (self.votes >= 0).astype(np.float32)
        return np.asarray(cast @ cast.T, dtype=np.float64)

    @cached_property
    def fold(self) -> Ints:
        """(input,): the third in which each is left out; always the same."""
        return np.random.default_rng(0).permutation(self.votes.shape[1]) % _FOLDS

    @cached_property
    def without_a_fold(self) -> tuple[Heard, ...]:
        """The same votes without each of the thirds."""
        return tuple(Heard(self.votes[:, self.fold != each], self.classes) for each in range(_FOLDS))


def listen(own: int, heard: Heard, holdout: Holdout) -> Floats | str:
    """(participant,): what each vote is worth to ``own``; or why it cannot tell.

    Weights are log-odds. A vote with a negative weight is read backwards.
    """
    if holdout.above_chance <= SURE:
        return (
            f"{holdout.right} of {holdout.rows} right on its holdout does not show it better than chance "
            f"({holdout.chance:.2f}): its probability is {holdout.above_chance:.2f}, not above {SURE}"
        )
    mine = int(heard.both[own, own])
    if mine < LEAST_INPUTS:
        return f"trust needs at least {LEAST_INPUTS} inputs on which it voted: got {mine}"
    common = int(np.median(np.delete(heard.both[own], own))) if len(heard.votes) > 1 else mine
    if common < LEAST_COMMON:
        return f"trust needs {LEAST_COMMON} inputs on which it and most others voted: the median is {common}"
    classes, inputs = heard.classes, heard.votes.shape[1]
    refined = inputs >= _REFINED_FROM * classes**2
    base = by_answer(own, heard, holdout) if refined else by_agreement(own, heard, holdout)
    if isinstance(base, str) or (refined and inputs >= _ENOUGH * classes):
        return base
    return _blended(own, heard, holdout, base, refined=refined)


def by_agreement(own: int, heard: Heard, holdout: Holdout) -> Floats:
    """Everybody's weight by how often it agrees with ``own``; copies share one voice."""
    classes, p = heard.classes, holdout.accuracy
    slope = classes * p - 1
    both = heard.both[own]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = heard.alike[own] / both
        accuracy = ((classes - 1) * share - (1 - p)) / slope
        error = (classes - 1) / slope * np.sqrt(share * (1 - share) / both)
    accuracy[own], error[own] = p, 0.0
    sharing = np.bincount(heard.copies)[heard.copies]
    return _weights(np.clip(accuracy, 0.0, 1.0), error, classes) / sharing


def by_answer(own: int, heard: Heard, holdout: Holdout) -> Floats | str:
    """Everybody's weight by the answer that its own votes lead to; or why there is none."""
    found = refine(own, heard.votes, heard.one_hot, heard.copies, heard.alike, holdout.accuracy)
    if found is None:
        return "nobody agrees or disagrees with it more often than chance would"
    cast = np.diag(heard.both)
    right = np.trace(found.counts, axis1=1, axis2=2)
    accuracy = np.divide(right, cast, out=np.full(len(cast), np.nan), where=cast > 0)
    error = np.sqrt(accuracy * (1 - accuracy) / np.maximum(cast, 1))
    weight = _weights(accuracy, error, heard.classes)
    # A common class makes a constant voter look good; what it knows is whether it tells classes apart.
    weight[np.sign(weight) != np.sign(informedness(found.counts))] = 0.0
    if not weight.any():
        return "nobody, itself included, is surely better or worse than chance on these inputs"
    return weight * found.voice


def _weights(accuracy: Floats, error: Floats, classes: int) -> Floats:
    """Log-odds of the accuracy moved towards chance by two standard errors; 0 where it is not known."""
    over = accuracy - 1 / classes
    sure = np.sign(over) * np.maximum(np.abs(over) - SHRINK * error, 0.0)
    weight = log_odds(np.clip(1 / classes + sure, 0, 1), classes, doubt=_FIRM)
    return np.where(np.isfinite(weight) & (sure != 0), weight, 0.0)


def _blended(own: int, heard: Heard, holdout: Holdout, base: Floats, *, refined: bool) -> Floats:
    """The weights of all views together, each believed as far as can be told."""
    views = _views(own, heard, holdout, base if refined else None)
    learnt = []
    for part in heard.without_a_fold:
        again = by_answer(own, part, holdout) if refined else None
        nobody = np.zeros(len(base))
        learnt.append(_views(own, part, holdout, nobody if isinstance(again, str) else again))
    others = heard.copies != heard.copies[own]
    share = _shares(own, heard, holdout, learnt, views, others)
    scale = sum(share[name] * float(np.abs(weight).sum()) for name, weight in views.items())
    mixed = sum(share[name] * weight / np.abs(weight).sum() for name, weight in views.items())
    return np.asarray(scale * mixed)


def _views(own: int, heard: Heard, holdout: Holdout, refined: Floats | None) -> Views:
    """What everybody's vote is worth, seen in each way that gives anybody a weight."""
    agreeing = by_agreement(own, heard, holdout)
    # All alike are worth what they are on average by agreement, and the own vote decides between tied ones.
    worth = np.abs(agreeing).sum() or float(log_odds(holdout.accuracy, holdout.classes, doubt=_FIRM))
    alike = heard.voices * worth / heard.voices.sum()
    alike[own] *= 1 + _TIE_BREAK
    views = {"alike": alike, "agreement": agreeing}
    if refined is not None:
        views["answer"] = refined
    return views


def _shares(
    own: int,
    heard: Heard,
    holdout: Holdout,
    learnt: list[Views],
    views: Views,
    others: Bools,
) -> dict[str, float]:
    """How far each view is believed; together 1. ``learnt`` has the views without each of the thirds."""
    there = [name for name, weight in views.items() if weight.any()]
    for name in set(views).difference(there):
        del views[name]
    mine = heard.votes[own]
    told = mine >= 0
    logs = []
    for name in there:
        answer = np.full(len(mine), -1)
        for number, without in enumerate(learnt):
            out = heard.fold == number
            answer[out] = decide(heard.votes[:, out], without[name] * others, heard.classes)
        logs.append(_log_chance(_right(answer[told], mine[told], heard.classes), int(told.sum()), holdout))
    return dict(zip(there, np.asarray(softmax(logs)).tolist(), strict=True))


def _right(answer: Ints, votes: Ints, classes: int) -> float:
    """On how many inputs the votes are the answer; where it has none, as often as by chance."""
    return float(np.where(answer < 0, 1 / classes, answer == votes).sum())


def _log_chance(right: float, of: int, holdout: Holdout) -> float:
    """Log of the chance that so many of one's own votes are right, by the holdout: beta-binomial."""
    good, bad = 1 + holdout.right, holdout.classes - 1 + holdout.rows - holdout.right
    ways = -math.log(of + 1) - betaln(of - right + 1, right + 1)
    return float(ways + betaln(right + good, of - right + bad) - betaln(good, bad))


def decide(votes: Ints, weight: Floats, classes: int) -> Ints:
    """(input,): the class with the most weight, -1 if several are tied or nothing has any."""
    return ahead(tally(votes, weight, classes), weight)


def ahead(score: Floats, weight: Floats) -> Ints:
    """(input,): the class with the most of this tally, -1 if several are tied or nothing has any."""
    every = np.ones(score.shape[1], dtype=np.bool_)
    return most(score.T, every, _TIE * float(np.abs(weight).sum())).decision


def tally(votes: Ints, weight: Floats, classes: int) -> Floats:
    """(class, input): the weight of those who name it."""
    from folkmoot.aggregation.kernels import tally as count  # numba, which public aggregations do without

    return np.asarray(count(np.ascontiguousarray(votes), weight, classes))


def likely(own: int, heard: Heard, holdout: Holdout, weight: Floats, score: Floats) -> Floats:
    """(input, class): how likely each class is; ``score`` is the tally with these weights.

    Weights are log-odds, so their sums would be logarithms of odds if all erred independently, which they do
    not. So they are multiplied by the factor under which the others' votes best foretell the own ones, given
    how the holdout says that these err.
    """
    there = np.flatnonzero(heard.votes[own] >= 0)
    mine = heard.votes[own, there]
    without = score[:, there]
    without[mine, np.arange(len(there))] -= weight[own]
    errs = np.maximum(holdout.confusion[:, mine], 1e-6)  # (true class, input)
    fits = np.array([np.log((errs * softmax(f * without, axis=0)).sum(axis=0)).sum() for f in _SHARPEST])
    # The first of several that are tied: with nobody to foretell its votes it believes its log-odds.
    best = _SHARPEST[int(np.argmax(fits >= fits.max() - _TIE * heard.votes.shape[1]))]
    return np.asarray(softmax(best * score, axis=0).T)
