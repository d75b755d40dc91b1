"""``ConsensusRegressor``: private models that predict numbers, and one number that they agree on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from folkmoot.adversaries import FarAway
from folkmoot.adversaries.interface import NumberAdversary
from folkmoot.aggregation import TrimmedMean
from folkmoot.aggregation.interface import Aggregation, Answers, Kind
from folkmoot.arrays import Array, Floats, Ints, Progress
from folkmoot.explanation.explanation import Explanation
from folkmoot.explanation.making import explain
from folkmoot.learning.exporting import Exported, of_numbers
from folkmoot.learning.first_votes import FirstVotes, numbers_cast
from folkmoot.learning.improving import agreed_numbers, improve_numbers
from folkmoot.learning.known_rows import own_answers
from folkmoot.learning.moot import Moot
from folkmoot.learning.own_site import numbers_of_sites
from folkmoot.learning.participants import (
    Participant,
    Task,
)
from folkmoot.learning.tables import check_inputs


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
    _adversary = NumberAdversary
    _usual_adversary = FarAway

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

    @property
    def _answer_kind(self) -> Kind:
        return "numbers"

    @property
    def _default_aggregation(self) -> Aggregation:
        return TrimmedMean()

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
            return numbers_of_sites(votes, self._names, groups, self._aggregation(), self._known(votes))
        answers: Answers = self._aggregation().aggregate(votes.table, self._known(votes))
        return np.asarray(answers.decision)

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
            If there are no rows of the participants (prefit models, or a moot read from a file). Or the pool
            is empty or has other columns.
        """
        pool = self._pool(X_unlabelled, safe, progress)
        votes = self._votes_on(pool.X)
        numbers = agreed_numbers(votes.table, self._aggregation(), self._known(votes))
        shown = 0 if self.shown_ is None else int((self.shown_.owner >= 0).sum()) // len(pool.tasks)
        done = improve_numbers(pool, numbers, votes.faults, shown)
        return self._adopt(done)

    def _exported(self) -> list[Exported]:
        if self.n_outputs_ > 1:
            raise ValueError(
                f"nodes agree on one number per input: these models give {self.n_outputs_}; fit a "
                "moot for each"
            )
        return [of_numbers(each) for each in self.participants_]
