"""Labels as models say them and as a moot calls them: one text for each kind, and a map between both.

A 3 is "3" whether a model calls it 3, 3.0 or "3".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


def label_text(label: object) -> str:
    """A label as text; ValueError if it is no text or finite number."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (bool, int)):
        return str(value)
    if isinstance(value, float) and np.isfinite(value):
        # As the model's own type shows it: the nearest double of a float32 has digits that nobody meant.
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else str(label)
    raise ValueError(f"a label must be text or a finite number: got {label!r}")


def pairs_of(labels: Sequence[Any] | Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """Pairs of an answer of a model, as text, and the label that it means."""
    items = labels.items() if isinstance(labels, Mapping) else [(label, label) for label in labels]
    return [(label_text(said), label) for said, label in items]


def classes_of(labels: Sequence[Any] | Mapping[Any, Any]) -> list[Any]:
    """The different labels that a model can mean, in the order in which they are named."""
    return list(dict.fromkeys(label for _, label in pairs_of(labels)))


def as_labels(values: Iterable[object]) -> list[str]:
    """Labels as text, written as those of models are."""
    return [label_text(value) for value in values]
