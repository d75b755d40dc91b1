"""Validation rows: labelled rows that participants show, so that all can learn each other's accuracy.

The others answer them before they know which inputs they are. Then their labels are published, on request by
randomised response. Rows are shown only with ``aggregation=PeerReview()`` or ``improve``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array, Ints
from folkmoot.learning.labels import as_classes
from folkmoot.learning.participants import (
    Participant,
    Task,
    answers_like,
    learnt_on,
    stratified_shards,
)
from folkmoot.learning.probabilities import chances_of
from folkmoot.learning.tables import rows_of
from folkmoot.votes import NO_VOTE, Votes

ALL: Final = "all"
_FOLDS: Final = 5


def check_review(rows: object, epsilon: object) -> None:
    """Raise for an impossible number of rows or ``label_epsilon``."""
    if isinstance(rows, str):
        if rows != ALL:
            raise ValueError(f"rows must be a number of rows or {ALL!r}: got {rows!r}")
    else:
        checks.integer("rows", rows, least=0)
    if epsilon is not None and checks.finite("label_epsilon", epsilon) <= 0:
        raise ValueError(f"label_epsilon must be positive, or None for unchanged labels: got {epsilon}")


def places_to_show(y: Array, rows: int | Literal["all"], rng: np.random.Generator) -> Ints:
    """The rows that a participant shows: so many, at most half of its rows, spread over the classes."""
    if rows == ALL:
        return np.arange(len(y))
    wanted = min(int(rows), len(y) // 2)
    shuffled = rng.permutation(len(y))
    order = shuffled[np.argsort(y[shuffled], kind="stable")]
    picks = ((np.arange(wanted) + 0.5) * len(y) / max(wanted, 1)).astype(np.int64)
    return np.sort(order[picks])


def label_kept(epsilon: float | None, classes: int) -> float:
    """The probability that a label is published unchanged."""
    if epsilon is None:
        return 1.0
    odds = float(np.exp(min(epsilon, 700.0)))
    return odds / (odds + classes - 1)


def published(truth: Votes, epsilon: float | None, classes: int, rng: np.random.Generator) -> Votes:
    """The labels by randomised response: each is kept with odds of e^epsilon to 1 for another.

    The noise is drawn once, so asking again reveals nothing new.
    """
    if epsilon is None:
        return truth
    kept = rng.random(len(truth)) < label_kept(epsilon, classes)
    return np.where(kept, truth, (truth + rng.integers(1, classes, len(truth))) % classes)


def own_answers(
    task: Task, participant: Participant, places: Ints, classes: Array | None = None, soft: bool = False
) -> Array | None:
    """A participant's votes on its own validation rows, by models not fitted on them; None if one fails.

    Numbers without ``classes``, probabilities if ``soft``.
    """
    whole = np.arange(len(task.y))
    found: Array = np.full(task.y.shape, np.nan)
    if classes is not None:
        found = np.zeros((len(whole), len(classes))) if soft else np.full(len(whole), NO_VOTE)
    rng = np.random.default_rng(task.seed or 0)
    for part in stratified_shards(task.y.reshape(len(whole), -1)[:, 0], min(_FOLDS, len(whole)), rng):
        if not np.isin(part, places).any() or len(part) == len(whole):
            continue
        try:
            fitted = learnt_on(task, np.setdiff1d(whole, part))
        except (ValueError, TypeError, RuntimeError):
            return None
        like, inputs = replace(fitted, unseen=participant.unseen), rows_of(task.X, part)
        if classes is None:
            answers = answers_like(like, inputs, task.y[part])
        else:
            answers = chances_of(like, inputs, classes) if soft else like.predict(inputs)
        if isinstance(answers, str):
            return None
        found[part] = answers if soft or classes is None else as_classes(answers, classes)
    return np.asarray(found[places])
