"""Answers that are withheld: below which probability, and what is said instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array, Bools
from folkmoot.learning.labels import is_missing


def check_abstaining(abstain_below: object, reject_label: Any, classes: Array) -> None:
    """ValueError or TypeError, in one line, unless what is said instead can be told from every class.

    It must be of their kind (text beside text, a number beside numbers), since metrics compare the two, and
    none of them. A label without a threshold is fine: thresholds can then be searched over.
    """
    if abstain_below is None:
        return
    if isinstance(abstain_below, bool):
        raise TypeError(f"abstain_below must be a number within [0, 1], or None: got {abstain_below}")
    checks.probability("abstain_below", abstain_below)
    words = classes.dtype.kind not in "biuf"
    such_as = "'unsure'" if words else "-1"
    if reject_label is None:
        raise ValueError(
            f"abstain_below={abstain_below!r} needs a label for the inputs that are not answered: "
            f"reject_label={such_as}, or any other that is none of the classes"
        )
    fits = isinstance(reject_label, str) if words else _is_number(reject_label)
    if not fits or is_missing(reject_label):
        kind = "text, as the classes are" if words else "a number, as the classes are"
        raise ValueError(f"reject_label must be {kind}, such as {such_as}: got {reject_label!r}")
    if reject_label in classes.tolist():
        raise ValueError(
            f"reject_label must be none of the classes, or nobody could tell it from an answer: "
            f"got {reject_label!r}"
        )


def withheld(answers: Array, given: Bools, reject_label: Any) -> Array:
    """The answers, with ``reject_label`` where they are not given; wide enough to hold it."""
    kind = np.result_type(answers, np.asarray(reject_label))
    return np.where(given, answers.astype(kind), np.asarray(reject_label, dtype=kind))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
