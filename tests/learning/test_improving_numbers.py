"""Models of numbers improve each other: by hand, on real data, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

from folkmoot import ConsensusRegressor
from folkmoot.learning.participants import ParticipantWarning

N = 10


@pytest.fixture(scope="module")
def people() -> tuple[Any, Any, Any, Any, Any, Any]:
    """Ten hospitals with 18 patients each, 150 patients nobody has followed up, and 112 to test on."""
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(y))
    own, pool, test = order[:180], order[180:330], order[330:]
    return X[own], y[own], np.arange(180) % N, X[pool], X[test], y[test]


def off(models: list[Any], X: Any, y: Any) -> Any:
    """(model,): root mean squared errors."""
    return np.array([np.sqrt(np.mean((np.ravel(each.predict(X)) - y) ** 2)) for each in models])


def test_before_is_five_fold(people: Any) -> None:
    """Models that name the mean of what they saw: the folds need not be known to bound what they are off."""
    X, y, groups, pool, *_ = people
    moot = ConsensusRegressor([Ridge(1e12)], random_state=0).fit(X, y, groups=groups).improve(pool)
    for i, change in enumerate(moot.improvement_.changes):
        mine = y[groups == i]
        assert mine.std() < change.was < 1.4 * mine.std()  # never nearer than the mean of all 18


def test_a_careful_participant_keeps_a_model_that_its_own_rows_speak_for(people: Any) -> None:
    X, y, groups, pool, *_ = people
    y = np.where(groups == 9, 5 * X[:, 0], X[:, 0])  # the last measures in another unit
    moot = ConsensusRegressor([Ridge(1e-3)], random_state=0).fit(X, y, groups=groups)
    with pytest.warns(ParticipantWarning, match="9 .*keeps its old model"):
        moot.improve(pool, safe=True)
    last = moot.improvement_.changes[9]
    assert last.why == "the new model loses 17 of its 18 rows and wins 1"
    assert moot.estimators_[9] is last.model
    assert moot.improvement_.refused == {last.name: last.why}


class Odd(RegressorMixin, BaseEstimator):
    """Cannot be fitted to more than 20 rows."""

    def fit(self, X: Any, y: Any) -> Odd:
        if len(X) > 20:
            raise ValueError("too many rows. Take fewer.")
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.mean_)


def test_who_cannot_refit_keeps_its_model_and_says_why(people: Any) -> None:
    X, y, groups, pool, *_ = people
    moot = ConsensusRegressor([Ridge(0.1)] * 9 + [Odd()], random_state=0).fit(X, y, groups=groups)
    with pytest.warns(ParticipantWarning, match="too many rows"):
        moot.improve(pool)
    last = moot.improvement_.changes[9]
    assert last.why is not None
    assert last.why.endswith("cannot be fitted: too many rows")
    assert last.became is None
    assert "-  keeps its old model" in str(moot.improvement_)
    assert isinstance(moot.estimators_[9], Odd)


def test_prefit_models_need_rows_and_their_clones_are_fitted_to_these(people: Any) -> None:
    X, y, groups, pool, *_ = people
    fitted = [Ridge(0.1).fit(X[groups == i], y[groups == i]) for i in range(N)]
    moot = ConsensusRegressor(fitted, prefit=True).fit()
    with pytest.raises(ValueError, match=r"improve needs labelled rows of each participant: fit\(X"):
        moot.improve(pool)
    names = [f"ridge-{i + 1}" for i in range(N)]
    moot.fit(X, y, groups=np.array(names)[groups]).improve(pool)
    both = (
        np.concatenate([X[groups == 2], pool]),
        np.concatenate([y[groups == 2], moot.improvement_.agreed[2]]),
    )
    np.testing.assert_allclose(moot.estimators_[2].predict(pool), Ridge(0.1).fit(*both).predict(pool))
    off_before = fitted[2].predict(X[groups == 2]) - y[groups == 2]
    assert moot.improvement_.changes[2].was == pytest.approx(np.sqrt(np.mean(off_before**2)))


def test_what_is_refused_leaves_everything_as_it_was(people: Any) -> None:
    X, y, groups, pool, *_ = people
    moot = ConsensusRegressor([Ridge(0.1)], random_state=0).fit(X, y, groups=groups)
    before = moot.participants_
    with pytest.raises(ValueError, match="at least one input to agree on"):
        moot.improve(pool[:0])
    with pytest.raises(ValueError, match="10 features"):
        moot.improve(pool[:, :4])
    wrong: Any = "yes"
    with pytest.raises(TypeError, match="safe must be True or False: got 'yes'"):
        moot.improve(pool, safe=wrong)
    with pytest.raises(ValueError, match="rows are not kept in copies, pickles or files"):
        copy.deepcopy(moot).improve(pool)
    assert moot.participants_ is before
    assert not hasattr(moot, "improvement_")


def test_in_a_notebook_it_is_a_table(people: Any) -> None:
    X, y, groups, pool, *_ = people
    names = np.array([f"<b>{i}</b>" for i in range(N)])[groups]
    moot = ConsensusRegressor([Ridge(0.1)], random_state=0).fit(X, y, groups=names).improve(pool)
    html = moot.improvement_._repr_html_()
    assert html.count("<tr>") == 1 + N + 2
    assert "&lt;b&gt;3&lt;/b&gt;" in html
    assert f"<td>{moot.improvement_.mean[1]:.4g}</td>" in html
