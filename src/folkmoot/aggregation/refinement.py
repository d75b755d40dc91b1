"""From one's own votes to an answer that all peers speak for: expectation-maximisation over groups.

It starts at one's own votes, believed as far as the holdout says, and goes round:

    groups         who errs together, given the answer so far (``correlated``)
    calibration    a group names its most common class; how often is that right, for this class and this
                   degree of unanimity, if the answer so far is? It weighs by the log-odds over the prior
    answer         the prior and the weights of what all groups say, added up

So a group is one witness however many it has, and one that is unanimous only when it lies is believed except
when it is unanimous. A participant that is not told from chance by two standard errors is not heard.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from scipy.special import softmax

from folkmoot.accuracy import log_odds
from folkmoot.aggregation.correlated import groups
from folkmoot.arrays import Floats, Ints, Singles

# Standard errors taken off everybody's skill. None lets chance make many weak witnesses (-.02 with stealthy
# liars); three silence honest models on few inputs.
SHRINK: Final = 2.0
# Degrees of unanimity that are told apart. One level believes stealthy liars where they are unanimous (-.04).
_LEVELS: Final = 8
# Iterations with the groups by one's own votes, and with those by the answer: the first groups know too
# little of what is right, and alone they lose .04 with stealthy liars.
_STEPS: Final = (8, 20)
_TOLERANCE: Final = 0.005  # of a chance, at which it stops
# Votes, as good as chance, with which each calibration starts: fewer believe rare unanimity too soon.
_PSEUDO: Final = 5.0
_MOST: Final = 0.9  # one's own votes are not believed further than this at the start


class Refined(NamedTuple):
    """What everybody is worth by the answer that one's own votes lead to."""

    counts: Floats  # (participant, true class, vote): how often, in expectation
    voice: Floats  # (participant,): shares of a voice


def refine(
    own: int, votes: Ints, one_hot: Singles, copies: Ints, alike: Floats, accuracy: float
) -> Refined | None:
    """The answer that follows from one's own votes, right with this chance; None if nobody speaks for one.

    ``alike`` (participant, participant) says on how many inputs two agree.
    """
    classes, inputs = one_hot.shape[1:]
    belief = min(max(accuracy, 1.1 / classes), _MOST)
    answer = np.full((classes, inputs), 1 / classes)
    told = np.flatnonzero(votes[own] >= 0)
    answer[:, told] = (1 - belief) / (classes - 1)
    answer[votes[own, told], told] = belief

    trust = own_correlation(own, one_hot, alike)
    # One of each set of copies is heard, and oneself is not: the answer must be what others say, or one's own
    # votes would be recognised in themselves.
    witness = np.zeros(len(votes), dtype=np.bool_)
    witness[np.unique(copies, return_index=True)[1]] = True
    witness &= copies != copies[own]
    score = _weighed(np.where(witness, trust, 0.0), one_hot)
    voice = np.ones(len(votes))
    for steps in _STEPS:
        group, voice = groups(one_hot, copies, alike, score, np.sign(trust).astype(np.int64))
        heard = np.flatnonzero((trust != 0) & witness)
        if not len(heard):
            return None
        ahead, level = _testimony(one_hot, heard, group[heard])
        answer, score = _iterate(answer, ahead, level, steps)
        trust = informedness(expected_counts(one_hot, answer))
    return Refined(expected_counts(one_hot, answer), voice)


def own_correlation(own: int, one_hot: Singles, alike: Floats) -> Floats:
    """Correlation of everybody's votes with one's own, shrunk by two standard errors."""
    n, _, inputs = one_hot.shape
    shares = one_hot.mean(axis=2, dtype=np.float64)
    spread = np.diag(alike) / inputs - (shares**2).sum(axis=1)
    live = (spread > 1e-9) & (spread[own] > 1e-9)
    covariance = alike[own] / inputs - shares @ shares[own]
    raw = np.divide(covariance, np.sqrt(np.abs(spread * spread[own])), out=np.zeros(n), where=live)
    return _shrunk(raw, SHRINK / np.sqrt(inputs))


