"""``ConsensusRegressor``: private models that predict numbers, and one number that they agree on."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from folkmoot import checks
from folkmoot.adversaries import FarAway, NumberAdversary, numbers_handed_in
from folkmoot.aggregation import LARGEST, RULES, Rule, Trimming
from folkmoot.arrays import Array, Floats, Ints, Progress
from folkmoot.learning.consensus_estimator import ConsensusEstimator, ProtocolWarning, check_weights
from folkmoot.learning.participants import fit_regressor, tell
from folkmoot.learning.tables import check_inputs
from folkmoot.simulation import Agreement, agree

if TYPE_CHECKING:
    from folkmoot.comparison import NumberReport

_NOBODY: Ints = np.empty(0, dtype=np.int64)


class ConsensusRegressor(TransformerMixin, RegressorMixin, ConsensusEstimator):
    """Participants that each fit their own model on their own rows, then draw nearer until they agree.

    Parameters
    ----------
    estimators : list of models, or of (name, model) pairs
        One per participant; with ``groups`` a list of one model serves every group.
    rule : "trimmed-mean", "median", "geometric-median", "krum" or "mean"
        What a participant makes of its own number and the answers (docs/regression.md compares them).
    k : peers asked in a round; None is all others, which is what the guarantees are for.
    rounds : at the most.
    trim : the number of liars among the numbers heard that the rule stands against; None is the most that
        is always safe, a third of them. For "trimmed-mean" and "krum" only.
    tolerance : an input is settled when the honest numbers are within this; None is a thousandth of how
        far apart they were at first.
    prefit : the models are fitted already, of any family; ``fit`` then needs no rows.
    columns : what each participant sees of an input, as for ``ConsensusClassifier``.
    adversaries : Byzantine participants: how many (drawn by ``random_state``, far away), or a mapping from
        name or number to ``NumberAdversary``.
    n_jobs, random_state : as for ``ConsensusClassifier``.

    Attributes
    ----------
    participants_ : list of ``Participant``, with name and model.
    n_outputs_ : numbers predicted for an input.

    What concerns only the talk (``rule``, ``k``, ``rounds``, ``trim``, ``tolerance``, ``adversaries``) can be
    set anew after ``fit``.
    """

    # See ConsensusClassifier.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": None}

    def __init__(
        self,
        estimators: Any,
        *,
        rule: str = "trimmed-mean",
        k: int | None = None,
        rounds: int = 50,
        trim: int | None = None,
        tolerance: float | None = None,
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

        ``groups`` says whose each row is; without it the rows are sorted by y and dealt out in turn.
        ``sample_weight`` reaches the models that take it. With ``prefit`` nothing is fitted.
        """
        weights = self._weights(fit_params)
        self._rule()
        if self.k is not None:
            checks.integer("k", self.k, least=1)
        draw = self._start()
        self.n_outputs_ = 1
        if self.prefit:
            self.participants_ = self._prefit()
            if y is not None:
                self.n_outputs_ = np.asarray(y).reshape(len(y), -1).shape[1]
            if X is not None:
                self._check_again(check_inputs(self, X, reset=True))
        else:
            X, y = self._check_rows(X, y)
            self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
            tasks = self._tasks(X, y, groups, check_weights(weights, len(y)), draw, lambda own: _NOBODY)  # noqa: ARG005
            self.participants_ = self._fit_all(fit_regressor, tasks, progress)
        self._liars(self.adversaries, NumberAdversary, FarAway)  # complains about strangers
        n = len(self.participants_)
        if self.k is not None and self.k > n - 1:
            warnings.warn(
                f"{n} participants are too few to ask k={self.k} others: all ask all others",
                ProtocolWarning,
                stacklevel=2,
            )
        return self

    def _check_rows(self, X: Any, y: Any) -> tuple[Any, Floats]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "fit(X, y), or prefit=True for models that are fitted already"
            )
        X = check_inputs(self, X, reset=True)
        values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
        if values.ndim == 2 and values.shape[1] == 1:
            values = column_or_1d(values, warn=True)
        check_consistent_length(X, values)
        return X, values

    def _rule(self) -> Rule:
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
                faults[i] = "predict returned what is no finite number"
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
        liars = self._liars(given, NumberAdversary, FarAway)
        return {there.index(i): liar for i, liar in liars.items() if i in there}

    def _talk(self, values: Floats, liars: dict[int, NumberAdversary], *, record: bool = False) -> Agreement:
        n = len(values)
        k = None if self.k is None or checks.integer("k", self.k, least=1) >= n - 1 else self.k
        return agree(
            values,
            self._rule(),
            adversaries=liars,
            k=k,
            rounds=self.rounds,
            tolerance=self.tolerance,
            seed=self.seed_,
            record=record,
        )

    def deliberate(self, X: Any, *, record: bool = False) -> Agreement:
        """Let the participants that can answer draw nearer on every row of X.

        Who fails on one row of X is left out of all of them. Otherwise the outcome of a row depends on the
        numbers for it and on ``random_state`` alone. Rows of the ``Agreement`` are the participants that
        could answer, in their order.
        """
        values, there, _, flat = self._numbers(X)
        return self._talk(values[:, :, 0] if flat else values, self._byzantine(there), record=record)

    def predict(self, X: Any) -> Floats:
        """The number that the moot agrees on for each row: the median of what the honest ones hold."""
        return self.deliberate(X).decision

    def transform(self, X: Any) -> Floats:
        """(input, participant [x output]): the first numbers as columns; NaN for a faulty participant."""
        values, there, _, _ = self._numbers(X)
        columns = np.full((values.shape[1], len(self.participants_), values.shape[2]), np.nan)
        columns[:, there] = values.transpose(1, 0, 2)
        return columns.reshape(len(columns), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002
        """The participants' names, numbered by output where there are several."""
        check_is_fitted(self, "participants_")
        names = [participant.name for participant in self.participants_]
        if self.n_outputs_ > 1:
            names = [f"{name}_{output}" for name in names for output in range(self.n_outputs_)]
        return np.array(names, dtype=object)

    def report(self, X: Any, y: Any, *, stacking: bool = True) -> NumberReport:
        """Consensus beside single participants and centralised rules, by root mean squared error."""
        from folkmoot.comparison import compare_numbers

        values, there, faults, _ = self._numbers(X)
        truth = np.asarray(y, dtype=np.float64).reshape(len(np.asarray(y)), -1)
        if truth.shape != values.shape[1:]:
            raise ValueError(
                f"y must hold what is predicted, {values.shape[1:]}: got the shape {truth.shape}"
            )
        liars = self._byzantine(there)
        return compare_numbers(
            self._talk(values, liars),
            values,
            numbers_handed_in(values, liars),
            truth,
            rule=self.rule,
            faulty={self.participants_[i].name: fault for i, fault in faults.items()},
            byzantine=[self.participants_[there[i]].name for i in sorted(liars)],
            stacking=stacking,
            seed=self.seed_,
        )

    # ---- scikit-learn's tags -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        self._inherit_tags(tags)
        return tags
