"""Balanced accuracy and macro F1 of decisions in which labels may be level or missing.

Both are scikit-learn's where every input is decided. As in ``accuracy``, an undecided input is right for no
class, and level labels share it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.votes import UNCOLOURED, known_inputs

BALANCED: Final = "balanced_accuracy"  # scikit-learn's names
MACRO_F1: Final = "f1_macro"
TITLES: Final = {BALANCED: "balanced", MACRO_F1: "macro F1"}  # in tables
_APART: Final = 0.1  # a score that is further below the accuracy tells another story


def balanced_scores(
    decisions: npt.ArrayLike, truth: npt.ArrayLike, classes: int, level: npt.ArrayLike | None = None
) -> dict[str, float]:
    """Score decisions so that every class counts alike, however rare it is.

    Parameters
    ----------
    decisions : array-like of int, shape (repetition, input)
        The colour decided for each input, -1 where undecided.
    truth : array-like of int, shape (input,)
        The right colours, -1 where not known: those inputs are not counted.
    classes : int
        The number of colours.
    level : array-like of bool, shape (repetition, input, colour), optional
        The colours that are level, where there are several. Default: there are no ties.

    Returns
    -------
    dict of str to float
        ``balanced_accuracy``, the mean over the classes of the share of their inputs that are right, and
        ``f1_macro``, the mean over the classes of the harmonic mean of precision and recall; each the mean
        over repetitions.

    Raises
    ------
    ValueError
        If no truth is known.

    Examples
    --------
    One of 20 is ill, and nobody finds it:

    >>> from folkmoot.comparing.how_sure import balanced_scores
    >>> balanced_scores([[0] * 20], truth=[0] * 19 + [1], classes=2)
    {'balanced_accuracy': 0.5, 'f1_macro': 0.487...}
    """
    right = np.asarray(truth)
    known = known_inputs(right)
    told = np.atleast_2d(np.asarray(decisions))[:, known]
    answered = told[..., None] == np.arange(classes)
    shares = answered.astype(np.float64)
    if level is not None:
        tied = np.asarray(level, dtype=np.bool_).reshape(len(told), len(right), -1)[:, known]
        many = tied.sum(axis=-1, keepdims=True)
        known_to_all = shares[..., : tied.shape[-1]]  # a truth may be a label that nobody knows
        known_to_all[:] = np.where(many > 1, tied / np.maximum(many, 1), known_to_all)
    named = (right[known][:, None] == np.arange(classes)).astype(np.float64)
    each = [_scored(one, named) for one in shares]
    return {name: float(np.mean([one[i] for one in each])) for i, name in enumerate((BALANCED, MACRO_F1))}


def _scored(shares: Floats, named: Floats) -> tuple[float, float]:
    """Balanced accuracy and macro F1 of one repetition; (input, class) each."""
    hits, said, there = (shares * named).sum(axis=0), shares.sum(axis=0), named.sum(axis=0)
    recall = hits[there > 0] / there[there > 0]
    seen = (said > 0) | (there > 0)
    return float(recall.mean()), float((2 * hits[seen] / (said + there)[seen]).mean())


def different_stories(
    accuracy: float,
    scores: Mapping[str, float | None],
    truth: Ints,
    labels: Sequence[Any] | Array | None,
) -> list[str]:
    """One line if accuracy is far above the scores that count every class alike, and why; else nothing."""
    told = {name: score for name in TITLES if (score := scores.get(name)) is not None}
    if not told or accuracy - min(told.values()) < _APART:
        return []
    counts = np.bincount(truth[truth != UNCOLOURED])
    label, share = int(counts.argmax()), float(counts.max() / counts.sum())
    called = label if labels is None else np.asarray(labels).tolist()[label]
    each = ", ".join(f"{TITLES[name]} {score:.3f}" for name, score in told.items())
    return [
        f"accuracy {accuracy:.3f} but {each}: some classes are answered much worse than others; always "
        f"answering {called!r} would be right on {share:.3f}"
    ]
