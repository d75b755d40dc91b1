"""Rows with known truth for own aggregations: held back by a participant, or shown to all.

Holdout trust needs each participant's votes on its own held-out rows only. Peer review needs rows with
inputs, labels and everybody's votes, which participants show only if the aggregation asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np

from folkmoot import checks
from folkmoot.aggregation import Rows
from folkmoot.arrays import Array, Ints
from folkmoot.learning.first_votes import as_classes, chances_of, places
from folkmoot.learning.participants import (
    FOLDS,
    Participant,
    Task,
    answers_like,
    learnt_on,
    stratified_shards,
)
from folkmoot.learning.tables import rows_of, stacked
from folkmoot.votes import NO_VOTE, Votes

ALL: Final = "all"
PUBLIC: Final = -1  # the owner of public rows, whose labels all trust


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
    for part in stratified_shards(task.y.reshape(len(whole), -1)[:, 0], min(FOLDS, len(whole)), rng):
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


def held_rows(participants: Sequence[Participant], labels: Array | None) -> Rows:
    """The votes of each participant on rows that it held back; numbers without ``labels``.

    It does not know the votes of others on these, and nobody else knows the inputs.
    """
    there = {i: each.unseen for i, each in enumerate(participants) if each.unseen is not None}
    if not there:
        none = np.empty(0, dtype=np.int64)
        return Rows(np.empty((len(participants), 0), dtype=np.int64), none, none)
    owner = np.concatenate([np.full(len(truth), i) for i, (truth, _) in there.items()])
    truth, answers = (
        np.concatenate(
            [each[k] if labels is None else _places_of(each[k], labels) for each in there.values()]
        )
        for k in (0, 1)
    )
    gap = np.nan if labels is None else NO_VOTE
    votes = np.full((len(participants), *answers.shape), gap, dtype=answers.dtype)
    votes[owner, np.arange(len(owner))] = answers
    return Rows(votes, truth, owner)


def _places_of(values: Array, labels: Array) -> Ints:
    found = places(values, labels)
    return np.full(len(values), NO_VOTE) if isinstance(found, str) else found


def chosen_rows(tasks: Sequence[Task], rows: Any, draw: np.random.Generator) -> list[Ints]:
    """The rows that each participant shows, as places among its own."""
    return [places_to_show(task.y if task.y.ndim == 1 else task.y[:, 0], rows, draw) for task in tasks]


def votes_with_own(votes: Array, owner: Ints, own: Sequence[Array | None]) -> Array:
    """Everybody's votes on shown rows; ``own`` replaces those of owners, None by no votes.

    The vote of a model on a row that it was fitted on does not show its accuracy.
    """
    gap = NO_VOTE if votes.dtype.kind == "i" else np.nan
    votes = votes.copy()
    for i in range(len(votes)):
        mine = owner == i
        answers = own[i]
        votes[i, mine] = gap if answers is None else answers
    return votes


def both(rows: Rows | None, more: Rows) -> Rows:
    """These rows and more."""
    if rows is None:
        return more
    return Rows(
        np.concatenate([rows.votes, more.votes], axis=1),
        np.concatenate([rows.truth, more.truth]),
        np.concatenate([rows.owner, more.owner]),
        stacked([rows.inputs, more.inputs]),
        rows.kept,
    )


def rows_of_tasks(X: Any, y: Array, tasks: Sequence[Task], shown: Sequence[Ints]) -> tuple[Any, Array, Ints]:
    """Inputs, truths and owners of the rows that are shown, one owner after the other."""
    whole = [np.arange(len(y)) if task.places is None else task.places for task in tasks]
    at = np.concatenate([mine[own] for mine, own in zip(whole, shown, strict=True)])
    owner = np.repeat(np.arange(len(tasks)), [len(own) for own in shown])
    return rows_of(X, at), y[at], owner
