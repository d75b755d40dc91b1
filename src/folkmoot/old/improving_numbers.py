"""Models of numbers that improve each other: all agree on numbers for a pool, and each refits its own model.

The agreement is that of ``predict``, with its rule, weights and liars; so is what leaves a participant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from folkmoot.arrays import Array, Ints, Progress
from folkmoot.learning.improvement import NumberChange, NumberImprovement
from folkmoot.learning.improving import by_mean, check_safe, root
from folkmoot.learning.own_rows import numbers_speak_against
from folkmoot.learning.participants import (
    Task,
    cross_validated,
    tell,
)
from folkmoot.learning.refitting import refit_numbers
from folkmoot.learning.tables import rows_in, rows_of
from folkmoot.old.checking import CheckingEstimator
from folkmoot.old.kept_rows import KeepingEstimator

_STREAM: Final = 20  # of the random numbers that cut own rows into folds


class ImprovingRegressor(KeepingEstimator, CheckingEstimator):
    """Base whose participants improve their models of numbers by a pool of inputs."""

    improvement_: NumberImprovement

    def improve(self, X_unlabelled: Any, safe: bool = False, *, progress: Progress | None = None) -> Self:
        """Agree on numbers for a pool of inputs, and refit every model on its own rows and these.

        The participants agree as in ``predict``, by the same rule and weights and among the same
        ``adversaries``; then each fits a fresh clone of its model to its own rows and the numbers that it
        holds in the end. ``participants_`` have the new models, ``improvement_`` the old ones and what
        changed. Nothing is shown that ``weights`` has not shown already.

        If anything fails, the estimator stays as it was.

        Parameters
        ----------
        X_unlabelled : array-like, sparse matrix or data frame, shape (input, feature)
            The pool: inputs of the kind that was fitted on.
        safe : bool, default False
            Whether a participant keeps its old model unless its own rows bear out the new one: this must be
            nearer to them than their mean, and a sign test must not find it further off than the old one.
        progress : callable, optional
            Called with (done, all) whenever a participant has fitted its new model.

        Returns
        -------
        ConsensusRegressor
            Itself, with new models.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            If there are no rows of the participants (prefit models, or a moot read from a file), or the pool
            is empty or has other columns.

        Examples
        --------
        >>> from folkmoot import ConsensusRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.tree import DecisionTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> moot = ConsensusRegressor([DecisionTreeRegressor(max_depth=4)] * 10, random_state=0)
        >>> moot = moot.fit(X[:180], y[:180]).improve(X[180:330])
        >>> print(str(moot.improvement_).splitlines()[-2])
        mean                                    92.98     59
        """
        check_is_fitted(self, "participants_")
        tasks = self._rows_kept()
        check_safe(safe)
        X = self._check_pool(X_unlabelled, tasks[0].X)
        values, there, faults, flat = self._numbers(X)
        agreed = self._talk(values, there, self._byzantine(there), flat=flat)
        numbers = np.broadcast_to(agreed.decision, (len(tasks), *agreed.decision.shape)).copy()
        honest = np.flatnonzero(agreed.honest)
        numbers[np.array(there)[honest]] = agreed.numbers[honest]  # liars take what was decided
        draw = np.random.default_rng([self.seed_, _STREAM])
        folded = cross_validated(tasks, draw)
        why_not = [_why_not(i, task, faults) for i, task in enumerate(tasks)]
        refitted = self._everybody(
            refit_numbers,
            [
                (task, person, X, None if why else mine, self.prefit)
                for task, person, mine, why in zip(folded, self.participants_, numbers, why_not, strict=True)
            ],
            progress,
        )
        changes, people = [], []
        for i, done in enumerate(refitted):
            old, y = self.participants_[i], tasks[i].y
            why = why_not[i] or done.fault
            if safe and why is None:
                # An old model that cannot be measured is no reason to keep it.
                before = done.before if len(done.before) else np.full(len(y), np.inf)
                why = numbers_speak_against(before, done.after, by_mean(y))
            changes.append(
                NumberChange(
                    old.name, len(y), self._count_shown(i), root(done.before),
                    root(done.after) if len(done.after) else None, why, old.model,
                )
            )  # fmt: skip
            people.append(done.participant if why is None else old)
        was, self.participants_ = self.participants_, people
        try:
            if self.weights is not None:
                self._check_each_other(self._shown_by(tasks), public=self._public)
        except BaseException:
            self.participants_ = was
            raise
        self.improvement_ = NumberImprovement(tuple(changes), rows_in(X), numbers)
        tell([f"{each.name} ({each.why})" for each in changes if each.why], "keeps its old model")
        return self

    @property
    def _public(self) -> bool:
        """Whether the rows shown are everybody's: models that came fitted, and no groups."""
        tasks = self._own_rows
        return self.prefit and tasks is not None and all(task.places is None for task in tasks)

    def _count_shown(self, i: int) -> int:
        return 0 if self.weights is None else int(self.checked_.rows[i])

    def _shown_by(self, tasks: Sequence[Task]) -> list[tuple[Any, Array]]:
        """The rows that each shows where numbers are weighed: those held out, or all."""
        shown = [task.held_out if len(task.held_out) else np.arange(len(task.y)) for task in tasks]
        return [(rows_of(task.X, own), task.y[own]) for task, own in zip(tasks, shown, strict=True)]

    def _keep_prefit(self, X: Any, y: Array, groups: Any) -> None:
        """Keep rows of models that came fitted, and measure these on them where numbers are weighed."""
        none: Ints = np.empty(0, dtype=np.int64)
        self._own_rows = [
            Task(
                each.name, each.model, each.columns, rows_of(X, own), y[own], None, none, None,
                places=None if groups is None else own,
            )
            for each, own in zip(self.participants_, self._rows_of_prefit(y, groups), strict=True)
        ]  # fmt: skip
        if self.weights is not None:
            self._check_each_other(self._shown_by(self._own_rows), public=groups is None)


def _why_not(i: int, task: Task, faults: dict[int, str]) -> str | None:
    if i in faults:
        return f"its model cannot answer: {faults[i]}"
    return "it has one row only" if len(task.y) < 2 else None
