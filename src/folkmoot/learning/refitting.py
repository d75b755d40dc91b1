"""A model fitted once more, to its participant's own rows and to inputs with the answers that all agreed on.

How good the new model is follows from another clone, fitted to the agreed answers alone: it has not seen the
participant's own rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from folkmoot.arrays import Array, Bools, Floats
from folkmoot.learning.participants import (
    Participant,
    Task,
    first_sentence,
    fit_regressor,
    learnt_on,
    measured,
    squared_errors,
    unseen_errors,
)
from folkmoot.learning.tables import rows_in, stacked


@dataclass(frozen=True, eq=False)
class Refitted:
    """A participant with its new model, and what a model fitted to the agreed rows alone says of its own."""

    participant: Participant
    unseen: Participant | None = None
    right: Bools | None = None
    fault: str | None = None


def refit(task: Task, old: Participant, X: Any, labels: Array | None, *, measure: bool = True) -> Refitted:
    """Fit a clone to own rows and agreed labels; if ``measure``, another to the agreed ones alone."""
    if labels is None:
        return Refitted(old)
    pool, own = rows_in(X), len(task.y)
    both = both_rows(task, X, labels)
    try:
        new = learnt_on(both, np.arange(own + pool))
        without = learnt_on(both, np.arange(own, own + pool)) if measure else None
    except (ValueError, TypeError, RuntimeError) as error:
        return Refitted(old, fault=f"its model cannot be fitted again: {first_sentence(error)}")
    person = replace(
        old, model=new.model, rows=own + pool, constant=new.constant, weighted=new.weighted, unrefitted=None
    )
    if without is None:
        return Refitted(person)
    seen = measured(without, task.X, task.y)
    if seen.fault:
        return Refitted(old, fault=f"its new model cannot answer its own rows: {seen.fault}")
    right = np.asarray(without.predict(task.X)) == task.y
    person = replace(person, held_out=seen.held_out, right=seen.right, confusion=seen.confusion)
    return Refitted(person, without, right)


@dataclass(frozen=True, eq=False)
class RefittedNumbers:
    """A participant with its new model; squared errors of the old one and the new on its own rows, unseen."""

    participant: Participant
    before: Floats
    after: Floats
    fault: str | None = None


def refit_numbers(
    task: Task, old: Participant, X: Any, numbers: Array | None, fitted: bool
) -> RefittedNumbers:
    """Fit a clone to own rows and agreed numbers; another, to the agreed ones alone, tells how good that is.

    ``fitted`` models came so, and have seen none of the rows.
    """
    nothing = np.zeros(0)
    before = _unseen_before(task, old, fitted)
    if numbers is None:
        return RefittedNumbers(old, before, nothing)
    own = np.arange(len(task.y))
    both = replace(both_rows(task, X, numbers), folds=(own,), held_out=own[:0])
    try:
        new = fit_regressor(both)
        after = unseen_errors(both, new)
    except (ValueError, TypeError, RuntimeError) as error:
        why = f"its model cannot be fitted again: {first_sentence(error)}"
        return RefittedNumbers(old, before, nothing, why)
    if isinstance(after, str):
        return RefittedNumbers(old, before, nothing, f"its new model cannot answer its own rows: {after}")
    return RefittedNumbers(replace(new, columns=old.columns), before, after)


def _unseen_before(task: Task, old: Participant, fitted: bool) -> Floats:
    """Squared errors on own rows, in their order; none where they cannot be measured."""
    if fitted:
        found = squared_errors(old, task.X, task.y)
        return np.zeros(0) if isinstance(found, str) else found
    try:
        errors = unseen_errors(task, old)
    except (ValueError, TypeError, RuntimeError):
        return np.zeros(0)
    if isinstance(errors, str) or len(errors) != len(task.y):
        return np.zeros(0)
    found = np.empty(len(task.y))
    found[np.concatenate(task.folds)] = errors
    return found


def both_rows(task: Task, X: Any, agreed: Array) -> Task:
    """Own rows and then the pool with what was agreed on, every row of the pool with weight 1."""
    weights = None if task.weights is None else np.concatenate([task.weights, np.ones(rows_in(X))])
    return replace(
        task, X=stacked([task.X, X]), y=np.concatenate([task.y, agreed]), weights=weights, places=None
    )
