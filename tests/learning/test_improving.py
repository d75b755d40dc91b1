"""``ConsensusClassifier.improve``: new models from agreed labels, and what becomes of bad input."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from folkmoot import ConsensusClassifier
from folkmoot.adversaries import ConstantClass
from folkmoot.datasets import load_digits_moot, load_femnist
from folkmoot.learning.participants import ParticipantWarning
from support.shared_data import FEMNIST, needs

PARTICIPANTS = 12


@pytest.fixture(scope="module")
def data() -> Any:
    return load_digits_moot(n_participants=PARTICIPANTS)


def fitted(data: Any, **options: Any) -> ConsensusClassifier:
    moot = ConsensusClassifier([GaussianNB()], random_state=0, **options)
    return moot.fit(data.X, data.y, groups=data.groups)


def scores(moot: ConsensusClassifier, data: Any) -> np.ndarray:
    return np.array([each.score(data.X_test[300:], data.y_test[300:]) for each in moot.estimators_])


@pytest.fixture(scope="module")
def improved(data: Any) -> tuple[ConsensusClassifier, np.ndarray]:
    moot = fitted(data)
    before = scores(moot, data)
    assert moot.improve(data.X_test[:300]) is moot
    return moot, before


def test_models_of_few_rows_get_much_better(
    data: Any, improved: tuple[ConsensusClassifier, np.ndarray]
) -> None:
    moot, before = improved
    after = scores(moot, data)
    assert after.mean() > before.mean() + 0.15
    assert after.min() > before.max()
    assert (after >= before).all()


def test_the_new_model_is_that_of_own_rows_and_agreed_ones(
    data: Any, improved: tuple[ConsensusClassifier, np.ndarray]
) -> None:
    moot, _ = improved
    found = moot.improvement_
    name = data.participants[3]
    own = data.rows(name)
    X, y = np.concatenate([data.X[own], data.X_test[:300]]), np.concatenate([data.y[own], found.agreed[3]])
    np.testing.assert_allclose(moot.estimators_[3].theta_, GaussianNB().fit(X, y).theta_)
    alone = GaussianNB().fit(data.X_test[:300], found.agreed[3])
    assert found.changes[3].became == (alone.predict(data.X[own]) == data.y[own]).mean()
    person = moot.participants_[3]
    assert (person.accuracy, person.held_out, person.rows) == (
        found.changes[3].became,
        len(own),
        len(own) + 300,
    )
    np.testing.assert_allclose(
        found.changes[3].model.theta_, GaussianNB().fit(data.X[own], data.y[own]).theta_
    )


def test_the_table_says_what_changed(improved: tuple[ConsensusClassifier, np.ndarray]) -> None:
    found = improved[0].improvement_
    told = found.to_dict()
    assert len(told["participants"]) == PARTICIPANTS
    assert told["inputs"] == 300
    shares = [each["after"] for each in told["participants"]]
    assert told["mean"]["after"] == pytest.approx(np.mean(shares))
    assert not told["refused"]
    assert told["worst"]["after"] == pytest.approx(min(shares))
    assert "worst" in str(found)
    assert all(each["shown"] == 10 for each in told["participants"])
    assert len(found.models) == PARTICIPANTS


def test_a_careful_participant_keeps_its_model_where_its_own_rows_speak_against_the_new_one() -> None:
    """Eleven agree on which class is which; the labels of the twelfth are the other way round."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12 * 30, 16))
    y, groups = (X[:, 0] > 0).astype(int), np.repeat(np.arange(12), 30)
    y[groups == 11] = (X[groups == 11, 1] > 0).astype(int)  # it looks at something else
    pool = rng.normal(size=(200, 16))
    moot = ConsensusClassifier([GaussianNB()], random_state=0).fit(X, y, groups=groups)
    with pytest.warns(ParticipantWarning, match=r"'11 \(.* keeps its old model"):
        moot.improve(pool, safe=True)
    last = moot.improvement_.changes[11]
    assert last.why is not None
    assert moot.estimators_[11] is last.model
    assert moot.participants_[11].rows == 30
    assert all(each.improved for each in moot.improvement_.changes[:11])


def test_who_has_one_class_or_one_row_keeps_its_model_and_says_why(data: Any) -> None:
    X = np.concatenate([data.X, data.X[:4]])
    y = np.concatenate([data.y, [3, 3, 3, 5]])
    groups = np.array([*map(str, data.groups), "same", "same", "same", "single"])
    moot = ConsensusClassifier([GaussianNB()], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParticipantWarning)
        moot.fit(X, y, groups=groups)
        models = moot.named_estimators_
        moot.improve(data.X_test[:300])
    refused = moot.improvement_.refused
    assert set(refused) == {"same", "single"}
    assert "one class only" in refused["same"]
    assert "one row" in refused["single"]
    assert moot.named_estimators_["same"] is models["same"]
    assert moot.votes(data.X_test[300:]).shape == (PARTICIPANTS + 2, 150)


@needs(FEMNIST)
def test_handwritten_digits_of_a_dozen_writers() -> None:
    """Nine writers with 24 digits each, 300 inputs: nobody lies, or five always say 3."""
    whole: Any = load_femnist(FEMNIST, task="characters", writers=9, test_writers=6, min_samples=100, seed=3)
    digits, test = whole.y < 10, whole.y_test < 10
    rng = np.random.default_rng(0)
    own = np.concatenate(
        [rng.permutation(np.flatnonzero((whole.groups == name) & digits))[:24] for name in whole.participants]
    )
    order = rng.permutation(int(test.sum()))
    X, y = whole.X_test[test][order], whole.y_test[test][order]
    model = LogisticRegression(max_iter=30)
    for liars in (0, 5):
        moot = ConsensusClassifier([model], holdout=None, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            moot.fit(whole.X[own], whole.y[own], groups=whole.groups[own])
            before = np.array([each.score(X[300:], y[300:]) for each in moot.estimators_])[liars:]
            moot.improve(X[:300], rows="all", adversaries=dict.fromkeys(range(liars), ConstantClass(3)))
        after = np.array([each.score(X[300:], y[300:]) for each in moot.estimators_])[liars:]
        assert after.mean() > before.mean() + 0.1
        assert (after > before).all()
