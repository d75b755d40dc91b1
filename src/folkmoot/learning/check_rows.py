"""Check rows: own labelled rows that a participant shows, so that all can learn who is right about what.

The others answer them before they can know which they are; then their labels are published. Everybody sees
the inputs and the labels, these by randomised response if wanted. Rows are shown only where that was asked
for by name (``aggregation=PeerReview()``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array, Ints
from folkmoot.learning.labels import as_colours
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


def check_showing(check_rows: object, privacy: object) -> None:
    """Complain about a number of rows or a privacy that cannot be."""
    if isinstance(check_rows, str):
        if check_rows != ALL:
            raise ValueError(f"check_rows must be a number of rows or {ALL!r}: got {check_rows!r}")
    else:
        checks.integer("check_rows", check_rows, least=0)
    if privacy is not None and checks.finite("privacy", privacy) <= 0:
        raise ValueError(f"privacy must be a positive epsilon, or None for labels as they are: got {privacy}")


def shown_places(y: Array, check_rows: int | Literal["all"], rng: np.random.Generator) -> Ints:
    """Which of its rows a participant shows: so many, but at most half of them, spread over the classes."""
    if check_rows == ALL:
        return np.arange(len(y))
    wanted = min(int(check_rows), len(y) // 2)
    shuffled = rng.permutation(len(y))
    order = shuffled[np.argsort(y[shuffled], kind="stable")]
    picks = ((np.arange(wanted) + 0.5) * len(y) / max(wanted, 1)).astype(np.int64)
    return np.sort(order[picks])


def label_kept(privacy: float | None, classes: int) -> float:
    """How likely a label is published as it is."""
    if privacy is None:
        return 1.0
    odds = float(np.exp(min(privacy, 700.0)))
    return odds / (odds + classes - 1)


def published(truth: Votes, privacy: float | None, classes: int, rng: np.random.Generator) -> Votes:
    """The labels as they are told: by randomised response, each kept with odds of e^epsilon to 1 for another.

    The noise is drawn once and what was told stays told: asking again tells nothing new.
    """
    if privacy is None:
        return truth
    kept = rng.random(len(truth)) < label_kept(privacy, classes)
    return np.where(kept, truth, (truth + rng.integers(1, classes, len(truth))) % classes)


def own_answers(
    task: Task, participant: Participant, places: Ints, classes: Array | None = None, soft: bool = False
) -> Array | None:
    """A participant's votes on its own shown rows by models that have not seen them; None where one fails.

    They are numbers without ``classes``, and probabilities if ``soft``.
    """
    whole = np.arange(len(task.y))
    said: Array = np.full(task.y.shape, np.nan)
    if classes is not None:
        said = np.zeros((len(whole), len(classes))) if soft else np.full(len(whole), NO_VOTE)
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
        said[part] = answers if soft or classes is None else as_colours(answers, classes)
    return np.asarray(said[places])
