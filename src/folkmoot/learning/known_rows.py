"""Rows with known truth for own aggregations: held back by a participant, or shown to all.

Holdout trust needs each participant's votes on its own held-out rows only. Peer review needs rows with
inputs, labels and everybody's votes, which participants show only if the aggregation asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from folkmoot.aggregation import Rows
from folkmoot.arrays import Array, Ints
from folkmoot.learning.first_votes import places
from folkmoot.learning.participants import Participant, Task
from folkmoot.learning.tables import rows_of, stacked
from folkmoot.learning.validation_rows import places_to_show
from folkmoot.votes import NO_VOTE

PUBLIC = -1  # the owner of public rows, whose labels all trust


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


def votes_with_own(votes: Array, owner: Ints, own: Sequence[Array | None] | None) -> Array:
    """Everybody's votes on shown rows; ``own`` replaces those of owners.

    The vote of a model on a row that it was fitted on does not show its accuracy. Without ``own`` owners have
    no votes on their rows.
    """
    gap = NO_VOTE if votes.dtype.kind == "i" else np.nan
    votes = votes.copy()
    for i in range(len(votes)):
        mine = owner == i
        answers = None if own is None else own[i]
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