def expected_counts(one_hot: Singles, answer: Floats) -> Floats:
    """(participant, true class, vote): how often, if the answer has the right chances."""
    n, classes, inputs = one_hot.shape
    flat = answer.astype(np.float32) @ one_hot.reshape(n * classes, inputs).T
    return flat.reshape(classes, n, classes).transpose(1, 0, 2).astype(np.float64)


def informedness(counts: Floats) -> Floats:
    """(participant,): mean recall over chance, 0 to 1, shrunk by two standard errors.

    A participant that always says the same has 0, however common that class is.
    """
    classes = counts.shape[1]
    rows = counts.sum(axis=2)
    seen = rows > 1.0
    recall = np.divide(np.diagonal(counts, axis1=1, axis2=2), rows, out=np.zeros_like(rows), where=seen)
    variance = np.divide(recall * (1 - recall), rows, out=np.zeros_like(rows), where=seen)
    number = np.maximum(seen.sum(axis=1), 1)
    scale = classes / (classes - 1)
    raw = np.where(seen.sum(axis=1) > 1, scale * (recall.sum(axis=1) / number - 1 / classes), 0.0)
    return _shrunk(raw, SHRINK * scale * np.sqrt(variance.sum(axis=1)) / number)


def _testimony(one_hot: Singles, heard: Ints, group: Ints) -> tuple[Ints, Ints]:
    """(group, input): the class that most of a group name, and how unanimous it is."""
    _, classes, inputs = one_hot.shape
    numbers = np.unique(group)
    most = np.zeros((len(numbers), inputs), dtype=one_hot.dtype)
    ahead = np.zeros(most.shape, dtype=np.int64)
    for row, each in enumerate(numbers):
        members = heard[group == each]
        shares = one_hot[members[0]] if len(members) == 1 else one_hot[members].mean(axis=0)
        most[row] = shares[0]
        for label in range(1, classes):  # many times quicker than argmax along the first of two axes
            ahead[row, shares[label] > most[row]] = label
            np.maximum(most[row], shares[label], out=most[row])
    over = (most * classes - 1) / (classes - 1)
    return ahead, np.clip((over * _LEVELS).astype(np.int64), 0, _LEVELS - 1)


def _iterate(answer: Floats, ahead: Ints, level: Ints, steps: int) -> tuple[Floats, Floats]:
    """Calibrate and answer, in turn, at most ``steps`` times: (class, input) the answer and its score."""
    many, inputs = ahead.shape
    classes = len(answer)
    cells = many * classes * _LEVELS
    code = (np.arange(many)[:, None] * classes + ahead) * _LEVELS + level
    total = np.bincount(code.ravel(), minlength=cells)
    place = ahead * inputs + np.arange(inputs)  # in the flat answer
    score = np.zeros((classes, inputs))
    for _ in range(steps):
        believed = answer.ravel()[place]
        prior = (answer.sum(axis=1) + 1) / (inputs + classes)
        base = np.tile(np.repeat(prior, _LEVELS), many)
        share = (np.bincount(code.ravel(), believed.ravel(), cells) + _PSEUDO * base) / (total + _PSEUDO)
        said = (log_odds(share, doubt=0.0) - log_odds(base, doubt=0.0))[code]
        summed: Floats = np.bincount(place.ravel(), said.ravel(), classes * inputs).astype(np.float64)
        score = summed.reshape(classes, inputs) + np.log(prior)[:, None]
        before, answer = answer, np.asarray(softmax(score, axis=0))
        if np.abs(answer - before).max() <= _TOLERANCE:
            break
    return answer, score


def _weighed(weights: Floats, one_hot: Singles) -> Floats:
    return np.asarray(np.tensordot(weights.astype(np.float32), one_hot, axes=1), dtype=np.float64)


def _shrunk(value: Floats, by: Floats | float) -> Floats:
    shrunk: Floats = np.sign(value) * np.maximum(np.abs(value) - by, 0.0)
    return shrunk
