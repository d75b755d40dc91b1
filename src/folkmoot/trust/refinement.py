"""From one's own votes to an answer that all peers speak for: expectation-maximisation over camps.

It starts at one's own votes, believed as far as the anchor says, and goes round:

    camps          who errs together, given the answer so far (camps.py)
    calibration    a camp names its most common colour; how often is that right, for this colour and this
                   degree of unanimity, if the answer so far is? It weighs by the log-odds over the prior
    answer         the prior and the weights of what all camps say, added up

So a camp is one witness however many it has, and one that is unanimous only when it lies is believed except
when it is unanimous. Who is not told from chance by two standard errors is not heard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.accuracy import log_odds, softmax
from folkmoot.arrays import Floats, Ints, Singles
from folkmoot.trust.camps import Camps, copies, find_camps
from folkmoot.votes import UNCOLOURED, Votes

SHRINK: Final = 2.0  # standard errors taken off every trust
_LEVELS: Final = 8  # degrees of unanimity that are told apart
_STEPS: Final = (8, 20)  # iterations with the camps of the own votes, and with those of the answer
_TOLERANCE: Final = 0.005
_PSEUDO: Final = 5.0  # votes with which a calibration starts, as good as chance


@dataclass(frozen=True, eq=False)
class Refined:
    """The answer and what everybody is worth by it."""

    answer: Floats  # (colour, input): chances
    confusion_counts: Floats  # (participant, true colour, vote): expected
    camps: Camps


def refine(own: int, votes: Votes, one_hot: Singles, agreements: Ints, belief: float) -> Refined | None:
    """The answer that follows from one's own votes, right with the chance ``belief``; or None."""
    n, classes, inputs = one_hot.shape
    answer = np.full((classes, inputs), 1 / classes)
    told = np.flatnonzero(votes[own] != UNCOLOURED)
    answer[:, told] = (1 - belief) / (classes - 1)
    answer[votes[own, told], told] = belief

    trust = own_correlation(own, one_hot, agreements)
    # One of each clique is heard, and oneself is not: the answer must be what others say, or the own votes
    # would be recognised in themselves.
    original = copies(agreements)
    witness = (original == np.arange(n)) & (original != original[own])
    score = _sum(np.where(witness, trust, 0.0), one_hot)
    for steps in _STEPS:
        camps = find_camps(one_hot, agreements, score, np.sign(trust).astype(np.int64))
        heard = np.flatnonzero((trust != 0) & witness)
        if not len(heard):
            return None
        ahead, level = _testimony(one_hot, heard, camps.label[heard])
        answer, score = _iterate(answer, ahead, level, steps)
        trust, _ = informedness(expected_counts(one_hot, answer))
    return Refined(answer, expected_counts(one_hot, answer), camps)


def own_correlation(own: int, one_hot: Singles, agreements: Ints) -> Floats:
    """Correlation of everybody's votes with one's own, shrunk by two standard errors."""
    inputs = one_hot.shape[2]
    shares = one_hot.mean(axis=2, dtype=np.float64)
    spread = np.diag(agreements) / inputs - (shares**2).sum(axis=1)
    live = (spread > 1e-9) & (spread[own] > 1e-9)
    covariance = agreements[own] / inputs - shares @ shares[own]
    raw = np.divide(covariance, np.sqrt(np.abs(spread * spread[own])), out=np.zeros(len(spread)), where=live)
    return _shrunk(raw, SHRINK / np.sqrt(inputs))


def expected_counts(one_hot: Singles, answer: Floats) -> Floats:
    """(participant, true colour, vote): how often, if the answer has the right chances."""
    n, classes, inputs = one_hot.shape
    flat = answer.astype(np.float32) @ one_hot.reshape(n * classes, inputs).T
    return flat.reshape(classes, n, classes).transpose(1, 0, 2).astype(np.float64)


def informedness(counts: Floats) -> tuple[Floats, Floats]:
    """Mean recall of every participant over chance, 0 to 1, shrunk by two standard errors, and as it is.

    A participant that always says the same has 0, however common that colour is.
    """
    classes = counts.shape[1]
    rows = counts.sum(axis=2)
    seen = rows > 1.0
    recall = np.divide(np.diagonal(counts, axis1=1, axis2=2), rows, out=np.zeros_like(rows), where=seen)
    variance = np.divide(recall * (1 - recall), rows, out=np.zeros_like(rows), where=seen)
    number = np.maximum(seen.sum(axis=1), 1)
    scale = classes / (classes - 1)
    raw = np.where(seen.sum(axis=1) > 1, scale * (recall.sum(axis=1) / number - 1 / classes), 0.0)
    error = scale * np.sqrt(variance.sum(axis=1)) / number
    return _shrunk(raw, SHRINK * error), raw


def _testimony(one_hot: Singles, heard: Ints, label: Ints) -> tuple[Ints, Ints]:
    """(camp, input): the colour most of a camp names, and how unanimous it is."""
    classes = one_hot.shape[1]
    groups = [heard[label == camp] for camp in np.unique(label)]
    shares = np.stack([one_hot[each].mean(axis=0) for each in groups])
    ahead = shares.argmax(axis=1)
    over = (shares.max(axis=1) * classes - 1) / (classes - 1)
    return ahead, np.clip((over * _LEVELS).astype(np.int64), 0, _LEVELS - 1)


def _iterate(answer: Floats, ahead: Ints, level: Ints, steps: int) -> tuple[Floats, Floats]:
    """Calibrate and answer, in turn, at most ``steps`` times: the answer and its score."""
    camps, inputs = ahead.shape
    classes = len(answer)
    cells = camps * classes * _LEVELS
    code = (np.arange(camps)[:, None] * classes + ahead) * _LEVELS + level
    flat = code.ravel()
    total = np.bincount(flat, minlength=cells)
    named = [ahead == colour for colour in range(classes)] if classes > 2 else []
    sign = 2.0 * ahead - 1.0
    score = np.zeros((classes, inputs))
    for _ in range(steps):
        believed = (
            sign * (answer[1] - 0.5) + 0.5 if classes == 2 else np.take_along_axis(answer, ahead, axis=0)
        )
        prior = (answer.sum(axis=1) + 1) / (inputs + classes)
        base = np.tile(np.repeat(prior, _LEVELS), camps)
        share = (np.bincount(flat, believed.ravel(), cells) + _PSEUDO * base) / (total + _PSEUDO)
        weight = log_odds(share, doubt=0.0) - log_odds(base, doubt=0.0)
        said = weight[code]
        if classes == 2:
            margin = (sign * said).sum(axis=0) + np.log(prior[1] / prior[0])
            score = np.stack([-margin / 2, margin / 2])
            high = 1 / (1 + np.exp(-np.clip(margin, -500, 500)))
            after = np.stack([1 - high, high])
        else:
            score = np.stack([np.where(where, said, 0.0).sum(axis=0) for where in named])
            score += np.log(prior)[:, None]
            after = softmax(score, axis=0)
        change = np.abs(after - answer).max()
        answer = after
        if change <= _TOLERANCE:
            break
    return answer, score


def _sum(weights: Floats, one_hot: Singles) -> Floats:
    n, classes, inputs = one_hot.shape
    flat = weights.astype(np.float32) @ one_hot.reshape(n, classes * inputs)
    return flat.reshape(classes, inputs).astype(np.float64)


def _shrunk(value: Floats, by: Floats | float) -> Floats:
    shrunk: Floats = np.sign(value) * np.maximum(np.abs(value) - by, 0.0)
    return shrunk
