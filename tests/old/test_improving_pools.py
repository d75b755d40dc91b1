"""``improve`` with other pools and models, on scikit-learn's digits: what is gained, and what is not."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from folkmoot import ConsensusClassifier
from folkmoot.datasets import load_digits_moot

N = 12
MODEL = GaussianNB(var_smoothing=0.01)
X, Y = load_digits(return_X_y=True)
X = X / 16
ORDER = np.random.default_rng(3).permutation(len(Y))
OWN, POOL, REST = ORDER[: N * 20], ORDER[N * 20 : N * 20 + 500], ORDER[N * 20 + 500 :]
GROUPS = np.arange(N * 20) % N


def improved(model: Any, pool: Any) -> tuple[ConsensusClassifier, Any, Any]:
    """The moot, and accuracies of all models before and after."""
    moot = ConsensusClassifier([model], holdout=None, random_state=0).fit(X[OWN], Y[OWN], groups=GROUPS)
    before = worth(moot.estimators_)
    moot.improve(X[pool], check_rows="all")
    return moot, before, worth(moot.estimators_)


def worth(models: Any) -> Any:
    return np.array([model.score(X[REST], Y[REST]) for model in models])


@pytest.fixture(scope="module")
def plain() -> tuple[ConsensusClassifier, Any, Any]:
    return improved(MODEL, POOL)


def test_a_pool_of_everybodys_own_unlabelled_rows_serves_as_well() -> None:
    """Sites that know few digits well, with 20 labelled rows each: measured .31 before, .82 after."""
    data = load_digits_moot(n_participants=N)
    rng = np.random.default_rng(3)
    own = np.concatenate([rng.permutation(data.rows(name))[:20] for name in data.participants])
    rest = np.setdiff1d(np.arange(len(data.y)), own)
    moot = ConsensusClassifier([MODEL], holdout=None, random_state=0)
    moot.fit(data.X[own], data.y[own], groups=data.groups[own])
    before = [model.score(data.X_test, data.y_test) for model in moot.estimators_]
    moot.improve(data.X[rest], check_rows="all")
    after = [model.score(data.X_test, data.y_test) for model in moot.estimators_]
    assert np.mean(after) > np.mean(before) + 0.4
    assert min(after) > max(before)


def test_a_skewed_pool_costs_part_of_the_gain(plain: tuple[ConsensusClassifier, Any, Any]) -> None:
    """Mostly 0 to 3: measured .78 instead of .88, from .40."""
    skewed = POOL[(Y[POOL] < 4) | (np.arange(len(POOL)) % 6 == 0)]
    assert (Y[skewed] < 4).mean() > 0.7
    _, before, after = improved(MODEL, skewed)
    assert after.mean() > before.mean() + 0.3
    assert (after > before).all()
    assert after.mean() < plain[2].mean() - 0.05


def test_going_on_from_the_old_model_is_no_better_than_a_fresh_one(
    plain: tuple[ConsensusClassifier, Any, Any],
) -> None:
    """``partial_fit`` of the old model with its own rows and the agreed ones: the same within .02."""
    moot, _, after = plain
    found, fresh = [], []
    for i, (model, labels) in enumerate(zip(moot.improvement_.models, moot.improvement_.labels, strict=True)):
        if len(model.classes_) == 10:  # a model that goes on takes no new class
            own = OWN[i == GROUPS]
            again = copy.deepcopy(model)
            again.partial_fit(np.concatenate([X[own], X[POOL]]), np.concatenate([Y[own], labels]))
            found.append(again)
            fresh.append(after[i])
    assert found
    assert abs(worth(found).mean() - np.mean(fresh)) < 0.02


def test_an_encoder_of_unlabelled_rows_goes_before_the_model_and_gains_nothing_here(
    plain: tuple[ConsensusClassifier, Any, Any],
) -> None:
    """PCA of the pool, kept as it is in every clone: measured .87 with and without it."""
    encoder = PCA(20, random_state=0).fit(X[POOL])
    moot, before, after = improved(make_pipeline(FrozenEstimator(encoder), MODEL), POOL)
    assert (after > before).all()
    assert moot.estimators_[0][0].estimator is encoder
    assert abs(after.mean() - plain[2].mean()) < 0.03
