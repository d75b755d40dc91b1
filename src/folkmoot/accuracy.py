"""How often answers are right, and what that makes a vote worth.

Accuracies are over the inputs whose truth is known (not -1); an undecided input is not right.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Floats
from folkmoot.votes import UNCOLOURED, Votes

LEAST_DOUBT: Final = 1e-6  # nobody is trusted, or distrusted, more than this: p = 1 would outvote all others


def share_right(decision: npt.ArrayLike, truth: npt.ArrayLike) -> Floats:
    """Share of the inputs with a known truth that are decided right; of (..., input), one share a row."""
    given, right = np.asarray(decision), np.asarray(truth)
    if right.shape != given.shape[-1:]:
        raise ValueError(f"truth must hold one colour per input ({given.shape[-1]}): got shape {right.shape}")
    known = right != UNCOLOURED
    if not known.any():
        raise ValueError("truth must be known (not -1) for at least one input")
    return np.asarray((given[..., known] == right[known]).mean(axis=-1), dtype=np.float64)


def participant_accuracies(votes: Votes, truth: npt.ArrayLike) -> Floats:
    """Share of each participant's cast votes that are right; nan for one that cast none on known inputs."""
    right = np.asarray(truth)
    cast = (votes != UNCOLOURED) & (right != UNCOLOURED)
    total = cast.sum(axis=1)
    hits = ((votes == right) & cast).sum(axis=1)
    return np.asarray(np.where(total > 0, hits / np.maximum(total, 1), np.nan), dtype=np.float64)


def laplace_accuracy(right: npt.ArrayLike, total: npt.ArrayLike, classes: int = 2) -> Floats:
    """Laplace's rule of succession, (right + 1) / (total + C): never 0 or 1, and 1/C where nothing is known.

    It is the posterior mean if every accuracy is as likely as another beforehand; with more than two classes,
    under the Beta(1, C - 1) prior, whose mean is that of a guess.
    """
    return np.asarray((np.asarray(right) + 1) / (np.asarray(total) + classes), dtype=np.float64)


def log_odds(p: npt.ArrayLike, classes: int = 2, *, doubt: float = LEAST_DOUBT) -> Floats:
    """The best weight for each accuracy p: log((C-1) p / (1-p)), with p kept within [doubt, 1 - doubt].

    Best if participants err independently, no colour is likelier than another beforehand, and a wrong vote is
    equally likely to be any of the C-1 wrong colours. Below p = 1/C it is negative; nan stays nan.
    """
    colours = checks.integer("classes", classes, least=2)
    try:
        values = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"p must be a number or a sequence of numbers: got {p!r}") from None
    bad = np.flatnonzero((values < 0) | (values > 1))
    if bad.size:
        raise ValueError(f"p must satisfy 0 <= p <= 1: got {values.flat[bad[0]]} at place {bad[0]}")
    kept = np.clip(values, doubt, 1 - doubt)
    return np.asarray(np.log((colours - 1) * kept / (1 - kept)), dtype=np.float64)


def standard_error(values: npt.ArrayLike) -> float | None:
    """The standard error of the mean of some values, std(ddof=1) / sqrt(n); None for a single one."""
    each = np.asarray(values, dtype=np.float64)
    return float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else None
