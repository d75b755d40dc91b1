"""``ConsensusRegressor``: private models that predict numbers, and one number that they agree on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from folkmoot import checks
from folkmoot.adversaries import FarAway
from folkmoot.adversaries.interface import NumberAdversary
from folkmoot.aggregation import TrimmedMean
from folkmoot.aggregation.interface import Aggregation, Answers, OwnAggregation
from folkmoot.arrays import Array, Floats, Ints, Progress
from folkmoot.explanation.explanation import Explanation
from folkmoot.explanation.making import explain
from folkmoot.learning.exporting import Exported, of_numbers
from folkmoot.learning.first_votes import FirstVotes, numbers_cast
from folkmoot.learning.improving import agreed_numbers, improve_numbers
from folkmoot.learning.moot import Moot, rule_of
from folkmoot.learning.participants import (
    Participant,
    Task,
)
from folkmoot.learning.tables import check_inputs
from folkmoot.learning.validation_rows import own_answers
from folkmoot.outcome import Outcome
from folkmoot.simulation.council import Council

_FOLDS = 5
_NOBODY: Ints = np.empty(0, dtype=np.int64)


class ConsensusRegressor(RegressorMixin, Moot):
    """Participants with one model each that agree on one number per input.

    ``aggregation`` turns the table of first numbers into answers.

    Parameters
    ----------
    estimators : list of models, or list of (str, model)
        One model per participant, with or without its name; with ``groups`` a list of one model serves every
        group.
    aggregation : Aggregation or str, optional
        How one number is made of all: ``"auto"``, ``TrimmedMean(liars=2)``, ``Median()``,
        ``GeometricMedian()``, ``Krum()``, ``Mean()``, ``PeerReview()`` or
        ``HoldoutTrust()``. Default: ``TrimmedMean()``.
    prefit : bool, default False
        Whether the models are fitted already, of any family.
    holdout : float or None, default None
        The share of its rows on which each participant measures its error. The final model is fitted on all
        rows.
    columns : list or mapping, optional
        The columns that each participant uses, as for ``ConsensusClassifier``.
    n_jobs : int, optional
        Processes for fitting and predicting, through joblib. Default: 1.
    random_state : int, RandomState or None, default None
        Seeds the shards, and models without a seed of their own.

    Attributes
    ----------
    participants_ : list of Participant
        The participants, each with name and model.
    estimators_ : list of models
        The fitted models, one per participant.
    named_estimators_ : dict of str to model
        The same by the participants' names.
    n_outputs_ : int
        Numbers predicted per input.
    shown_ : Rows or None
        With peer review: everybody's numbers on the rows that were shown, with targets and owners.

    Notes
    -----
    Parameters in groups:

    * who takes part: ``estimators``, ``prefit``, ``columns``, ``holdout``;
    * how numbers count: ``aggregation``;
    * running: ``n_jobs``, ``random_state``.

    Examples
    --------
    >>> from folkmoot.aggregation import Mean
    >>> from folkmoot import ConsensusRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> moot = ConsensusRegressor([Ridge(0.1)] * 10, random_state=0).fit(X[:300], y[:300])
    >>> moot.predict(X[300:303]).round()
    array([180., 148., 178.])
    """

    _numbers = True

    # See ConsensusClassifier.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": None}

    n_outputs_: int

    def __init__(
        self,
        estimators: Any,
        *,
        aggregation: Aggregation | str | None = None,
        prefit: bool = False,
        holdout: float | None = None,
        columns: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.aggregation = aggregation
        self.prefit = prefit
        self.holdout = holdout
        self.columns = columns
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        return TrimmedMean() if self.aggregation is None else rule_of(self.aggregation)

    def _check_parameters(self) -> None:
        rule = self._aggregation()
        if not isinstance(rule, Aggregation):
            raise TypeError(
                f"aggregation must be one of folkmoot.aggregation, such as TrimmedMean(): got {rule!r}"
            )
        if "numbers" not in rule.takes:
            raise checks.ArgumentError(
                "{aggregation}: {rule!s} takes {voting!s}, not numbers: it is for a target of classes "
                "(ConsensusClassifier)",
                rule=type(rule).__name__,
                voting=rule.takes[0],
            )

    def _targets(self, X: Any, y: Any) -> tuple[Any, Array]:
        self._require(y)
        X = check_inputs(self, X, reset=True)
        values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
        if values.ndim == 2 and values.shape[1] == 1:
            values = column_or_1d(values, warn=True)
        check_consistent_length(X, values)
        return X, values

    def _learn_answers(self, y: Array | None) -> None:
        self.n_outputs_ = 1 if y is None or y.ndim == 1 else y.shape[1]

    def _votes_on(self, X: Any) -> FirstVotes:
        outputs = None if self.prefit and self.n_outputs_ == 1 else self.n_outputs_
        return numbers_cast(self._ask(X), outputs, self._names, X)

    def _own_votes(self) -> Callable[[Task, Participant, Ints], Array | None]:
        return own_answers

    def _as_votes(self, y: Any) -> Array:
        return np.asarray(y, dtype=np.float64)

    def _vote_parts(self) -> list[Any]:
        return list(range(self.n_outputs_)) if self.n_outputs_ > 1 else []

    # ---- answers -----------------------------------------------------------------------------

    def predict(self, X: Any, groups: Any = None) -> Floats:
        """Answer each row with the number that the moot agrees on.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        groups : array-like, shape (input,), optional
            With an own aggregation: whose each input is, by the names of participants. Each input then has
            the final number of its own participant.

        Returns
        -------
        ndarray of float, shape (input,) or (input, output)
            The numbers.

        Warns
        -----
        ParticipantWarning
            If a participant's model fails; the others go on without it.
        """
        self._check_fitted()
        self._check_parameters()
        votes = self._first_votes(X)
        if groups is not None:
            return self._of_sites(votes, groups)
        answers: Answers = self._aggregation().aggregate(votes.table, self._known(votes))
        return np.asarray(answers.decision)

    def deliberate(self, X: Any, *, adversaries: Any = None) -> Outcome:
        """Deliberate on inputs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        adversaries : int or mapping of str or int to NumberAdversary, optional
            An experiment: how many lie (drawn by ``random_state``, ``FarAway``), or which and how.

        Returns
        -------
        Outcome
            First numbers, final numbers of each, and the decision.
        """
        self._check_fitted()
        self._check_parameters()
        votes = self._first_votes(X)
        outcome = Council().run(
            votes.table,
            aggregation=self._aggregation(),
            known=self._known(votes),
            adversaries=self._malicious(adversaries, NumberAdversary, FarAway),
            seed=self.seed_,
        )
        return replace(outcome, names=tuple(self._names), faults=votes.faults)

    def why(self, X: Any, i: int = 0) -> Explanation:
        """Explain the answer to one row: first numbers, their weights, and the answer.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        i : int, default 0
            The row of X that is explained.

        Returns
        -------
        Explanation
            ``print`` it, or show it in a notebook.
        """
        return explain(self.deliberate(X), i)

    def _of_sites(self, votes: FirstVotes, groups: Any) -> Floats:
        from folkmoot.learning.own_site import places_of

        rule = self._aggregation()
        if not isinstance(rule, OwnAggregation):
            raise ValueError(
                f"groups needs an own aggregation, such as PeerReview(): {type(rule).__name__} gives all the "
                "same number"
            )
        whose = places_of(groups, self._names, votes.table.shape[1])
        final = rule.final_votes(votes.table, replace(self._known(votes), judges=np.unique(whose)))
        return np.asarray(final.votes[whose, np.arange(len(whose))])

    # ---- improving ---------------------------------------------------------------------------

    def improve(self, X_unlabelled: Any, safe: bool = False, *, progress: Progress | None = None) -> Self:
        """Agree on numbers for a pool of inputs, and refit every model on its own rows and these.

        The participants agree as in ``predict``, by the same aggregation. Then each fits a fresh clone of its
        model to its own rows and these numbers. ``participants_`` have the new models, ``improvement_`` the
        old ones and what changed. If anything fails, the estimator stays as it was.

        Parameters
        ----------
        X_unlabelled : array-like, sparse matrix or data frame, shape (input, feature)
            The pool: inputs of the kind that was fitted on.
        safe : bool, default False
            Whether a participant keeps its old model unless its own rows support the new one. This must be
            nearer to them than their mean, and a sign test must not find it further off than the old one.
        progress : callable, optional
            Called with (done, all) whenever a participant has fitted its new model.

        Returns
        -------
        ConsensusRegressor
            The estimator, with new models.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            If there are no rows of the participants (prefit models, or a moot read from a file), or the pool
            is empty or has other columns.
        """
        tasks = self._rows_kept()
        X = self._pool(X_unlabelled, tasks)
        votes = self._votes_on(X)
        done = improve_numbers(
            self.participants_,
            tasks,
            X,
            agreed_numbers(votes.table, self._aggregation(), self._known(votes)),
            votes.faults,
            self._everybody,
            safe=safe,
            prefit=self.prefit,
            shown=0 if self.shown_ is None else int((self.shown_.owner >= 0).sum()) // len(tasks),
            progress=progress,
        )
        return self._adopt(done)

    def _exported(self) -> list[Exported]:
        if self.n_outputs_ > 1:
            raise ValueError(
                f"nodes agree on one number per input: these models give {self.n_outputs_}; fit a "
                "moot for each"
            )
        return [of_numbers(each) for each in self.participants_]

    # ---- scikit-learn's tags -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        self._inherit_tags(tags)
        return tags
