"""``ConsensusRegressor`` by composition, held to numpy and to plain counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from folkmoot.aggregation import HoldoutTrust, Mean, Median, Plurality, TrimmedMean
from folkmoot.learning import ConsensusRegressor
from folkmoot.learning.participants import ParticipantWarning


class Says(RegressorMixin, BaseEstimator):
    """A fitted model that looks its numbers up, by the row's only number."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def predict(self, X: Any) -> Any:
        return np.array([self.numbers[int(row[0])] for row in np.asarray(X)])

    def __sklearn_is_fitted__(self) -> bool:
        return True


def inputs(many: int) -> Any:
    return np.arange(many)[:, None]


@pytest.mark.parametrize(("rule", "expected"), [(Mean(), np.mean), (Median(), np.median)])
def test_numbers_are_those_of_numpy(rule: Any, expected: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    models = [Ridge(0.1 * (i + 1)).fit(X[i::5], y[i::5]) for i in range(5)]
    moot = ConsensusRegressor(models, prefit=True, aggregation=rule).fit()
    np.testing.assert_allclose(moot.predict(X), expected([model.predict(X) for model in models], axis=0))


def test_one_liar_of_four_moves_nothing_out_of_the_honest_range() -> None:
    X, y = load_diabetes(return_X_y=True)
    moot = ConsensusRegressor([Ridge(0.1)] * 4, random_state=0).fit(X[:300], y[:300])
    outcome = moot.deliberate(X[300:], adversaries=1)
    (liar,) = outcome.liars
    honest = np.delete(moot.votes(X[300:]), liar, axis=0)
    assert (outcome.decision >= honest.min(axis=0)).all()
    assert (outcome.decision <= honest.max(axis=0)).all()


def test_no_answer_is_no_vote() -> None:
    moot = ConsensusRegressor(
        [Says([1.0, np.nan]), Says([3.0, 4.0]), Says([5.0, 8.0])], prefit=True, aggregation=Median()
    ).fit()
    np.testing.assert_array_equal(moot.predict(inputs(2)), [3.0, 6.0])
    moot = ConsensusRegressor([Says([1.0]), Says([[1.0, 2.0]]), Says([3.0])], prefit=True).fit()
    with pytest.warns(ParticipantWarning, match="returned the shape"):
        assert moot.predict(inputs(1)).tolist() == [2.0]


def test_several_outputs() -> None:
    X, y = load_diabetes(return_X_y=True)
    both = np.stack([y, -y], axis=1)
    moot = ConsensusRegressor([LinearRegression()] * 3, random_state=0).fit(X, both)
    assert moot.n_outputs_ == 2
    np.testing.assert_allclose(moot.predict(X)[:, 0], -moot.predict(X)[:, 1])
    assert moot.transform(X).shape == (len(X), 6)
    assert len(moot.get_feature_names_out()) == 6


def test_what_it_refuses() -> None:
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(
        ValueError, match="Plurality takes labels, not numbers: it is for ConsensusClassifier"
    ):
        ConsensusRegressor([Ridge()] * 3, aggregation=Plurality()).fit(X, y)
    with pytest.raises(ValueError, match="is a classifier"):
        ConsensusRegressor([GaussianNB()] * 3).fit(X, y)
    moot = ConsensusRegressor([Ridge()] * 3, aggregation=TrimmedMean()).fit(X, y)
    with pytest.raises(ValueError, match="groups needs an own aggregation"):
        moot.predict(X, groups=["ridge-1"] * len(X))


def test_models_improve_each_other() -> None:
    """Each has 18 rows; the pool's agreed numbers are better than its own, and errors are of unseen rows."""
    X, y = load_diabetes(return_X_y=True)
    moot = ConsensusRegressor([Ridge(0.01)] * 10, random_state=0).fit(X[:180], y[:180])
    before = [each.predict(X[330:]) for each in moot.estimators_]
    after = [each.predict(X[330:]) for each in moot.improve(X[180:330]).estimators_]
    errors = [np.mean([np.mean((said - y[330:]) ** 2) for said in each]) for each in (before, after)]
    assert errors[1] < 0.9 * errors[0]


@parametrize_with_checks([ConsensusRegressor([Ridge(), LinearRegression(), Lasso(0.01)])])  # type: ignore[untyped-decorator]
@pytest.mark.filterwarnings("ignore")  # the suite brings too few rows for models to be well fitted
def test_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def test_holdout_trust_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"take PeerReview\(rows=10\)"):
        ConsensusRegressor([Ridge()], aggregation=HoldoutTrust()).fit([[0.0], [1.0]] * 10, [0.0, 1.0] * 10)
