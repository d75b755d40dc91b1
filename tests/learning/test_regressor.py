"""``ConsensusRegressor`` by composition, held to numpy and to plain counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from folkmoot.aggregation import HoldoutTrust, Known, Mean, Median, PeerReview, Plurality, Rows, TrimmedMean
from folkmoot.learning.function_model import FunctionModel
from folkmoot.learning.participants import ParticipantWarning
from folkmoot.learning.regressor import ConsensusRegressor
from folkmoot.simulation.council import CouncilOutcome


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
    (liar,) = outcome.malicious
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


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=["None", "NaN", "NA of pandas"])
def test_a_function_that_leaves_inputs_out_keeps_its_other_numbers(gap: Any) -> None:
    some = FunctionModel(lambda X: [gap if row[0] else 1.0 for row in X])
    moot = ConsensusRegressor([some, Says([3.0, 4.0]), Says([5.0, 8.0])], prefit=True, aggregation=Median())
    np.testing.assert_array_equal(moot.predict(inputs(2)), [3.0, 6.0])


def test_a_function_that_writes_into_its_inputs_changes_nothing_for_others() -> None:
    def rude(X: Any) -> Any:
        X[:] = 0
        return X[:, 0]

    moot = ConsensusRegressor(
        [FunctionModel(rude), FunctionModel(lambda X: X[:, 0]), Says([2.0] * 4)],
        prefit=True,
        aggregation=Median(),
    )
    X = np.full((4, 1), 3.0)
    np.testing.assert_array_equal(moot.predict(X), [2.0] * 4)  # of 0, 3 and 2
    assert (X == 3).all()


def test_several_outputs() -> None:
    X, y = load_diabetes(return_X_y=True)
    both = np.stack([y, -y], axis=1)
    moot = ConsensusRegressor([LinearRegression()] * 3, random_state=0).fit(X, both)
    assert moot.n_outputs_ == 2
    np.testing.assert_allclose(moot.predict(X)[:, 0], -moot.predict(X)[:, 1])
    assert moot.transform(X).shape == (len(X), 6)
    assert len(moot.get_feature_names_out()) == 6


@pytest.mark.parametrize("rule", [PeerReview(), "auto"], ids=["peer review", "auto"])
def test_a_report_of_several_outputs_has_the_error_of_what_is_predicted(rule: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    both = np.stack([y, -y], axis=1)
    moot = ConsensusRegressor([Ridge()] * 3, aggregation=rule, random_state=0).fit(X[:300], both[:300])
    error = np.sqrt(np.mean((moot.predict(X[300:]) - both[300:]) ** 2))
    assert moot.report(X[300:], both[300:]).score() == pytest.approx(error)
    assert float(moot.why(X[300:], 3).answer[0]) == pytest.approx(moot.predict(X[300:])[3, 0], rel=1e-5)


def test_what_it_refuses() -> None:
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(
        ValueError, match="Plurality takes labels, not numbers: it is for a target of classes"
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


def test_holdout_trust_knows_what_each_said_of_its_own_rows_and_nothing_else() -> None:
    X, y = load_diabetes(return_X_y=True)
    models = [Ridge(10.0**-i).fit(X[i:200:7], y[i:200:7]) for i in range(7)]
    names = np.array([f"ridge-{i + 1}" for i in range(7)])
    whose = np.arange(100) % 7
    moot = ConsensusRegressor(models, prefit=True, aggregation=HoldoutTrust())
    moot.fit(X[200:300], y[200:300], groups=names[whose])
    said = np.array([model.predict(X[200:300]) for model in models])
    rows = Rows(np.where(whose == np.arange(7)[:, None], said, np.nan), y[200:300], whose)
    table = np.array([model.predict(X[300:]) for model in models])
    final = HoldoutTrust().final_votes(table, Known(rows=rows))
    assert not final.fell_back
    np.testing.assert_allclose(moot.predict(X[300:]), np.median(final.votes, axis=0))
    np.testing.assert_allclose(moot.predict(X[300:], groups=["ridge-3"] * 142), final.votes[2])


def test_holdout_trust_of_fitted_models_hears_more_of_those_who_know_more() -> None:
    """Four of nine participants have numbers that tell nothing; of the others each weighs more."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(540, 3))
    truth = X @ [3.0, -2.0, 1.0]
    groups = np.arange(360) % 9
    y = truth[:360] + rng.normal(size=360)
    for i in range(4):
        y[groups == i] = rng.permutation(y[groups == i])
    moot = ConsensusRegressor([Ridge(0.1)], aggregation=HoldoutTrust(), random_state=0)
    outcome = moot.fit(X[:360], y, groups=groups).deliberate(X[360:])
    assert isinstance(outcome, CouncilOutcome)
    final = outcome.final
    assert final is not None
    assert final.weights is not None
    assert not final.fell_back
    assert final.weights[4:, 4:].sum(axis=1).min() > 0.9  # of 5 / 9 if all counted alike
    error = np.sqrt(np.mean((moot.predict(X[360:]) - truth[360:]) ** 2))
    moot.set_params(aggregation=Median())
    assert error < 0.75 * np.sqrt(np.mean((moot.predict(X[360:]) - truth[360:]) ** 2))


def test_holdout_trust_without_rows_says_what_is_missing() -> None:
    moot = ConsensusRegressor([Says([1.0]), Says([2.0])], prefit=True, aggregation=HoldoutTrust())
    with pytest.raises(ValueError, match=r"needs rows that the models were not fitted on: fit\(X, y\)"):
        moot.fit()
