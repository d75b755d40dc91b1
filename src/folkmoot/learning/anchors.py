"""What trust hangs on (docs/trust.md): each participant's own holdout, as counts of what got which answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from folkmoot.arrays import Array, Ints
from folkmoot.learning.labels import as_colours
from folkmoot.learning.participants import Participant, Task, stratified_shards
from folkmoot.trust import Anchor

SELF_ANCHORED: Final = "self-anchored"
_FOLDS: Final = 5


def check_trust(trust: object) -> None:
    """None, or the one way in which participants learn trust."""
    if trust is not None and not (isinstance(trust, str) and trust == SELF_ANCHORED):
        raise ValueError(f"trust must be {SELF_ANCHORED!r} or None: got {trust!r}")


def anchors_of(participants: Sequence[Participant], labels: Array) -> list[Anchor | None]:
    """The anchor of each, its answers as places in ``labels``; None for who has held nothing out."""
    return [_anchor(participant, labels) if participant.held_out else None for participant in participants]


def _anchor(participant: Participant, labels: Array) -> Anchor:
    times = [count for _, _, count in participant.confusion]
    true, said = (_colours([row[i] for row in participant.confusion], labels) for i in (0, 1))
    return Anchor.of_holdout(np.repeat(said, times), np.repeat(true, times), len(labels))


def _colours(values: list[Any], labels: Array) -> Ints:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return as_colours(array, labels)


def cross_validated(tasks: Sequence[Task], draw: np.random.Generator) -> list[Task]:
    """The tasks, with five folds each (fewer where rows are) in which all rows are answered once."""
    return [
        replace(task, folds=tuple(stratified_shards(task.y, min(_FOLDS, len(task.y)), draw)))
        for task in tasks
    ]
