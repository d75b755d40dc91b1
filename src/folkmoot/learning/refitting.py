"""A model fitted once more, to its participant's own rows and to inputs with the answers that all agreed on.

How good the new model is follows from another clone, fitted to the agreed answers alone: it has not seen the
participant's own rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from folkmoot.arrays import Array, Floats
from folkmoot.learning.participants import Participant, Task, first_sentence, learnt_on, measured
from folkmoot.learning.tables import rows_in, stacked


@dataclass(frozen=True, eq=False)
class Refitted:
    """A participant with its new model, and how a model fitted to the agreed rows alone does on its own."""

    participant: Participant
    scores: Floats | None = None
    fault: str | None = None


def refit(task: Task, old: Participant, X: Any, agreed: Array | None, *, measure: bool = True) -> Refitted:
    """Fit a clone to own rows and agreed answers; if ``measure``, another to the agreed ones alone."""
    if agreed is None:
        return Refitted(old)
    pool, own = rows_in(X), len(task.y)
    both = both_rows(task, X, agreed)
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
    return Refitted(replace(person, unseen=seen.unseen, fault=None), seen.scores)


def both_rows(task: Task, X: Any, agreed: Array) -> Task:
    """Own rows and then the pool with what was agreed on, every row of the pool with weight 1."""
    weights = None if task.weights is None else np.concatenate([task.weights, np.ones(rows_in(X))])
    return replace(
        task, X=stacked([task.X, X]), y=np.concatenate([task.y, agreed]), weights=weights, places=None
    )
