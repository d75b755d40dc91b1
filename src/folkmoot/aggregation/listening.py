"""Listening: from one's own holdout and everybody's votes to what each vote is worth to one participant.

Nothing is taken from a majority: sixty copies of one lie are one voice. There are two views of the peers:

    by the answer  What all correlated groups together speak for tells everybody's accuracy (``refinement``).

    by agreement   Let i and j err independently, and all wrong answers be as likely. Their agreement
                   A = p_i p_j + (1 - p_i)(1 - p_j) / (C - 1) then tells p_j.

The second needs fewer inputs. Both take for granted that the own accuracy on the inputs is that on the
holdout. If so, the others' answer agrees with the own votes about as often as these are right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import softmax

from folkmoot.aggregation.holdout import SURE, Holdout
from folkmoot.aggregation.refinement import SHRINK, informedness, own_correlation, refine, tally
from folkmoot.aggregation.telling_apart import agreements, copies
from folkmoot.arrays import Floats, Ints, Singles
from folkmoot.outcome import log_odds, most

# Inputs on which one must have voted. With fewer an accuracy is known to 0.2 at best, and nobody is told from
# anybody: then the plurality is as good.
LEAST_INPUTS: Final = 50
# The same for inputs on which most others have voted, too. In sparse crowds two share a handful, so chance
# says who agrees, and the plurality is better.
LEAST_COMMON: Final = 20
# Inputs per pair of classes from which an answer can be calibrated; fewer give one of noise.
_REFINED_FROM: Final = 10
# With fewer, how far all count alike beside agreement, which is then noisy. With none honest participants
# lose .004, with half of it .003 among many that lie.
_ALIKE: Final = 0.3
# Share of what the holdout promises, beyond chance, that the others' answer agrees with the own votes at the
# least. Less believes rows of another region (-.02 at .3); more takes many liars for it (-.2 at .7).
_AS_PROMISED: Final = 0.5
# Nobody is believed, or disbelieved, beyond 1 - this: a lucky streak must not outvote all others.
_FIRM: Final = 0.02
_TIE: Final = 1e-9  # of the sum of all weights
# What scores may be multiplied by before they are believed: votes are never less dependent than log-odds say.
_SHARPEST: Final = np.geomspace(1, 1 / 64, 19)


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
    def shares(self) -> Floats:
        """(participant, class): how often each names each class, of all inputs."""
        return np.asarray(self.one_hot.mean(axis=2, dtype=np.float64))

    def correlation(self, own: int) -> Floats:
        """(participant,): how everybody's votes correlate with those of one."""
        return own_correlation(own, self.shares, self.alike, self.votes.shape[1])

    @cached_property
    def both(self) -> Floats:
        """(participant, participant): on how many inputs both voted."""
        cast = (self.votes >= 0).astype(np.float32)
        return np.asarray(cast @ cast.T, dtype=np.float64)


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
    if heard.votes.shape[1] >= _REFINED_FROM * heard.classes**2:
        return by_answer(own, heard, holdout)
    weight = by_agreement(own, heard, holdout)
    level = float(np.abs(weight).sum() / heard.voices.sum())
    return np.asarray((1 - _ALIKE) * weight + _ALIKE * level * heard.voices)


def unlike_inputs(own: int, heard: Heard, holdout: Holdout, weight: Floats) -> str | None:
    """Why the holdout does not hold for the inputs, by the others' answer with these weights; None if it may.

    If a participant knows a region of the inputs, no answer to all inputs agrees with its votes as often
    as its holdout promises. One without rows of some class knows that anyway (``unlike_rows``).
    """
    others = np.where(heard.copies == heard.copies[own], 0.0, weight)
    answer, mine = decide(heard.votes, others, heard.classes), heard.votes[own]
    both = (answer >= 0) & (mine >= 0)
    if not both.any() or not holdout.counts.any(axis=1).all():
        return None
    shares = [np.bincount(votes[both], minlength=heard.classes) / both.sum() for votes in (answer, mine)]
    chance = float(shares[0] @ shares[1])
    agreed = float((answer == mine)[both].mean())
    if agreed - chance >= _AS_PROMISED * (holdout.accuracy - chance):
        return None
    return (
        f"its {holdout.rows} held-out rows seem to be unlike the inputs: they promise that "
        f"{holdout.accuracy:.0%} of its votes are right, and the others' answer agrees with {agreed:.0%}"
    )


def alike(own: int, heard: Heard) -> Floats:
    """(participant,): all count alike, copies once, but for those that surely contradict one's own votes."""
    return heard.voices * (heard.correlation(own) >= 0)


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
    trust = heard.correlation(own)
    found = refine(own, heard.votes, heard.one_hot, heard.copies, heard.alike, trust, holdout.accuracy)
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


def decide(votes: Ints, weight: Floats, classes: int) -> Ints:
    """(input,): the class with the most weight, -1 if several are tied or nothing has any."""
    return ahead(tally(votes, weight, classes), weight)


def ahead(score: Floats, weight: Floats) -> Ints:
    """(input,): the class with the most of this tally, -1 if several are tied or nothing has any."""
    every = np.ones(score.shape[1], dtype=np.bool_)
    return most(score.T, every, _TIE * float(np.abs(weight).sum())).decision


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
