"""One's own inputs: between one's own model, the rule of one's own rows, and that of everybody's.

Sites that are unlike each other know best what they see themselves. How far each of the three is to be
believed on such inputs is learnt from one's own rows, by what each says of rows that it has not seen.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot.accuracy import softmax
from folkmoot.arrays import Floats, Ints

_DOUBT: Final[Floats] = np.array([1.5, 1.0, 4.0])  # rows that each is believed for before there are any
_STEPS: Final = 200
_SHARPNESS: Final[Floats] = np.geomspace(0.1, 50.0, 64)


def shares(likelihoods: Floats) -> Floats:
    """How far to believe each of several forecasters, (row, forecaster): the mixture that fits the rows.

    By expectation-maximisation. The last, one's own model, begins with the most belief: it is what one has.
    """
    believed = _DOUBT[: likelihoods.shape[1]] / _DOUBT[: likelihoods.shape[1]].sum()
    for _ in range(_STEPS):
        due = likelihoods * believed + 1e-300
        due /= due.sum(axis=1, keepdims=True)
        believed = due.sum(axis=0) + _DOUBT[: likelihoods.shape[1]] - 1 + 1e-12
        believed = believed / believed.sum()
    return np.asarray(believed)


def smoothed(votes: Floats, truth: Ints) -> tuple[Floats, float]:
    """(row, colour): a participant's own votes as probabilities, and how sure a vote makes one.

    Votes are as ``centred`` makes them. They are mixed with ignorance so that they fit these rows best.
    """
    classes = votes.shape[1]
    given = votes + 1 / classes
    right = given[np.arange(len(truth)), truth]
    grid = np.linspace(0.0, 0.98, 50)
    fits = [float(np.log(sure * right + (1 - sure) / classes).sum()) for sure in grid]
    sure = float(grid[int(np.argmax(fits))])
    return forecast(votes, sure), sure


def forecast(votes: Floats, sure: float) -> Floats:
    """(row, colour): votes as ``centred`` makes them as probabilities, by how sure they make one."""
    return np.asarray(sure * (votes + 1 / votes.shape[1]) + (1 - sure) / votes.shape[1])


def sharpest(scores: Floats, right: Ints, kept: npt.ArrayLike = 1.0) -> float:
    """What makes scores (row, colour) logarithms of odds: by the likelihood of these labels.

    A label that was randomised, as it is with the chance ``kept``, is likely as it was told, not as it is.
    """
    told = np.asarray(kept)
    other = (1 - told) / (scores.shape[1] - 1)
    places = np.arange(len(right))

    def fit(each: float) -> float:
        likely = softmax(each * scores)[places, right]
        return float(np.log(likely * (told - other) + other + 1e-12).sum())

    return float(max(_SHARPNESS.tolist(), key=fit))
