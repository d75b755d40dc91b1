"""The estimators keep scikit-learn's contract, by its own test suite."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from folkmoot import Everyone, Slush, Snowball, StrongConfidence
from folkmoot.old import ConsensusClassifier, ConsensusRegressor

MODELS = [LogisticRegression(), KNeighborsClassifier(3), GaussianNB()]
NAMED = [("one", LogisticRegression()), ("two", LogisticRegression(C=2)), ("three", GaussianNB())]

# The suite brings its own rows, too few for models to be well fitted; what they then warn of is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        ConsensusClassifier(MODELS),
        ConsensusClassifier(NAMED, protocol=Slush(2, StrongConfidence())),
        ConsensusClassifier(MODELS, protocol=Snowball(2, 2, 5), sampling=Everyone(), holdout=0),
        ConsensusClassifier(MODELS, trust="self-anchored", holdout=None),
        ConsensusClassifier([*MODELS, RidgeClassifier()], voting="probabilities", pool="log"),
        ConsensusRegressor([Ridge(), LinearRegression(), Ridge(alpha=2)]),
        ConsensusRegressor([Ridge()] * 4, weights="holdout", holdout=0.2),
        ConsensusRegressor([("one", Ridge()), ("two", Lasso(0.01)), ("three", Ridge())], rule="median", k=1),
    ]
)
def test_contract(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow  # as above, but for one setting each
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        ConsensusClassifier(MODELS, refit=False),
        ConsensusClassifier(MODELS, voting="probabilities"),
        ConsensusRegressor([Ridge(), LinearRegression(), Ridge(alpha=2)], weights="holdout"),
    ]
)
def test_contract_in_neighbouring_settings(estimator: Any, check: Any) -> None:
    check(estimator)
