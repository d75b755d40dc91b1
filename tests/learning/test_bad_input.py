"""Bad input to the estimators: one clear error, or a degradation that a warning names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from folkmoot import Slush, StrongConfidence
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.participants import ParticipantWarning
from folkmoot.learning.regressor import ConsensusRegressor
from support.models import Broken

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
THREE = np.arange(60) % 3


class Bare:
    """A model that can only predict, and always the same."""

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=int)


def three(**options: Any) -> ConsensusClassifier:
    options.setdefault("protocol", Slush(2, 2))
    return ConsensusClassifier([GaussianNB()] * 3, random_state=0, **options)


@pytest.mark.parametrize(
    ("options", "arguments", "complaint"),
    [
        ({"protocol": "slush"}, {}, r"protocol must be Council\(\), or Slush, Snowflake or Snowball such as"),
        ({"protocol": Slush(2, StrongConfidence([0.6]))}, {}, r"one threshold per participant \(3\): got 1"),
        ({"holdout": 1.0}, {}, "holdout must satisfy 0 <= holdout < 1"),
        ({"holdout": -0.1}, {}, "holdout must satisfy 0 <= holdout <= 1: got holdout=-0.1"),
        ({"estimators": []}, {}, "estimators must hold at least one model"),
        ({"estimators": GaussianNB()}, {}, r"for one model in every group write \[GaussianNB\(\)\]"),
        ({"estimators": [GaussianNB, GaussianNB]}, {}, r"not classes: write GaussianNB\(\)"),
        ({"estimators": [GaussianNB()]}, {}, "at least two participants: estimators holds one model"),
        ({"estimators": [("a", GaussianNB())] * 2}, {}, "different names: got 'a' more than once"),
        ({"estimators": [("a__b", GaussianNB()), ("c", GaussianNB())]}, {}, "must not contain '__'"),
        ({"estimators": [("a", GaussianNB()), GaussianNB()]}, {}, "all models or all .name, model. pairs"),
        ({"estimators": [GaussianNB()] * 61}, {}, "more participants than rows: 61 participants"),
        ({}, {"groups": np.arange(60) % 5}, "groups names 5 participants, and estimators holds 3 models"),
        ({}, {"groups": np.zeros(60)}, "at least two participants: groups names one participant"),
        ({}, {"groups": np.zeros(59)}, "whose each of the 60 rows is: got 59"),
        ({}, {"groups": "site"}, "groups must say whose each row is, one entry per row: got the text 'site'"),
        ({}, {"groups": [None, *["a"] * 59]}, r"groups\[0\] is missing"),
        ({}, {"groups": np.r_[np.nan, THREE[1:]]}, r"groups\[0\] is missing"),
        ({}, {"y": np.zeros(60)}, "y must hold at least two classes: got one class"),
        ({}, {"sample_weight": -np.ones(60)}, "sample_weight must be finite and >= 0"),
        ({}, {"weights": np.ones(60)}, "fit takes no argument 'weights'"),
        ({"columns": [[0], [1]]}, {}, r"columns must hold one entry per participant \(3\): got 2"),
        ({"columns": "age"}, {}, "columns must be a list with one entry per participant"),
        ({"columns": [[0], [7], [1]]}, {}, r"'gaussiannb-2' wants column 7, but X has 3 columns \(0..2\)"),
        ({"columns": [["age"], None, None]}, {}, "wants the column 'age', but X has no column names"),
        ({"columns": [[0.5], None, None]}, {}, "must be a list of names or of numbers"),
        ({"columns": {"nobody": [0]}}, {}, "columns names 'nobody', which is no participant: there are"),
        ({"estimators": [("voting", GaussianNB()), ("b", GaussianNB())]}, {}, "of a parameter: got 'voting'"),
        ({"estimators": [("a", GaussianNB()), ("b", GaussianNB()), ("zz", GaussianNB())]},
         {"groups": np.array(["a", "b", "c"])[THREE]}, "estimators names 'zz', and no group has that name"),
        ({}, {"groups": np.array([1, "1", *[2] * 58], dtype=object)}, "must be all words or all numbers"),
        ({}, {"groups": pd.Series(["a", pd.NA, *["b"] * 58], dtype="string")}, r"groups\[1\] is missing"),
        ({}, {"y": [None, *Y[1:]]}, r"y\[0\] is missing"),
        ({"estimators": [Bare()] * 3}, {}, "the model of participant 'bare-1' must have fit and get_params"),
        ({"prefit": True}, {"sample_weight": np.ones(60)}, "sample_weight is for fitting"),
        ({"estimators": [GaussianNB(), Ridge(), GaussianNB()]}, {},
         r"ConsensusClassifier needs classifiers: 'ridge' \(Ridge\) is a regressor, which predicts numbers; "
         "take a classifier, or give all models to ConsensusRegressor"),
        ({"estimators": [Ridge()] * 2, "prefit": True}, {}, r"'ridge-1' \(Ridge\) is a regressor"),
        ({"estimators": ["north.skops", "south.skops"]}, {},
         r"text or path 'north.skops'; load it first, such as skops.io.load\(path\), and give prefit=True"),
        ({"estimators": [("north", Path("a") / "b.pkl"), ("south", GaussianNB())], "prefit": True}, {},
         "got the text or path 'a/b.pkl'"),
        ({"estimators": "models"}, {}, "estimators must hold models: got the text or path 'models'"),
        ({"estimators": [GaussianNB()]}, {"groups": np.arange(60)}, "each of the 60 rows has a group of its"),
        ({"protocol": Slush(2, [2, 2])}, {}, r"alpha must hold one threshold per participant \(3\): got 2"),
    ],
)  # fmt: skip
def test_fit_says_what_is_wrong(options: dict[str, Any], arguments: dict[str, Any], complaint: str) -> None:
    call = {"X": X, "y": Y} | arguments
    with pytest.raises((ValueError, TypeError), match=complaint):
        three().set_params(**options).fit(**call)


def test_groups_that_reach_the_splitter_only() -> None:
    """What ``cross_val_score`` says where its own ``groups`` was meant for ``fit``; what it names works."""
    moot, groups = ConsensusClassifier([GaussianNB()], random_state=0), np.arange(60) % 6
    with pytest.raises(ValueError, match=r'with cross_val_score and the like params=\{"groups": g\}'):
        cross_val_score(moot, X, Y, groups=groups, cv=GroupKFold(3), error_score="raise")
    scores = cross_val_score(moot, X, Y, groups=groups, cv=GroupKFold(3), params={"groups": groups})
    by_hand = [
        clone(moot).fit(X[a], Y[a], groups[a]).score(X[b], Y[b]) for a, b in GroupKFold(3).split(X, Y, groups)
    ]
    np.testing.assert_allclose(scores, by_hand)


def test_a_classifier_among_regressors() -> None:
    with pytest.raises(
        ValueError, match=r"needs regressors: 'b' \(GaussianNB\) is a classifier, which predicts"
    ):
        ConsensusRegressor([("a", Ridge()), ("b", GaussianNB())]).fit(X, Y)


def test_wrong_column_names() -> None:
    table = pd.DataFrame(X, columns=["age", "pressure", "weight"])
    with pytest.raises(ValueError, match="wants the column 'hight', which X has not: there are 'age'"):
        three(columns=[["age"], ["hight"], None]).fit(table, Y)


def test_nan_that_a_model_refuses_names_the_participant() -> None:
    holes = X.copy()
    holes[THREE == 1, 2] = np.nan
    with pytest.raises(
        ValueError, match=r"participant 'va' \(GaussianNB\) cannot be fitted: Input X contains NaN"
    ):
        three().fit(holes, Y, np.array(["a", "va", "z"])[THREE])


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB(), DecisionTreeClassifier()])
def test_a_group_with_one_class_always_answers_it(model: Any) -> None:
    y = np.where(THREE == 1, 1, Y)
    with pytest.warns(ParticipantWarning, match="'1': rows of one class only"):
        moot = ConsensusClassifier([model] * 3, protocol=Slush(2, 2), random_state=0).fit(X, y, THREE)
    assert (moot.votes(X)[1] == 1).all()
    assert (moot.votes(X)[0] != 1).any()


def test_a_group_with_one_row() -> None:
    groups = np.r_[2, np.arange(59) % 2]
    with pytest.warns(ParticipantWarning, match="'2': rows of one class only"):
        moot = three().fit(X, Y, groups)
    assert moot.participants_[2].rows == 1
    assert np.isnan(moot.accuracies_[2])
    assert (moot.votes(X)[2] == Y[0]).all()


def test_nobody_can_answer() -> None:
    with pytest.warns(ParticipantWarning):
        moot = ConsensusClassifier([Broken()] * 3, protocol=Slush(2, 2)).fit(X, Y)
    with pytest.raises(ValueError, match="no participant can answer; the first, 'broken-1', says OSError"):
        moot.predict(X)


def test_prefit_models_that_know_no_classes() -> None:
    with pytest.raises(ValueError, match=r"they have no classes_\): fit\(X, y\) with some rows"):
        ConsensusClassifier([Bare(), Bare()], prefit=True).fit()
    agreed = ConsensusClassifier([Bare(), Bare()], prefit=True, protocol=Slush(1, 1)).fit(X, Y)
    assert (agreed.predict(X) == 0).all()
