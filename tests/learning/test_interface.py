"""What users of scikit-learn do with an estimator: data frames, pipelines, searches, copies."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from folkmoot import Slush, Snowball
from folkmoot.learning.classifier import ConsensusClassifier
from support.models import Witness

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=240) > 0, "yes", "no")
GROUPS = np.array([f"hospital {i:02}" for i in RNG.integers(0, 12, 240)])
NAMES = ["age", "pressure", "weight"]


def moot(**options: Any) -> ConsensusClassifier:
    return ConsensusClassifier([GaussianNB()] * 12, random_state=0, **options)


# ---- parameters ------------------------------------------------------------------------------


def test_parameters_by_name() -> None:
    both = ConsensusClassifier([DecisionTreeClassifier(), GaussianNB(), DecisionTreeClassifier()])
    params = both.get_params()
    assert params["protocol"] is None  # the default, whose fields depend on how many there are
    assert "protocol__alpha" not in params
    assert params["decisiontreeclassifier-2__max_depth"] is None
    both.set_params(**{"decisiontreeclassifier-2__max_depth": 3, "protocol__k": 4, "protocol__alpha": 3})
    assert both.estimators[2].max_depth == 3
    assert both.estimators[0].max_depth is None
    assert both.protocol == Slush(4, 3)
    both.set_params(gaussiannb=LogisticRegression())
    assert isinstance(both.estimators[1], LogisticRegression)
    assert both.set_params(protocol=Snowball(4, 3, 5), protocol__beta=7).get_params()["protocol__beta"] == 7
    pairs = ConsensusClassifier([("a", GaussianNB()), ("b", GaussianNB())]).set_params(a__var_smoothing=0.5)
    assert pairs.estimators[0][1].var_smoothing == 0.5


def test_a_model_that_stands_in_the_list_several_times() -> None:
    model = GaussianNB()
    same = ConsensusClassifier([model] * 3).set_params(**{"gaussiannb-2__var_smoothing": 0.5})
    assert [each.var_smoothing for each in same.estimators] == [1e-9, 0.5, 1e-9]
    fitted = GaussianNB().fit(X, Y)
    ConsensusClassifier([fitted, fitted], prefit=True).set_params(**{"gaussiannb-1__var_smoothing": 0.5})
    assert fitted.var_smoothing == 1e-9  # the caller's model is left alone


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="protocol has no parameter 'gamma': expected one of k, alpha"):
        moot().set_params(protocol__gamma=1)
    with pytest.raises(ValueError, match="Invalid parameter 'nobody'"):
        moot().set_params(nobody=1)


def test_clone_and_pickle() -> None:
    first = moot(protocol=Slush(4, 3)).fit(X, Y)
    copy = clone(first)
    assert copy.protocol == Slush(4, 3)
    assert not hasattr(copy, "participants_")
    again = pickle.loads(pickle.dumps(first))  # noqa: S301
    assert np.array_equal(again.predict(X), first.predict(X))
    assert "protocol=Slush(k=4, alpha=3" in repr(first)


def test_grid_search_over_the_threshold() -> None:
    search = GridSearchCV(
        moot(), {"protocol__alpha": [6, 7, 10], "gaussiannb-1__var_smoothing": [1e-9, 1.0]}, cv=3
    )
    search.fit(X, Y)
    assert search.best_params_["protocol__alpha"] in (6, 7, 10)
    assert search.best_estimator_.protocol.alpha == search.best_params_["protocol__alpha"]
    assert search.score(X, Y) > 0.8


def test_groups_reach_fit_through_a_search() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        inner = ConsensusClassifier([Witness()], protocol=Slush(3, 2)).set_fit_request(groups=True)
        inner.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(
            inner, {"protocol__alpha": [2, 3]}, cv=GroupKFold(3).set_split_request(groups=True)
        )
        search.fit(X, Y, groups=GROUPS, sample_weight=np.ones(240))
    best = search.best_estimator_
    assert [p.name for p in best.participants_] == sorted(set(GROUPS))
    assert best.estimators_[0].weights_.sum() == best.participants_[0].rows


def test_prefit_models_survive_a_search() -> None:
    models = [GaussianNB().fit(X[g == GROUPS], Y[g == GROUPS]) for g in sorted(set(GROUPS))]
    search = GridSearchCV(ConsensusClassifier(models, prefit=True), {"protocol__alpha": [6, 9]}, cv=2).fit(
        X, Y
    )
    assert search.best_estimator_.estimators_[3] is models[3]


def test_in_a_pipeline_and_cross_validated() -> None:
    assert cross_val_score(make_pipeline(StandardScaler(), moot()), X, Y, cv=3).mean() > 0.8


# ---- tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_give_what_arrays_give(frame: Any) -> None:
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    series = pd.Series if frame is pd.DataFrame else pl.Series
    by_frame = moot().fit(table, series(Y.tolist()), series(GROUPS.tolist()))
    by_array = moot().fit(X, Y, GROUPS)
    assert by_frame.feature_names_in_.tolist() == NAMES
    assert np.array_equal(by_frame.predict(table), by_array.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        by_frame.predict(frame(dict(zip(["height", *NAMES[1:]], X.T, strict=True))))


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_set_output_names_the_participants(output: str) -> None:
    fitted = moot().set_output(transform=output).fit(X, Y, GROUPS)
    table = fitted.transform(X)
    assert list(table.columns) == sorted(set(GROUPS))
    assert np.array_equal(table.to_numpy(), fitted.votes(X).T)


def test_models_may_choose_columns_by_name() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=NAMES).assign(sex=np.where(rng.random(240) > 0.5, "m", "f"))
    model = make_pipeline(
        ColumnTransformer([("n", StandardScaler(), NAMES), ("c", OneHotEncoder(), ["sex"])]),
        LogisticRegression(),
    )
    assert ConsensusClassifier([model] * 12, random_state=0).fit(table, Y).score(table, Y) > 0.8


def test_sparse_rows() -> None:
    models = [LogisticRegression()] * 12
    dense = ConsensusClassifier(models, random_state=0).fit(X, Y)
    thin = ConsensusClassifier(models, random_state=0).fit(sparse.csr_matrix(X), Y)
    assert np.array_equal(thin.predict(sparse.csr_matrix(X)), dense.predict(X))


def test_missing_values_are_for_the_models_to_judge() -> None:
    holes = X.copy()
    holes[::7, 1] = np.nan
    fitted = ConsensusClassifier(
        [HistGradientBoostingClassifier(min_samples_leaf=3)] * 12, random_state=0
    ).fit(holes, Y)
    assert fitted.score(holes, Y) > 0.6


# ---- models that are fitted already, on columns of their own ----------------------------------


def test_prefit_models_of_any_family_on_their_own_columns() -> None:
    table = pd.DataFrame(X, columns=NAMES)
    models = [
        ("lab", GaussianNB().fit(table[["age", "weight"]], Y)),
        ("clinic", DecisionTreeClassifier(random_state=0).fit(table[["age"]], Y)),
        ("practice", LogisticRegression().fit(table[["weight", "age", "pressure"]], Y)),
    ]
    columns = {"lab": ["age", "weight"], "clinic": ["age"], "practice": ["weight", "age", "pressure"]}
    for form in (columns, list(columns.values())):
        agreed = ConsensusClassifier(models, prefit=True, columns=form, protocol=Slush(2, 2)).fit()
        expected = [model.predict(table[columns[name]]) for name, model in models]
        assert np.array_equal(agreed.classes_[agreed.votes(table)], np.array(expected))
        assert agreed.estimators_[0] is models[0][1]
        assert np.isnan(agreed.accuracies_).all()


def test_columns_by_number_also_when_fitting() -> None:
    fitted = ConsensusClassifier(
        [Witness()] * 3, columns=[[0], None, [2, 1]], protocol=Slush(2, 2), holdout=0
    )
    fitted.fit(X, Y)
    assert [model.X_.shape[1] for model in fitted.estimators_] == [1, 3, 2]
    rows = {tuple(row) for row in X[:, [2, 1]]}
    assert all(tuple(row) in rows for row in fitted.estimators_[2].X_)
