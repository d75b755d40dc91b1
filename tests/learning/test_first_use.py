"""What somebody meets who tries the estimators for the first time, with other models than ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from folkmoot import Slush, compare
from folkmoot.aggregation import HoldoutTrust, PeerReview, Pool
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.snow_rounds import ProtocolWarning

X, Y = load_digits(return_X_y=True)
GROUPS = np.arange(1000) % 10


@pytest.fixture(scope="module")
def trees() -> list[Any]:
    """Crisp models: leaves of one class, so that probabilities are 0 and 1."""
    return [DecisionTreeClassifier(random_state=i).fit(X[i:1000:20], Y[i:1000:20]) for i in range(60)]


@pytest.mark.parametrize("rule", ["mean", "log"])
@pytest.mark.parametrize("trim", [0, 1, 20, 29])
def test_a_pool_of_crisp_models_is_as_good_as_their_labels(trees: list[Any], rule: Any, trim: int) -> None:
    labels = ConsensusClassifier(trees, prefit=True).score(X[1000:], Y[1000:])
    pooled = ConsensusClassifier(trees, prefit=True, voting="probabilities", aggregation=Pool(rule, trim))
    report = pooled.report(X[1000:], Y[1000:], stacking=False)
    said = "a majority of the labels is right on" in str(report)
    assert pooled.score(X[1000:], Y[1000:]) > labels - 0.005 or said


def test_a_pool_that_is_worse_than_its_labels_says_so() -> None:
    sure_and_wrong = [[[0.6, 0.4]] * 4, [[0.6, 0.4]] * 4, [[0.0, 1.0]] * 4]
    note = "a majority of the labels is right on 1.000, more often than these pooled probabilities"
    plain = Pool(robust=False)
    assert note in str(compare(sure_and_wrong, truth=[0] * 4, aggregation=plain))
    assert "majority of the labels" not in str(compare(sure_and_wrong, truth=[1] * 4, aggregation=plain))
    assert "majority of the labels" not in str(compare(sure_and_wrong, truth=[0] * 4))


class OneInTen:
    """Answers one row in ten, and ``instead`` for the others."""

    classes_ = np.arange(10)

    def __init__(self, model: Any, instead: Any) -> None:
        self.model = model
        self.instead = instead

    def predict(self, X: Any) -> Any:
        said = self.model.predict(X).astype(object)
        said[np.arange(len(X)) % 10 != 0] = self.instead
        return said


class SureOneInTen(OneInTen):
    """The same with probabilities."""

    def predict_proba(self, X: Any) -> Any:
        said = self.model.predict_proba(X)
        said[np.arange(len(X)) % 10 != 0] = np.nan
        return said


@pytest.mark.parametrize("voting", ["labels", "probabilities"])
@pytest.mark.parametrize("kind", [OneInTen, SureOneInTen])
@pytest.mark.parametrize(
    "instead", [None, float("nan"), pd.NA, 77], ids=["None", "NaN", "NA of pandas", "a stranger"]
)
@pytest.mark.filterwarnings("ignore")
def test_no_answer_is_counted_alike_everywhere(
    trees: list[Any], voting: Any, kind: Any, instead: Any
) -> None:
    new, right = X[1000:], Y[1000:]
    moot = ConsensusClassifier([kind(trees[0], instead), *trees[1:5]], prefit=True, voting=voting)
    moot.fit(new, right)
    asked = np.arange(len(right)) % 10 == 0
    expected = np.mean((trees[0].predict(new) == right) & asked)
    row = moot.report(new, right, stacking=False).participants.rows[0]
    assert row.score == pytest.approx(expected)
    assert row.coverage == pytest.approx(asked.mean())
    assert moot.accuracies_[0] == pytest.approx(expected)


@pytest.mark.parametrize("argument", ["groups", "y"])
def test_the_name_of_a_column_is_not_the_column(argument: str) -> None:
    given = {"y": Y[:1000], "groups": GROUPS} | {argument: "site"}
    moot = ConsensusClassifier([DecisionTreeClassifier()])
    with pytest.raises(TypeError, match=rf"^{argument} must say .* got the text 'site'; give the column"):
        moot.fit(X[:1000], given["y"], given["groups"])
    moot.fit(X[:1000], Y[:1000], GROUPS)
    for ask in (moot.predict, moot.predict_proba):
        with pytest.raises(TypeError, match=r"^groups must say whose each row is"):
            ask(X[1000:], groups="site")
    with pytest.raises(ValueError, match=r"groups must be one column: got the shape \(1000, 2\)"):
        moot.fit(X[:1000], Y[:1000], np.c_[GROUPS, GROUPS])


def test_fitted_models_need_no_fit(trees: list[Any]) -> None:
    asked = ConsensusClassifier(trees, prefit=True)
    np.testing.assert_array_equal(
        asked.predict(X[1000:]), ConsensusClassifier(trees, prefit=True).fit().predict(X[1000:])
    )
    for way in ("predict_proba", "votes", "deliberate", "why"):
        getattr(ConsensusClassifier(trees, prefit=True), way)(X[1000:1010])
    assert ConsensusClassifier(trees, prefit=True).report(X[1000:], Y[1000:]).score() > 0.8  # type: ignore[operator]
    for own in (PeerReview(), HoldoutTrust()):
        with pytest.raises(ValueError, match="needs rows that the models were not fitted on: fit"):
            ConsensusClassifier(trees, prefit=True, aggregation=own).predict(X[1000:])


def test_typing_what_a_warning_names_changes_no_answer(trees: list[Any]) -> None:
    """A scaled protocol is the one that was played, so that following the warning lowers no score."""
    moot = ConsensusClassifier(trees[:5], prefit=True, protocol=Slush(10, 6), random_state=0)
    with pytest.warns(ProtocolWarning, match=r"goes on with k=4, alpha=3"):
        moot.fit()
    typed = ConsensusClassifier(trees[:5], prefit=True, protocol=Slush(4, 3), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        typed.fit()
    np.testing.assert_array_equal(typed.predict(X[1000:]), moot.predict(X[1000:]))
