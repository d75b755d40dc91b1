"""Stacking: a server learns from labelled inputs how to read votes (Wolpert, "Stacked generalization", 1992).

Beyond what a moot can do: it needs a server, and inputs whose truth the server knows. Shown for comparison
only. To be fair it never answers an input it has learnt from: five-fold cross-validation. Inputs of one
group, such as a patient, are alike: they are all left out together.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
)
from threadpoolctl import threadpool_limits

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.votes import Votes


def stacked(
    votes: Votes, truth: Votes, classes: int, seed: int, *, folds: int = 5, groups: Array | None = None
) -> Ints | None:
    """Out-of-fold answers of logistic regression on the one-hot votes; None if a class is too rare.

    A class with a single input cannot be learnt and answered both.
    """
    counts = np.bincount(truth, minlength=classes)
    rarest = int(counts[counts > 0].min())
    if rarest < 2 or (counts > 0).sum() < 2:
        return None
    learner = LogisticRegression(C=0.1, max_iter=200)
    parts: Any = StratifiedKFold(min(folds, rarest), shuffle=True, random_state=seed)
    if groups is not None:
        if (many := len(np.unique(groups))) < 2:
            return None
        parts = StratifiedGroupKFold(min(folds, many), shuffle=True, random_state=seed)
        if any(len(np.unique(truth[kept])) < 2 for kept, _ in parts.split(truth, truth, groups)):
            return None
    # The matrices are small: threads of the linear algebra would only wait for each other.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # close enough for a comparison
        decision: Ints = cross_val_predict(learner, _one_hot(votes, classes), truth, cv=parts, groups=groups)
    return decision


def stacked_numbers(
    sent: Floats, truth: Floats, seed: int, *, folds: int = 5, groups: Array | None = None
) -> Floats | None:
    """Ridge regression on everybody's numbers, out of fold; None where there are too few inputs."""
    inputs = sent.shape[1]
    if inputs < 10:
        return None
    columns = np.nan_to_num(sent.transpose(1, 0, 2).reshape(inputs, -1)).clip(-1e9, 1e9)
    parts: Any = KFold(min(folds, inputs), shuffle=True, random_state=seed)
    if groups is not None:
        if (many := len(np.unique(groups))) < 2:
            return None
        parts = GroupKFold(min(folds, many))
    with threadpool_limits(1):  # the matrices are small: threads would only wait for each other
        numbers: Floats = cross_val_predict(
            RidgeCV(np.logspace(-3, 6, 10)), columns, truth, cv=parts, groups=groups
        )
    return numbers.reshape(truth.shape)


def _one_hot(votes: Votes, classes: int) -> csr_array:
    """(input, participant and class): a one for each vote, and for having none."""
    participants, inputs = votes.shape
    width = classes + 1
    columns = (votes + 1 + width * np.arange(participants)[:, None]).T.ravel()
    starts = np.arange(0, participants * inputs + 1, participants)
    return csr_array((np.ones(columns.size), columns, starts), shape=(inputs, participants * width))
