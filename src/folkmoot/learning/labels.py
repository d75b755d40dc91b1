"""Labels of participants who never agreed on any: which there are, and what an answer means."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from folkmoot.arrays import Array
from folkmoot.learning.participants import Participant, tell
from folkmoot.votes import NO_VOTE, Votes


def check_labels(y: Any) -> Array:
    """One label per row, as numbers or words; object arrays become what they hold."""
    values: Array = column_or_1d(y)
    if values.dtype == object:
        missing = next((i for i, value in enumerate(values.tolist()) if is_missing(value)), None)
        if missing is not None:
            raise ValueError(f"y must hold a label for every row: y[{missing}] is missing")
        values = np.array(values.tolist())
    return values


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True  # pandas' NA is neither equal nor unequal to itself


def known_classes(participants: list[Participant]) -> Array | None:
    """The union of the classes that fitted models know; they must be of one kind."""
    there = [(p.name, np.asarray(p.model.classes_)) for p in participants if hasattr(p.model, "classes_")]
    if not there:
        return None
    first, reference = there[0]
    for name, classes in there[1:]:
        same_kind(reference, classes, f"participant {first!r} says", f"participant {name!r} says")
    alone = [
        name
        for name, classes in there
        if not any(np.isin(classes, other).any() for who, other in there if who != name)
    ]
    tell(alone if len(there) > 1 else [], "knows none of the classes that the others know")
    return np.unique(np.concatenate([classes for _, classes in there]))


def same_kind(left: Array, right: Array, who: str, whom: str) -> None:
    """Numbers with numbers, words with words: 1 and '1' are not the same answer."""
    if (left.dtype.kind in "biuf") != (right.dtype.kind in "biuf"):
        raise ValueError(
            f"participants must agree on what the classes are: {who} {_few(left)}, {whom} {_few(right)}"
        )


def with_strangers(classes: Array, y: Array) -> Array:
    """The classes, and any labels of y that nobody knows (everybody is wrong on those)."""
    same_kind(classes, np.unique(y), "the moot says", "y says")
    strangers = np.setdiff1d(y, classes)
    return np.concatenate((classes, strangers)) if strangers.size else classes


def as_classes(answers: Array, labels: Array) -> Votes:
    """The place of each answer in ``labels``; -1 for what is none of them."""
    place = {label: i for i, label in enumerate(labels.tolist())}
    return np.array([place.get(answer, NO_VOTE) for answer in answers.tolist()], dtype=np.int64)


def as_truth(y: Any, labels: Array) -> Votes:
    """The place of each label of y in ``labels``; all must be there."""
    values = check_labels(y)
    truth = as_classes(values, labels)
    unknown = np.flatnonzero(truth == NO_VOTE)
    if unknown.size:
        label = values.tolist()[unknown[0]]
        raise ValueError(f"y holds the label {label!r}, which is none of the classes the moot knows")
    return truth


def _few(classes: Array) -> str:
    more = ", ..." if len(classes) > 5 else ""
    return "[" + ", ".join(map(repr, classes[:5].tolist())) + more + "]"
