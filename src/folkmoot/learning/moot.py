"""``Moot``: the common base of the estimators for labels and for numbers.

An estimator is composed of participants (``participants_``), the table of their first votes (``FirstVotes``),
a protocol and an aggregation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from folkmoot import checks
from folkmoot.aggregation import Known, Rows
from folkmoot.aggregation.interface import Aggregation, Kind, OwnAggregation
from folkmoot.aggregation.naming import aggregation_called
from folkmoot.arrays import Array, Floats, Ints, Progress
from folkmoot.comparing.report import Report
from folkmoot.learning.consensus_estimator import ConsensusEstimator, check_weights, has_names, rows_by_group
from folkmoot.learning.exporting import Exported, write_folders
from folkmoot.learning.first_votes import FirstVotes
from folkmoot.learning.improving import Improved, Pool
from folkmoot.learning.known_rows import (
    PUBLIC,
    both,
    check_review,
    chosen_rows,
    held_rows,
    rows_of_tasks,
    votes_with_own,
)
from folkmoot.learning.participants import (
    Participant,
    Task,
    check_holdout,
    cross_validated,
    fit_participant,
    held_out_rows,
    measured,
    some_rows,
    warn_about,
)
from folkmoot.learning.tables import check_inputs, group_column, refuse_name, rows_of
from folkmoot.outcome import Outcome
from folkmoot.simulation.council import Council


class Moot(TransformerMixin, ConsensusEstimator):
    """Base of the estimators. A subclass says what its participants answer: labels or numbers."""

    # Sample weights are taken in fit's keywords: shards make an integer weight differ from repeated rows,
    # which a ``sample_weight`` in the signature would promise. Metadata routing should know it all the same.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": None}

    protocol: Any
    aggregation: Aggregation | str | None
    holdout: float | None
    prefit: bool

    shown_: Rows | None
    improvement_: Any

    # ---- for subclasses -------------------------------------------------------------

    @property
    def _labels(self) -> Array | None:
        """The labels; None if participants answer with numbers."""
        return None

    @property
    def _n_classes(self) -> int | None:
        return None if self._labels is None else len(self._labels)

    @property
    @abstractmethod
    def _answer_kind(self) -> Kind:
        """What participants vote with."""

    @property
    @abstractmethod
    def _default_aggregation(self) -> Aggregation:
        """The aggregation where none is given."""

    @abstractmethod
    def _targets(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Rows and targets, checked."""

    def _finish_fit(self) -> None:
        """Checks after ``fit``."""

    @abstractmethod
    def _learn_answers(self, y: Array | None) -> None:
        """Set the possible answers: classes or outputs of models or rows."""

    @abstractmethod
    def _votes_on(self, X: Any) -> FirstVotes:
        """Everybody's first votes on checked inputs."""

    @abstractmethod
    def _own_votes(self) -> Callable[[Task, Participant, Ints], Array | None]:
        """A function that asks models about a participant's own rows that they were not fitted on."""

    @abstractmethod
    def _as_votes(self, y: Any) -> Array:
        """The truth in the form of votes; ValueError for a class that nobody has learnt."""

    @abstractmethod
    def _vote_parts(self) -> list[Any]:
        """Names of the parts of a vote, such as classes or outputs; empty if it has one."""

    def _published(self, truth: Array, draw: np.random.Generator) -> Array:  # noqa: ARG002
        """The published truth of shown rows."""
        return truth

    def _kept(self) -> float:
        """The probability that it is right."""
        return 1.0

    # ---- parameters --------------------------------------------------------------------------

    def _aggregation(self) -> Aggregation:
        if self.aggregation is None:
            return self._default_aggregation
        return aggregation_called(self.aggregation) if isinstance(self.aggregation, str) else self.aggregation

    def _check_parameters(self) -> None:
        """Complain about parameters that do not fit together."""
        rule, kind = self._aggregation(), self._answer_kind
        if not isinstance(rule, Aggregation):
            usual = type(self._default_aggregation).__name__
            raise TypeError(
                f"aggregation must be one of folkmoot.aggregation, such as {usual}(): got {rule!r}"
            )
        if kind not in rule.takes:
            other = "numbers" if rule.takes == ("numbers",) else rule.takes[0]
            way = "needs {voting=}"
            if other == "numbers":
                way = "is for a target of numbers (ConsensusRegressor)"
            elif kind == "numbers":
                way = "is for a target of classes (ConsensusClassifier)"
            raise checks.ArgumentError(
                "{aggregation}: {rule!s} takes {voting!s}, not {now!s}: it " + way,
                rule=type(rule).__name__,
                voting=other,
                now=kind,
            )
        if self._shows:
            check_review(vars(rule)["rows"], vars(rule).get("label_epsilon"))

    # ---- fitting -----------------------------------------------------------------------------

    def _require(self, y: Any) -> None:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "fit(X, y), or prefit=True for models that are fitted already"
            )

    def _check_fitted(self) -> None:
        """Prefit models need no ``fit``, unless rows should measure them."""
        if self.prefit and not hasattr(self, "participants_"):
            self.fit()
        check_is_fitted(self, "participants_")

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        groups: Any = None,
        *,
        reference: Any = None,
        progress: Progress | None = None,
        **fit_params: Any,
    ) -> Self:
        """Let every participant fit a clone of its model on its own rows.

        With ``prefit`` nothing is fitted. X and y are optional: by all rows, or those of its group, each
        participant measures its model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (row, feature), optional
            The rows; or shape (row,): a list, array or Series of texts or other objects, unchanged for the
            models.
        y : array-like, shape (row,), optional
            Their labels; of a regressor numbers, shape (row,) or (row, output).
        groups : array-like, shape (row,), optional
            The participant of each row. Default: rows are dealt into disjoint shards, stratified by y.
        reference : (X, y), optional
            With peer review: public rows with labels or numbers that all trust.
        progress : callable, optional
            Called with (done, all) whenever a participant is fitted.
        **fit_params : dict
            ``sample_weight``, one number per row, reaches the models that take it. There is no other.

        Returns
        -------
        ConsensusClassifier or ConsensusRegressor
            The estimator, fitted.

        Raises
        ------
        ValueError
            If arguments do not fit together, such as fewer than two participants or classes, or an own
            aggregation of prefit models without rows.

        Warns
        -----
        ParticipantWarning
            About single participants, such as one whose rows are all of one class.
        ProtocolWarning
            If ``protocol`` asks more peers than there are.
        """
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
        self._finish_fit()
        return self

    def _join(self, X: Any, y: Any, groups: Any, draw: np.random.Generator) -> None:
        """Take prefit models; rows only measure them."""
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
        warn_about([p.name for p in self.participants_ if p.fault], "cannot predict the rows given to fit")
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
        truth_shown = self._published(self._as_votes(y[at]), draw)
        self.shown_ = Rows(
            self._votes_on(rows_of(X, at)).table, truth_shown, owner, rows_of(X, at), self._kept()
        )

    @property
    def _shows(self) -> bool:
        """Whether rows are shown."""
        return hasattr(self._aggregation(), "rows")

    @property
    def _needs_rows(self) -> bool:
        """Whether the aggregation learns from rows with known truth."""
        rule = self._aggregation()
        return isinstance(rule, OwnAggregation) and rule.learns

    def _show(self, X: Any, y: Array, tasks: Sequence[Task], draw: np.random.Generator) -> None:
        """Let all participants show some rows, and all vote on them."""
        shown = chosen_rows(tasks, vars(self._aggregation())["rows"], draw)
        inputs, truth, owner = rows_of_tasks(X, y, tasks, shown)
        if not len(truth):
            return
        arguments = list(zip(tasks, self.participants_, shown, strict=True))
        own = self._everybody(self._own_votes(), arguments, None)
        truth_shown = self._published(self._as_votes(truth), draw)
        votes = votes_with_own(self._votes_on(inputs).table, owner, own)
        self.shown_ = Rows(votes, truth_shown, owner, inputs, self._kept())

    def _refer(self, reference: Any) -> None:
        """Add public rows, whose labels all trust."""
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
        """Compare ``predict`` with single participants and with central aggregation of all votes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,) or (input, output)
            The truth. For labels that nobody has learnt, all answers are wrong.
        adversaries : int or mapping of str or int to an adversary, optional
            An experiment: how many lie (drawn by ``random_state``, always wrong), or which and how.
        groups : array-like, shape (input,), optional
            The participant of each input, for ``Report.joining``: each alone and together on its inputs.
        scoring : str, sequence of str, or mapping of str to scorer, optional
            Further scores, by scikit-learn's names.
        stacking : bool, default True
            Whether to add a model stacked on the truth of these inputs.

        Returns
        -------
        Report
            A line for each way to answer, and a row for each participant.
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

    def votes(self, X: Any) -> Array:
        """Ask every participant for its first votes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray, shape (participant, input) or (participant, input, class or output)
            Of a classifier the places of labels in ``classes_``, -1 for no answer, or with
            ``voting="probabilities"`` class probabilities. Of a regressor numbers. NaN for no answer.

        Warns
        -----
        ParticipantWarning
            If a participant's model fails, which then has no votes.
        """
        self._check_fitted()
        return self._first_votes(X).table

    def transform(self, X: Any) -> Array:
        """Make the votes columns, as features for another model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray or data frame, shape (input, participant), or (input, participant x class or output)
            The votes; after ``set_output`` a data frame whose columns are named after the participants.
        """
        table = self.votes(X)
        return table.T if table.ndim == 2 else table.transpose(1, 0, 2).reshape(table.shape[1], -1)

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002
        """Name the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Not used; scikit-learn passes it.

        Returns
        -------
        ndarray of str
            The participants' names; with several columns each, followed by class or output.
        """
        self._check_fitted()
        parts = self._vote_parts()
        names = [f"{name}_{part}" for name in self._names for part in parts] if parts else self._names
        return np.array(names, dtype=object)

    def _first_votes(self, X: Any) -> FirstVotes:
        return self._votes_on(self._check_again(X))

    def _known(self, votes: FirstVotes, **more: Any) -> Known:
        """Knowledge of the aggregation besides the table."""
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

    # ---- deliberation ------------------------------------------------------------------------

    def deliberate(
        self, X: Any, y: Any = None, *, adversaries: Any = None, repeats: int = 1, record: bool = True
    ) -> Outcome:
        """Deliberate on inputs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,), optional
            The truth, for adversaries that must know it.
        adversaries : int or mapping of str or int to Adversary or NumberAdversary, optional
            An experiment: how many lie (drawn by ``random_state``; classes always wrong, numbers far away),
            or which and how.
        repeats : int, default 1
            How often to run a protocol that draws, each time with other randomness.
        record : bool, default True
            Whether to keep every query of such a protocol, for ``plot_convergence``, ``turns`` and ``why``.

        Returns
        -------
        Outcome
            First votes, final votes of each, and the decision; classes are places in ``classes_``.
        """
        self._check_fitted()
        self._check_parameters()
        votes = self._first_votes(X)
        truth = None if y is None else self._as_votes(y)
        return self._deliberated(votes, truth, self._malicious(adversaries), repeats, record)

    def _deliberated(
        self,
        votes: FirstVotes,
        truth: Array | None,
        malicious: dict[int, Any],
        repeats: int = 1,
        record: bool = True,  # noqa: ARG002 - of protocols with rounds
    ) -> Outcome:
        outcome = Council().run(
            votes.table,
            aggregation=self._aggregation(),
            known=self._known(votes),
            adversaries=malicious,
            truth=truth,
            classes=self._n_classes,
            seed=self.seed_,
            missing="present",
            repeats=repeats,
        )
        return replace(outcome, labels=self._labels, names=tuple(self._names), faults=votes.faults)

    # ---- improving ---------------------------------------------------------------------------

    def _pool(self, X: Any, safe: bool, progress: Progress | None) -> Pool:
        """The pool to improve by; ValueError without own rows, or for one that is empty."""
        self._check_fitted()
        tasks: list[Task] | None = getattr(self, "_own_rows", None)
        if tasks is None:
            how = (
                "fit(X, y, groups) with some rows for each"
                if self.prefit
                else "fit(X, y) again: rows are not kept in copies, pickles or files of a moot"
            )
            raise ValueError(f"improve needs labelled rows of each participant: {how}")
        if hasattr(X, "__len__") and not hasattr(X, "nnz") and len(X) == 0:
            raise ValueError("X_unlabelled must hold at least one input to agree on: got none")
        X = self._check_again(X)
        return Pool(X, self.participants_, tasks, self._everybody, self.prefit, safe, progress)

    def _adopt(self, done: Improved) -> Self:
        """Take the new models, and ask them again about shown rows."""
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

        Each holds ``model.skops`` and ``exported.toml``, with the names of its files and its labels.
        ``model.schema.toml`` has the names of its columns, if they have names. ``holdout.npz`` has what its
        model said to rows that it had not seen, if it kept any.
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
            If a folder is there already, or a participant sees only some columns and these have no names.
            Or if a model cannot be written, or models give several numbers for an input.
        """
        self._check_fitted()
        columns = [str(each) for each in getattr(self, "feature_names_in_", ())]
        return write_folders(folder, self._exported(), columns)

    @abstractmethod
    def _exported(self) -> list[Exported]:
        """The contents of each participant's folder."""

    def __getstate__(self) -> dict[str, Any]:
        """Rows are left out: pickles and files of a moot hold only shown ones."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_own_rows", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


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
