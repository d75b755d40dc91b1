"""A moot: participants with models of their own, the table of their first votes, a protocol, an aggregation.

Common parts of labels and numbers. An estimator has four parts: the participants (``participants_``), the
table of their first votes (``FirstVotes``), a protocol, and an aggregation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from folkmoot.aggregation import Aggregation, Known, OwnAggregation, Rows, aggregation_called
from folkmoot.arrays import Array, Floats, Ints, Progress
from folkmoot.comparing import Report
from folkmoot.learning.composition import has_names
from folkmoot.learning.consensus_estimator import ConsensusEstimator, check_weights, rows_by_group
from folkmoot.learning.exporting import Exported, write_folders
from folkmoot.learning.first_votes import FirstVotes
from folkmoot.learning.improving import Improved, check_pool
from folkmoot.learning.participants import (
    Participant,
    Task,
    check_holdout,
    cross_validated,
    fit_participant,
    held_out_rows,
    measured,
    some_rows,
    tell,
)
from folkmoot.learning.shown_rows import (
    PUBLIC,
    both,
    chosen_rows,
    held_rows,
    rows_of_tasks,
    votes_on_shown,
)
from folkmoot.learning.tables import check_inputs, group_column, refuse_name, rows_of


class Moot(TransformerMixin, ConsensusEstimator):
    """Base of the estimators. A subclass says what its participants answer: labels or numbers."""

    protocol: Any
    aggregation: Aggregation | str | None
    holdout: float | None
    prefit: bool

    shown_: Rows | None
    improvement_: Any

    # ---- what a subclass says ----------------------------------------------------------------

    @property
    def _labels(self) -> Array | None:
        """The labels; None if participants answer with numbers."""
        return None

    @abstractmethod
    def fit(self, X: Any = None, y: Any = None, groups: Any = None) -> Self:
        """Let every participant fit its model, or measure one that is fitted."""

    @abstractmethod
    def _aggregation(self) -> Aggregation:
        """The aggregation, or the default."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Complain about parameters that do not fit together."""

    @abstractmethod
    def _targets(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Rows and what is right about them, checked."""

    @abstractmethod
    def _learn_answers(self, y: Array | None) -> None:
        """Say what can be answered: the classes or outputs that models or rows know."""

    @abstractmethod
    def _votes_on(self, X: Any) -> FirstVotes:
        """Everybody's first votes on checked inputs."""

    @abstractmethod
    def _own_votes(self) -> Callable[[Task, Participant, Ints], Array | None]:
        """What asks models that have not seen them about a participant's own rows; None where one fails."""

    @abstractmethod
    def _as_votes(self, y: Any) -> Array:
        """What is right, as votes are; ValueError for what nobody has learnt."""

    def _told(self, truth: Array, draw: np.random.Generator) -> Array:  # noqa: ARG002
        """What owners tell of the rows that they show."""
        return truth

    def _kept(self) -> float:
        """How likely they tell what is right."""
        return 1.0

    # ---- fitting -----------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        """Models that are fitted already need no ``fit``, unless rows are to measure them."""
        if self.prefit and not hasattr(self, "participants_"):
            self.fit()
        check_is_fitted(self, "participants_")

    def _fit(
        self,
        X: Any,
        y: Any,
        groups: Any,
        reference: Any,
        progress: Progress | None,
        fit_params: dict[str, Any],
    ) -> None:
        weights = self._weights(fit_params)
        refuse_name("y", y, "what is right")
        groups = None if groups is None else group_column(groups)
        self._check_parameters()
        share = check_holdout(self.holdout)
        draw = self._start()
        self.shown_ = None
        self._own_rows: list[Task] | None = None
        if self.prefit:
            self._join(X, y, groups, draw)
        else:
            X, y = self._targets(X, y)
            self._learn_answers(y)
            held = partial(some_rows if self._numbers else held_out_rows, share=share, rng=draw)
            refit = self._numbers or getattr(self, "refit", False)
            tasks = self._tasks(X, y, groups, check_weights(weights, len(y)), draw, held, refit)
            if isinstance(self._aggregation(), OwnAggregation) and not share:
                tasks = cross_validated(tasks, draw)
            self.participants_ = self._fit_all(fit_participant, tasks, progress)
            self._own_rows = tasks
            if self._shows:
                self._show(X, y, tasks, draw)
        if reference is not None:
            self._refer(reference)
        if self._shows and self.shown_ is None:
            raise ValueError(
                f"{type(self._aggregation()).__name__} needs rows that are shown: rows of at least 2, or a "
                "reference"
            )

    def _join(self, X: Any, y: Any, groups: Any, draw: np.random.Generator) -> None:
        """Take models that are fitted already; rows only measure them."""
        self.participants_ = self._prefit()
        for each in self.participants_:
            _check_fitted(each)
        if X is None or y is None:
            if self._needs_rows:
                raise ValueError(
                    f"{type(self._aggregation()).__name__} needs rows that the models were not fitted on: "
                    "fit(X, y), or fit(X, y, groups) with some for each"
                )
            if X is not None:
                self._check_again(check_inputs(self, X, reset=True))
            self._learn_answers(None if y is None else np.asarray(y))
            return
        X, y = self._targets(X, y)
        self._learn_answers(y)
        X = self._check_again(X)
        names = self._names
        rows = [np.arange(len(y))] * len(names)
        if groups is not None:
            rows = rows_by_group(groups, names, len(y), has_names(self.estimators))
        self.participants_ = [
            measured(participant, rows_of(X, own), y[own])
            for participant, own in zip(self.participants_, rows, strict=True)
        ]
        tell([p.name for p in self.participants_ if p.fault], "cannot predict the rows given to fit")
        self._own_rows = [
            Task(
                each.name, each.model, each.columns, rows_of(X, own), y[own], None, own[:0], None,
                numbers=self._numbers,
            )
            for each, own in zip(self.participants_, rows, strict=True)
        ]  # fmt: skip
        if not self._shows:
            return
        if groups is None:  # rows that no model has seen, and everybody knows
            self._add_public(X, y)
            return
        at = np.concatenate(rows)
        owner = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
        told = self._told(self._as_votes(y[at]), draw)
        self.shown_ = Rows(self._votes_on(rows_of(X, at)).table, told, owner, rows_of(X, at), self._kept())

    @property
    def _shows(self) -> bool:
        """Whether rows are shown."""
        return hasattr(self._aggregation(), "rows")

    @property
    def _needs_rows(self) -> bool:
        """Whether each learns from rows whose truth it knows."""
        rule = self._aggregation()
        return isinstance(rule, OwnAggregation) and rule.learns

    def _show(self, X: Any, y: Array, tasks: Sequence[Task], draw: np.random.Generator) -> None:
        """Let everybody show some of its rows, and all vote on them."""
        shown = chosen_rows(tasks, vars(self._aggregation())["rows"], draw)
        inputs, truth, owner = rows_of_tasks(X, y, tasks, shown)
        if not len(truth):
            return
        arguments = list(zip(tasks, self.participants_, shown, strict=True))
        own = self._everybody(self._own_votes(), arguments, None)
        told = self._told(self._as_votes(truth), draw)
        votes = votes_on_shown(self._votes_on(inputs).table, owner, own)
        self.shown_ = Rows(votes, told, owner, inputs, self._kept())

    def _refer(self, reference: Any) -> None:
        """Add public rows, whose truth all take for right."""
        if not self._shows:
            raise ValueError("reference is for peer review: set aggregation=PeerReview()")
        if not (isinstance(reference, (tuple, list)) and len(reference) == 2):
            raise TypeError(
                f"reference must be (X, y), rows and what is right: got {type(reference).__name__}"
            )
        self._add_public(self._check_again(reference[0]), reference[1])

    def _add_public(self, X: Any, y: Any) -> None:
        truth = self._as_votes(y)
        more = Rows(self._votes_on(X).table, truth, np.full(len(truth), PUBLIC), X, self._kept())
        self.shown_ = both(self.shown_, more)

    # ---- reports -----------------------------------------------------------------------------

    def report(
        self,
        X: Any,
        y: Any,
        *,
        adversaries: Any = None,
        groups: Any = None,
        scoring: Any = None,
        stacking: bool = True,
    ) -> Report:
        """Put what ``predict`` answers beside single participants and every rule that sees all votes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,) or (input, output)
            The truth. It may hold labels that nobody has learnt; all are wrong there.
        adversaries : int or mapping of str or int to an adversary, optional
            An experiment: how many lie (drawn by ``random_state``, always wrong), or which and how.
        groups : array-like, shape (input,), optional
            The owner of each input: ``Report.joining`` has each participant alone and together on its inputs.
        scoring : str, sequence of str, or mapping of str to scorer, optional
            Further scores, by scikit-learn's names.
        stacking : bool, default True
            Whether to add what could be learnt from the truth of these inputs.

        Returns
        -------
        Report
            A line for each way to answer, and a row for each participant.

        See Also
        --------
        folkmoot.learning.reports : Several experiments with one round of predictions.
        """
        from folkmoot.learning.reporting import reports  # which knows the estimators

        (found,) = reports(
            self, X, y, [adversaries], groups=groups, scoring=scoring, stacking=stacking
        )  # fmt: skip
        return found

    # ---- votes -------------------------------------------------------------------------------

    @property
    def accuracies_(self) -> Floats:
        """Each participant's holdout accuracy; nan where it has none."""
        self._check_fitted()
        return np.array([participant.accuracy for participant in self.participants_])

    def _first_votes(self, X: Any) -> FirstVotes:
        return self._votes_on(self._check_again(X))

    def _known(self, votes: FirstVotes, **more: Any) -> Known:
        """What the aggregation may know besides the table."""
        rule = self._aggregation()
        rows = None
        if isinstance(rule, OwnAggregation):
            rows = self.shown_ if self._shows else held_rows(self.participants_, self._labels)
            if self._shows and rows is None:
                raise ValueError(
                    f"{type(rule).__name__} needs rows that are shown: fit again with this aggregation"
                )
        return Known(rows=rows, inputs=votes.inputs, seed=self.seed_, **more)

    @property
    def _names(self) -> list[str]:
        return [participant.name for participant in self.participants_]

    # ---- improving ---------------------------------------------------------------------------

    def _rows_kept(self) -> list[Task]:
        self._check_fitted()
        tasks: list[Task] | None = getattr(self, "_own_rows", None)
        if tasks is None:
            how = (
                "fit(X, y, groups) with some rows for each"
                if self.prefit
                else "fit(X, y) again: rows are not kept in copies, pickles or files of a moot"
            )
            raise ValueError(f"improve needs labelled rows of each participant: {how}")
        return tasks

    def _pool(self, X: Any, tasks: Sequence[Task]) -> Any:
        check_pool(X, None)
        X = self._check_again(X)
        check_pool(X, tasks[0].X)
        return X

    def _adopt(self, done: Improved) -> Self:
        """Take the new models, and ask them again about the rows that are shown."""
        before, self.participants_ = self.participants_, done.participants
        try:
            if self.shown_ is not None:
                rows = self.shown_
                mine = np.flatnonzero(rows.owner != PUBLIC)  # of these a new model has seen the truth
                votes = self._votes_on(rows.inputs).table
                votes[rows.owner[mine], mine] = rows.votes[rows.owner[mine], mine]
                self.shown_ = replace(rows, votes=votes)
        except BaseException:
            self.participants_ = before
            raise
        self.improvement_ = done.improvement
        return self

    # ---- files ---------------------------------------------------------------------------------

    def export(self, folder: str | PathLike[str]) -> list[Path]:
        """Write what each participant's node needs, in a folder of its own directly below ``folder``.

        Each holds ``model.skops``; ``model.schema.toml`` with the names of its columns, if they have names;
        ``holdout.npz`` with what its model said to rows that it had not seen, if it kept any; and
        ``exported.toml`` with the names of these files and its labels, if it has labels.
        ``folkmoot node init FOLDER/NAME`` makes a node of it, which finds all of that. The
        protocol and the aggregation are not exported.

        Parameters
        ----------
        folder : str or path
            The parent of the new folders; it may be new, but its parent must exist.

        Returns
        -------
        list of Path
            The folder of each participant, in their order.

        Raises
        ------
        ValueError
            If a folder is there already, a participant sees only some columns and these have no names, a
            model cannot be written, or models give several numbers for an input.
        """
        self._check_fitted()
        columns = [str(each) for each in getattr(self, "feature_names_in_", ())]
        return write_folders(folder, self._exported(), columns)

    @abstractmethod
    def _exported(self) -> list[Exported]:
        """What goes into the folder of each participant."""

    def __getstate__(self) -> dict[str, Any]:
        """Rows stay where they are: pickles and files of the moot hold only those that were shown."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_own_rows", None)
        return state


def rule_of(aggregation: Aggregation | str) -> Aggregation:
    """The aggregation, or the one of this name."""
    return aggregation_called(aggregation) if isinstance(aggregation, str) else aggregation


def _check_fitted(participant: Participant) -> None:
    """ValueError if a model that should be fitted is not."""
    model = participant.model
    if not hasattr(model, "predict"):
        raise TypeError(
            f"the model of participant {participant.name!r} must have predict: got {type(model).__name__}; "
            "a plain function goes in FunctionModel(function)"
        )
    if hasattr(model, "fit") and hasattr(model, "__sklearn_tags__"):
        try:
            check_is_fitted(model)
        except (NotFittedError, TypeError):
            raise ValueError(
                f"prefit=True needs fitted models: {participant.name!r} ({type(model).__name__}) is not "
                "fitted; fit it first, or leave prefit out and give rows to fit(X, y)"
            ) from None
