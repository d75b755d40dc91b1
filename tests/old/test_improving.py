"""``ConsensusClassifier.improve``: new models from agreed labels, and what becomes of bad input."""

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from folkmoot import ConsensusClassifier, Slush
from folkmoot.adversaries import ConstantClass, PerfectlyMalicious, Silent
from folkmoot.datasets import load_digits_moot, load_femnist
from folkmoot.learning import ParticipantWarning
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
    X, y = np.concatenate([data.X[own], data.X_test[:300]]), np.concatenate([data.y[own], found.labels[3]])
    np.testing.assert_allclose(moot.estimators_[3].theta_, GaussianNB().fit(X, y).theta_)
    alone = GaussianNB().fit(data.X_test[:300], found.labels[3])
    assert found.changes[3].after == (alone.predict(data.X[own]) == data.y[own]).sum()
    person = moot.participants_[3]
    assert (person.right, person.held_out, person.rows) == (found.changes[3].after, len(own), len(own) + 300)
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


def test_check_rows_are_at_most_half_of_the_rows_or_all_and_more_of_them_do_no_harm(data: Any) -> None:
    shown: dict[Any, list[int]] = {}
    after = {}
    choices: tuple[Any, ...] = (0, 5, "all")
    for rows in choices:
        moot = fitted(data, holdout=None).improve(data.X_test[:300], check_rows=rows)
        shown[rows] = [each.shown for each in moot.improvement_.changes]
        after[rows] = scores(moot, data).mean()
    assert set(shown[0]) == {0}
    assert set(shown[5]) == {5}
    assert shown["all"] == [each.rows for each in moot.improvement_.changes]
    assert min(after.values()) > 0.65


@pytest.mark.parametrize("liar", [PerfectlyMalicious(), ConstantClass(0), Silent()])
def test_liars_lie_in_what_they_announce_and_the_honest_improve_all_the_same(data: Any, liar: object) -> None:
    liars = dict.fromkeys(range(7), liar)
    moot = fitted(data, adversaries=liars)
    before = scores(moot, data)[7:]
    moot.improve(data.X_test[:300], y=data.y_test[:300])
    after = scores(moot, data)[7:]
    assert after.mean() > before.mean() + 0.1
    assert (after >= before).all()


def test_liars_that_must_know_the_truth_need_it(data: Any) -> None:
    moot = fitted(data, adversaries=3)
    with pytest.raises(ValueError, match="must know the truth"):
        moot.improve(data.X_test[:300])
    with pytest.raises(ValueError, match="one label for each input of the pool \\(300\\): got 2"):
        moot.improve(data.X_test[:300], y=data.y_test[:2])


def test_votes_on_shown_rows_are_those_of_the_new_models(data: Any) -> None:
    moot = fitted(data, trust="peer-review")
    labels = moot.checked_.truth.copy()
    moot.improve(data.X_test[:300])
    np.testing.assert_array_equal(moot.checked_.truth, labels)
    assert moot.shown_ is not None
    said = np.array([each.predict(moot.shown_.X) for each in moot.estimators_])
    np.testing.assert_array_equal(moot.checked_.votes, said)


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


def test_a_failed_improve_leaves_everything_as_it_was(data: Any) -> None:
    moot = fitted(data)
    people, answers = moot.participants_, moot.votes(data.X_test[300:])
    frame = pd.DataFrame(data.X_test[:50])
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (data.X_test[:0], {}, "at least one input to agree on: got none"),
        ([], {}, "at least one input to agree on: got none"),
        (data.X_test[:50, :3], {}, "X has 3 features, but ConsensusClassifier is expecting 64"),
        (frame, {}, "of the kind that was fitted on, an array: got a pandas DataFrame"),
        (data.X_test[:50], {"check_rows": "some"}, "check_rows must be a number of rows or 'all'"),
        (data.X_test[:50], {"check_rows": -1}, "check_rows must"),
    ]
    for pool, options, line in cases:
        with pytest.raises(ValueError, match=line) as caught:
            moot.improve(pool, **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(TypeError, match="safe must be True or False: got 'no'"):
        moot.improve(data.X_test[:50], safe="no")  # type: ignore[arg-type]
    assert moot.participants_ is people
    assert not hasattr(moot, "improvement_")
    np.testing.assert_array_equal(moot.votes(data.X_test[300:]), answers)


def test_it_needs_rows_which_neither_prefit_models_nor_pickles_have(data: Any) -> None:
    with pytest.raises(NotFittedError):
        ConsensusClassifier([GaussianNB()] * 2).improve(data.X_test)
    moot = fitted(data)
    again = pickle.loads(pickle.dumps(moot))  # noqa: S301
    assert data.X[:1].tobytes() not in pickle.dumps(moot)
    with pytest.raises(
        ValueError, match="improve needs labelled rows of each participant: fit\\(X, y\\) again"
    ):
        again.improve(data.X_test)
    models = moot.estimators_
    prefit = ConsensusClassifier(models, prefit=True, protocol=Slush(3, 2)).fit()
    with pytest.raises(ValueError, match="labelled rows of each participant: fit\\(X, y, groups\\)"):
        prefit.improve(data.X_test)
    prefit.fit(data.X_test[:240], data.y_test[:240], groups=np.arange(240) % PARTICIPANTS)
    prefit.improve(data.X_test[240:], check_rows="all")
    assert prefit.improvement_.mean[1] > prefit.improvement_.mean[0]


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
        moot = ConsensusClassifier(
            [model], holdout=None, adversaries=dict.fromkeys(range(liars), ConstantClass(3)), random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            moot.fit(whole.X[own], whole.y[own], groups=whole.groups[own])
            before = np.array([each.score(X[300:], y[300:]) for each in moot.estimators_])[liars:]
            moot.improve(X[:300], check_rows="all")
        after = np.array([each.score(X[300:], y[300:]) for each in moot.estimators_])[liars:]
        assert after.mean() > before.mean() + 0.1
        assert (after > before).all()
