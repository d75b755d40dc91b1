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

from folkmoot.aggregation.correlated import groups
from folkmoot.arrays import Floats, Ints, Singles
from folkmoot.outcome import log_odds

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
    """The weight of every participant by the answer that one's own votes lead to."""

    counts: Floats  # (participant, true class, vote): how often, in expectation
    voice: Floats  # (participant,): shares of a voice


def refine(
    own: int, votes: Ints, one_hot: Singles, copies: Ints, alike: Floats, trust: Floats, accuracy: float
) -> Refined | None:
    """The answer that follows from one's own votes, right with this chance; None if nobody speaks for one.

    ``alike`` (participant, participant) says on how many inputs two agree, ``trust`` (participant,) how the
    votes of each correlate with one's own.
    """
    classes, inputs = one_hot.shape[1:]
    belief = min(max(accuracy, 1.1 / classes), _MOST)
    answer = np.full((classes, inputs), 1 / classes)
    told = np.flatnonzero(votes[own] >= 0)
    answer[:, told] = (1 - belief) / (classes - 1)
    answer[votes[own, told], told] = belief

    # One of each set of copies is heard, and oneself is not: the answer must be what others say, or one's own
    # votes would be recognised in themselves.
    witness = np.zeros(len(votes), dtype=np.bool_)
    witness[np.unique(copies, return_index=True)[1]] = True
    witness &= copies != copies[own]
    score = tally(votes, np.where(witness, trust, 0.0), classes)
    voice = np.ones(len(votes))
    for steps in _STEPS:
        group, voice = groups(one_hot, copies, alike, score, np.sign(trust).astype(np.int64))
        heard = np.flatnonzero((trust != 0) & witness)
        if not len(heard):
            return None
        code = _testimony(votes, heard, group[heard], classes)
        answer, score = _iterate(answer, code, steps)
        counts = expected_counts(one_hot, answer)
        trust = informedness(counts)
    return Refined(counts, voice)


def own_correlation(own: int, shares: Floats, alike: Floats, inputs: int) -> Floats:
    """Correlation of everybody's votes with one's own, shrunk by two standard errors.

    ``shares`` (participant, class) says how often each names each class.
    """
    n = len(shares)
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


def _testimony(votes: Ints, heard: Ints, group: Ints, classes: int) -> Ints:
    """(group, input): the class that most of a group name and how unanimous it is, in one number."""
    from folkmoot.aggregation.kernels import testimony  # numba, which public aggregations do without

    starts = np.append(0, np.cumsum(np.unique(group, return_counts=True)[1]))
    return np.asarray(testimony(votes, heard[np.argsort(group, kind="stable")], starts, classes, _LEVELS))


def _iterate(answer: Floats, code: Ints, steps: int) -> tuple[Floats, Floats]:
    """Calibrate and answer, in turn, at most ``steps`` times: (class, input) the answer and its score."""
    from folkmoot.aggregation.kernels import believed, spoken

    classes, inputs = answer.shape
    total = believed(np.ones_like(answer), code, _LEVELS)
    score = np.zeros((classes, inputs))
    for _ in range(steps):
        prior = (answer.sum(axis=1) + 1) / (inputs + classes)
        base = np.repeat(prior, _LEVELS)
        share = (believed(answer, code, _LEVELS) + _PSEUDO * base) / (total + _PSEUDO)
        said = log_odds(share, doubt=0.0) - log_odds(base, doubt=0.0)
        score = spoken(said, code, classes, _LEVELS) + np.log(prior)[:, None]
        before, answer = answer, np.asarray(softmax(score, axis=0))
        if np.abs(answer - before).max() <= _TOLERANCE:
            break
    return answer, score


def tally(votes: Ints, weight: Floats, classes: int) -> Floats:
    """(class, input): the weight of those who name it."""
    from folkmoot.aggregation.kernels import tally as count

    return np.asarray(count(np.ascontiguousarray(votes), weight, classes))


def _shrunk(value: Floats, by: Floats | float) -> Floats:
    shrunk: Floats = np.sign(value) * np.maximum(np.abs(value) - by, 0.0)
    return shrunk
