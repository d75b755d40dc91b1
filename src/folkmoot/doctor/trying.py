"""One row for a node's model, before anybody else asks it: what it answers, and how long that takes."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

import numpy as np

from folkmoot.arrays import Array
from folkmoot.node.service.models import Model
from folkmoot.node.session.terms import Answers
from folkmoot.node.wire.schema import Column

_TEXT: Final = "This is a test."
_LONGEST: Final = 60.0  # seconds that a service has


class Trial(NamedTuple):
    """The answer of a model to one row; ``trouble`` says why it is none."""

    asked: str
    answer: str
    seconds: float
    trouble: str = ""


def tried(model: Model) -> Trial | None:
    """Ask a model one row of its columns; None if nobody knows which it has."""
    row, asked = _row(model)
    if row is None:
        return None
    began = time.perf_counter()
    kind: Answers = "numbers" if model.labels is None else "labels"
    try:
        found = model.ask(row, kind, model.labels or (), _LONGEST)
    except ValueError as error:
        return Trial(asked, "", time.perf_counter() - began, str(error))
    seconds = time.perf_counter() - began
    answer = next(iter(found.values))
    if answer is None or answer != answer:
        return Trial(asked, "", seconds, found.detail or found.reason or "it gives no answer")
    return Trial(asked, str(answer), seconds)


def _row(model: Model) -> tuple[Array | None, str]:
    if model.columns is not None:
        values = [_value(column) for column in model.schema] or [0.0] * model.columns
        return np.array([values]), "one row" if any(values) else "one row of zeros"
    if model.is_remote:
        found = np.empty(1, dtype=object)
        found[:] = [_TEXT]
        return found, f"the text {_TEXT!r}"
    return None, ""


def _value(column: Column) -> float:
    """A number within the range of a column."""
    bounds = [each for each in (column.low, column.high) if each is not None and np.isfinite(each)]
    return float(np.mean(bounds)) if bounds else 0.0
