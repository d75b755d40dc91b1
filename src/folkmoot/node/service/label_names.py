"""Names in ``node.toml``: the labels and columns of a model, and what the moot calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from folkmoot.models.labels import label_text

_LABELS = 'labels must be a list of two or more different labels, such as ["no", "yes"]'


def labels_in(value: object) -> tuple[str, ...] | dict[str, str]:
    """The labels that a model knows, or those of the moot by its own; ValueError if these are none."""
    if isinstance(value, dict):
        return label_map(value)
    if not isinstance(value, list):
        raise ValueError(f"{_LABELS}, or a table: got {value!r}")
    try:
        found = tuple(label_text(each) for each in value)
    except ValueError as error:
        raise ValueError(f"{_LABELS}: {error}") from None
    if len(found) < 2 or len(set(found)) < len(found):
        raise ValueError(f"{_LABELS}: got {value!r}")
    return found


def label_map(table: dict[str, Any]) -> dict[str, str]:
    """Check a map from the labels of a model to those of the moot."""
    wrong = next((key for key, value in table.items() if not isinstance(value, str) or not value), None)
    if wrong is not None or len(set(table.values())) < 2:
        got = "fewer than two" if wrong is None else f"{wrong} = {table[wrong]!r}"
        raise ValueError(
            'labels must give the name of each label of the model in the moot, such as 0 = "no", and two '
            f"or more of them: got {got}"
        )
    return table


def columns_in(value: object) -> tuple[str, ...] | dict[str, str]:
    """The names of a model's columns, or those of the moot by its own; ValueError if these are none."""
    names = list(value.values()) if isinstance(value, dict) else value
    if (
        not isinstance(names, list)
        or not names
        or not all(isinstance(each, str) and each for each in names)
        or len(set(names)) < len(names)
    ):
        raise ValueError(
            'columns must be a list of different names, such as ["age", "bmi"], or give the moot\'s name of '
            f'columns, such as mean_radius = "mean radius": got {value!r:.200}'
        )
    return dict(value) if isinstance(value, Mapping) else tuple(names)


def texts_in(value: object, key: str, such_as: str) -> tuple[str, ...]:
    """A list of texts; ValueError if it is none."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{key} must be a list of texts, such as {such_as}: got {value!r}")
    return tuple(value)
