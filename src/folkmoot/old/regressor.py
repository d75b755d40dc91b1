"""``ConsensusRegressor``: private models that predict numbers, and one number that they agree on."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from folkmoot import checks
from folkmoot.adversaries import FarAway, NumberAdversary, numbers_handed_in
from folkmoot.aggregation import LARGEST, RULES, Rule, Trimming
from folkmoot.arrays import Array, Floats, Ints, Progress
from folkmoot.learning.consensus_estimator import ProtocolWarning, check_weights
from folkmoot.learning.participants import check_holdout, cross_validated, fit_regressor, some_rows, tell
from folkmoot.learning.tables import check_inputs
from folkmoot.old.exporting import ExportingRegressor
from folkmoot.old.improving_numbers import ImprovingRegressor
from folkmoot.simulation import Agreement, agree

if TYPE_CHECKING:
    from folkmoot.comparison import NumberReport

_NOBODY: Ints = np.empty(0, dtype=np.int64)


class ConsensusRegressor(ExportingRegressor, TransformerMixin, RegressorMixin, ImprovingRegressor):
    """Participants that each fit their own model on their own rows, then draw nearer until they agree.

    ``rule``, ``k``, ``rounds``, ``trim``, ``tolerance`` and ``adversaries`` concern only the talk: they can
    be set anew after ``fit``; ``weights`` can be taken away then.

    Parameters
    ----------
    estimators : list of models, or list of (str, model)
        One model per participant, with or without its name; with ``groups`` a list of one model serves every
        group.
    rule : {"trimmed-mean", "median", "geometric-median", "krum", "mean"}, default "trimmed-mean"
        What a participant makes of its own number and the answers (docs/regression.md compares them).
    k : int, optional
        The number of peers asked in a round. Default: all others, which is what the guarantees are for.
    rounds : int, default 50
        The most rounds to talk.
    trim : int, optional
        The number of liars among the numbers heard that the rule stands against; for "trimmed-mean" and
        "krum" only. Default: the most that is always safe, a third of them.
    tolerance : float, optional
        An input is settled when the honest numbers are within this. Default: a thousandth of how far apart
        they were at first.
    weights : {"holdout", "peer-review"} or None, default None
        With "holdout" each participant shows its held-out rows, without their numbers, to all others, and
        opens the talk with a mean of all numbers in which those count for more who were near to its own
        there. With "peer-review" it shows their numbers, too, and everybody learns from all rows how to read
        its peers' numbers (docs/regression.md). With None everybody opens with its own number, and shows
        nothing. For "trimmed-mean" only.
    holdout : float or None, default None
        The share of its rows by which each participant learns how far it is off; the model that predicts is
        fitted on all of them. With weights and no holdout (None or 0) these are all its rows, answered by
        five-fold cross-validation.
    prefit : bool, default False
        Whether the models are fitted already, of any family; ``fit`` then needs no rows, but with
        ``weights``. Those are everybody's, or by ``groups`` each one's own.
    columns : list or mapping, optional
        What each participant sees of an input, as for ``ConsensusClassifier``.
    adversaries : int or mapping of str or int to NumberAdversary, optional
        Byzantine participants: how many (drawn by ``random_state``, ``FarAway``), or which, by name or
        number.
    n_jobs : int, optional
        Processes for fitting and predicting, through joblib (and so Ray, with its backend). Default: 1.
    random_state : int, RandomState or None, default None
        Seeds the shards, models without a seed of their own, and the talk.

    Attributes
    ----------
    participants_ : list of Participant
        Who takes part, with name and model.
    estimators_ : list of models
        The fitted models, one per participant.
    named_estimators_ : dict of str to model
        The same by the participants' names.
    n_outputs_ : int
        How many numbers are predicted for an input.
    checked_ : Checked
        With ``weights``: the mean squared error of each on the rows that each has shown, and how many.

    Examples
    --------
    >>> from folkmoot import ConsensusRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> moot = ConsensusRegressor([Ridge(0.1)] * 10, random_state=0).fit(X[:300], y[:300])
    >>> moot.predict(X[300:303]).round()
    array([180., 148., 178.])
    >>> moot.set_params(adversaries=3).predict(X[300:303]).round()  # three of the ten answer absurd numbers
    array([189., 149., 184.])
    >>> moot.set_params(rule="mean").predict(X[300:303]).round()  # which an ordinary mean follows
    array([300187., 300147., 300182.])
    """

    # See ConsensusClassifier.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": None}

    def __init__(
        self,
        estimators: Any,
        *,
        rule: Literal["trimmed-mean", "median", "geometric-median", "krum", "mean"] = "trimmed-mean",
        k: int | None = None,
        rounds: int = 50,
        trim: int | None = None,
        tolerance: float | None = None,
        weights: Literal["holdout", "peer-review"] | None = None,
        holdout: float | None = None,
        prefit: bool = False,
        columns: Any = None,
        adversaries: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.rule = rule
        self.k = k
        self.rounds = rounds
        self.trim = trim
        self.tolerance = tolerance
        self.weights = weights
        self.holdout = holdout
        self.prefit = prefit
        self.columns = columns
        self.adversaries = adversaries
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- fitting -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        groups: Any = None,
        *,
        progress: Progress | None = None,
        **fit_params: Any,
    ) -> Self:
        """Let every participant fit a clone of its model on its own rows.

        With ``prefit`` nothing is fitted, and X and y are optional: they only say how many features and
        outputs there are.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (row, feature), optional
            The rows; or shape (row,): a list, array or Series of texts, or of other things that the models
            take, which goes to them as it comes.
        y : array-like of float, shape (row,) or (row, output), optional
            Their numbers.
        groups : array-like, shape (row,), optional
            Whose each row is. Default: rows are sorted by y and dealt out in turn.
        progress : callable, optional
            Called with (done, all) whenever a participant is fitted.
        **fit_params : dict
            ``sample_weight``, one number per row, reaches the models that take it. There is no other.

        Returns
        -------
        ConsensusRegressor
            Itself, fitted.

        Raises
        ------
        ValueError
            If what is given does not fit together, such as fewer than two participants, or ``trim`` for a
            rule that has none.

        Warns
        -----
        ParticipantWarning
            About single participants, such as one whose model takes no sample weights.
        ProtocolWarning
            If there are too few participants to ask k others.
        """
        weights = self._weights(fit_params)
        self._rule()
        if self.k is not None:
            checks.integer("k", self.k, least=1)
        draw = self._start()
        self.n_outputs_ = 1
        self.__dict__.pop("checked_", None)
        self._own_rows = None
        share = check_holdout(self.holdout)
        if self.prefit:
            self.participants_ = self._prefit()
            if y is not None:
                self.n_outputs_ = np.asarray(y).reshape(len(y), -1).shape[1]
            if X is not None:
                self._check_again(check_inputs(self, X, reset=True))
            if self.weights is not None and (X is None or y is None):
                raise ValueError(
                    f"weights={self.weights!r} needs rows that the models were not fitted on: fit(X, y)"
                )
            if X is not None and y is not None and (self.weights is not None or groups is not None):
                self._keep_prefit(*self._check_rows(X, y), groups)
        else:
            X, y = self._check_rows(X, y)
            self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
            hold_out = partial(some_rows, share=share, rng=draw) if share else lambda own: _NOBODY  # noqa: ARG005
            tasks = self._tasks(X, y, groups, check_weights(weights, len(y)), draw, hold_out)
            if self.weights is not None and not share:
                tasks = cross_validated(tasks, draw)
            self.participants_ = self._fit_all(fit_regressor, tasks, progress)
            self._own_rows = tasks
            if self.weights is not None:
                self._check_each_other(self._shown_by(tasks))
        self._liars(self.adversaries, NumberAdversary, FarAway)  # complains about strangers
        n = len(self.participants_)
        if self.k is not None and self.k > n - 1:
            warnings.warn(
                f"{n} participants are too few to ask k={self.k} others: all ask all others",
                ProtocolWarning,
                stacklevel=2,
            )
        return self

    def _trimmed(self, n: int) -> int:
        rule = self._rule()
        return rule.trimmed(n) if isinstance(rule, Trimming) else 0

    def _rule(self) -> Rule:
        self._check_weights()
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}: got {self.rule!r}")
        kind = RULES[self.rule]
        if issubclass(kind, Trimming):
            return kind(self.trim)
        if self.trim is not None:
            raise ValueError(f"trim must be None for {self.rule!r}, which has none: got {self.trim!r}")
        return kind()

    # ---- numbers and talk --------------------------------------------------------------------

    def _numbers(self, X: Any) -> tuple[Floats, list[int], dict[int, str], bool]:
        """First numbers (participant, input, output), of whom, who failed and why, and if they are 1-D."""
        X = self._check_again(X)
        answers = self._ask(X)
        faults: dict[int, str] = {}
        shapes = [a.shape[1:] for a in answers if not isinstance(a, str)]
        usual = max(set(shapes), key=shapes.count)  # of models that came fitted nobody has said
        if not self.prefit:
            usual = () if self.n_outputs_ == 1 else (self.n_outputs_,)
        for i, answer in enumerate(answers):
            if isinstance(answer, str):
                faults[i] = answer
            elif answer.shape[1:] != usual:
                faults[i] = f"predict returned the shape {answer.shape}"
            elif answer.dtype.kind not in "biuf" or not (np.abs(answer) <= LARGEST).all():
                faults[i] = "predict returned something that is not a finite number"
        tell(
            [f"{self.participants_[i].name} ({fault})" for i, fault in faults.items()],
            "predict failed; faulty, so the others go on without",
        )
        there = [i for i in range(len(answers)) if i not in faults]
        if not there:
            name = self.participants_[0].name
            raise ValueError(f"no participant can answer; the first, {name!r}, says {faults[0]}")
        stacked = np.stack([np.asarray(answers[i], dtype=np.float64) for i in there])
        return stacked.reshape(*stacked.shape[:2], -1), there, faults, not usual

    def _byzantine(self, there: list[int], adversaries: Any = None) -> dict[int, NumberAdversary]:
        """The adversaries among those who answer, by their place there."""
        given = self.adversaries if adversaries is None else adversaries
        adversaries = self._liars(given, NumberAdversary, FarAway)
        return {there.index(i): liar for i, liar in adversaries.items() if i in there}

    def _talk(
        self,
        values: Floats,
        there: list[int],
        adversaries: dict[int, NumberAdversary],
        *,
        flat: bool = False,
        record: bool = False,
    ) -> Agreement:
        """The agreement on ``values`` of those who are there, (participant, input, output)."""
        n = len(values)
        rule = self._rule()
        if self.weights is not None and isinstance(rule, Trimming):
            values = self._opened(values, there, adversaries, rule.trimmed(n))
        k = None if self.k is None or checks.integer("k", self.k, least=1) >= n - 1 else self.k
        return agree(
            values[:, :, 0] if flat else values,
            rule,
            adversaries=adversaries,
            k=k,
            rounds=self.rounds,
            tolerance=self.tolerance,
            seed=self.seed_,
            record=record,
        )

    def deliberate(self, X: Any, *, record: bool = False) -> Agreement:
        """Let the participants that can answer draw nearer on every row of X.

        A participant that fails on one row of X is left out of all of them. Otherwise the outcome of a row
        depends on the numbers for it and on ``random_state`` alone.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        record : bool, default False
            Whether to keep the history for ``Agreement.plot``.

        Returns
        -------
        Agreement
            What the participants hold at the end. Its rows are the participants that could answer, in their
            order.

        Warns
        -----
        ParticipantWarning
            If a participant's model fails; the others go on without it.
        """
        values, there, _, flat = self._numbers(X)
        return self._talk(values, there, self._byzantine(there), flat=flat, record=record)

    def predict(self, X: Any) -> Floats:
        """Answer each row with the number that the moot agrees on.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray of float, shape (input,) or (input, output)
            The median of what the honest participants hold at the end.
        """
        return self.deliberate(X).decision

    def transform(self, X: Any) -> Floats:
        """Make the participants' first numbers columns, as features for another model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray of float or data frame, shape (input, participant x output)
            The numbers, nan for a faulty participant; after ``set_output`` a data frame with names.
        """
        values, there, _, _ = self._numbers(X)
        columns = np.full((values.shape[1], len(self.participants_), values.shape[2]), np.nan)
        columns[:, there] = values.transpose(1, 0, 2)
        return columns.reshape(len(columns), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002
        """Name the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Not used; scikit-learn passes it.

        Returns
        -------
        ndarray of str, shape (participant x output,)
            The participants' names, numbered by output where there are several.
        """
        check_is_fitted(self, "participants_")
        names = [participant.name for participant in self.participants_]
        if self.n_outputs_ > 1:
            names = [f"{name}_{output}" for name in names for output in range(self.n_outputs_)]
        return np.array(names, dtype=object)

    def report(self, X: Any, y: Any, *, groups: Any = None, stacking: bool = True) -> NumberReport:
        """Put the consensus beside single participants and rules of a centre, by root mean squared error.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like of float, shape (input,) or (input, output)
            Their right numbers.
        groups : array-like, shape (input,), optional
            Whose each input is: ``NumberReport.joining`` has each of them alone and together.
        stacking : bool, default True
            Whether to add stacking, which learns from labels at a server, five-fold on these very rows.

        Returns
        -------
        NumberReport
            A line for each way to answer, and what the talk cost.

        Raises
        ------
        ValueError
            If ``y`` has another shape than what is predicted.
        """
        from folkmoot.comparison import compare_numbers

        values, there, faults, _ = self._numbers(X)
        truth = np.asarray(y, dtype=np.float64).reshape(len(np.asarray(y)), -1)
        if truth.shape != values.shape[1:]:
            raise ValueError(
                f"y must have the shape of the predictions, {values.shape[1:]}: got {truth.shape}"
            )
        adversaries = self._byzantine(there)
        return compare_numbers(
            self._talk(values, there, adversaries),
            values,
            numbers_handed_in(values, adversaries),
            truth,
            rule=self.rule,
            faulty={self.participants_[i].name: fault for i, fault in faults.items()},
            byzantine=[self.participants_[there[i]].name for i in sorted(adversaries)],
            stacking=stacking,
            seed=self.seed_,
            names=[self.participants_[i].name for i in there],
            people=[self.participants_[i] for i in there],
            groups=groups,
        )

    # ---- scikit-learn's tags -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        self._inherit_tags(tags)
        return tags
