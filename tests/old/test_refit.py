"""``refit``: the rows held out are given back once they have told the accuracy, which stays what it was."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from folkmoot import Slush
from folkmoot.learning import ParticipantWarning
from folkmoot.old import ConsensusClassifier
from folkmoot.old.ballot import anchors_of
from support.models import Threshold, Witness

N = 8
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=240) > 0, "yes", "no")
GROUPS = RNG.integers(0, N, 240)
MINE = [np.flatnonzero(np.equal(GROUPS, i)) for i in range(N)]
PLACE = {row.tobytes(): i for i, row in enumerate(X)}


class Memoriser(ClassifierMixin, BaseEstimator):
    """Right on every row it was fitted on, wrong on every other: it tells whether a row was seen."""

    fits = 0

    def fit(self, X: Any, y: Any) -> Self:
        type(self).fits += 1
        self.classes_ = np.unique(y)
        self.seen_ = {row.tobytes(): label for row, label in zip(np.asarray(X), y, strict=True)}
        return self

    def predict(self, X: Any) -> Any:
        right = {row.tobytes(): label for row, label in zip(globals()["X"], Y, strict=True)}
        other = {"yes": "no", "no": "yes"}
        rows = [row.tobytes() for row in np.ascontiguousarray(X)]
        return np.array([self.seen_.get(row, other[right[row]]) for row in rows])


class Picky(Threshold):
    """Refuses to be fitted on one certain row, which it would answer; or fails to answer it, too."""

    def __init__(self, answers: bool = True) -> None:
        super().__init__(0.0, ("no", "yes"))
        self.answers = answers

    def fit(self, X: Any, y: Any) -> Self:
        if 9.0 in np.asarray(X)[:, 1]:
            raise ValueError("nine is too much. And more about it")
        self.rows_ = len(y)
        return self

    def predict(self, X: Any) -> Any:
        if not self.answers and 9.0 in np.asarray(X)[:, 1]:
            raise ValueError("nine is unheard of")
        return super().predict(X)


def places(model: Any) -> list[int]:
    return [PLACE[row.tobytes()] for row in np.ascontiguousarray(model.X_)]


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["shards", "groups"])
def test_the_model_has_seen_all_its_rows_and_its_accuracy_is_of_one_that_had_not(groups: Any) -> None:
    moot = ConsensusClassifier([Witness()] * N, holdout=0.25, random_state=0)
    again = clone(moot).fit(X, Y, groups, sample_weight=np.arange(240.0))
    once = clone(moot).set_params(refit=False).fit(X, Y, groups, sample_weight=np.arange(240.0))
    assert sorted(i for model in again.estimators_ for i in places(model)) == list(range(240))
    for new, old in zip(again.participants_, once.participants_, strict=True):
        own, kept = places(new.model), places(old.model)
        held = sorted(set(own) - set(kept))
        assert set(kept) < set(own)
        assert new.rows == len(own) == old.rows + old.held_out
        assert new.model.weights_.tolist() == own  # each row has its weight still
        # The accuracy by hand, of the model that has not seen these rows:
        right = sum(Y[i] == old.model.answer_ for i in held)
        assert (new.right, new.held_out) == (old.right, old.held_out) == (right, len(held))
        assert sorted(new.confusion) == sorted(old.confusion)
        assert {true for true, _, _ in new.confusion} == set(Y[held])


def test_anchors_are_of_models_that_had_not_seen_the_rows() -> None:
    moot = ConsensusClassifier([Memoriser()] * N, random_state=0).fit(X, Y, GROUPS)
    assert np.all(moot.accuracies_ == 0)  # fitted again it would have them all right
    anchors = anchors_of(moot.participants_, moot.classes_)
    assert all(anchor is not None and anchor.right == 0 and anchor.held_out > 0 for anchor in anchors)
    for i, model in enumerate(moot.estimators_):
        assert np.all(model.predict(X[MINE[i]]) == Y[MINE[i]])


def test_the_refitted_forest_is_the_one_fitted_by_hand_with_its_seed() -> None:
    moot = ConsensusClassifier([RandomForestClassifier(5)], random_state=7).fit(X, Y, GROUPS)
    for i, model in enumerate(moot.estimators_):
        mine = MINE[i]
        by_hand = RandomForestClassifier(5, random_state=model.random_state).fit(X[mine], Y[mine])
        assert np.array_equal(by_hand.predict_proba(X), model.predict_proba(X))
    assert len({model.random_state for model in moot.estimators_}) == N
    two = clone(moot).set_params(n_jobs=2).fit(X, Y, GROUPS)
    assert np.array_equal(two.votes(X), moot.votes(X))
    assert two.accuracies_.tolist() == moot.accuracies_.tolist()


def test_columns_stay_those_of_the_participant() -> None:
    columns = [[i % 3] for i in range(N)]
    moot = ConsensusClassifier([Witness()] * N, columns=columns, random_state=0).fit(X, Y, GROUPS)
    for i, model in enumerate(moot.estimators_):
        assert np.array_equal(model.X_, X[MINE[i]][:, columns[i]])


def test_nothing_is_fitted_twice_where_nothing_is_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for options, fits in (({}, 2), ({"refit": False}, 1), ({"holdout": None}, 1), ({"holdout": 0}, 1)):
        monkeypatch.setattr(Memoriser, "fits", 0)
        ConsensusClassifier([Memoriser()] * N, random_state=0, **options).fit(X, Y, GROUPS)
        assert Memoriser.fits == fits * N, options
    models = [Memoriser().fit(X, Y) for _ in range(N)]
    monkeypatch.setattr(Memoriser, "fits", 0)
    moot = ConsensusClassifier(models, prefit=True).fit(X, Y)
    assert Memoriser.fits == 0
    assert all(own is model for own, model in zip(moot.estimators_, models, strict=True))


def test_one_class_stays_one_answer() -> None:
    y = np.where(GROUPS == 3, "yes", Y)
    with pytest.warns(ParticipantWarning, match="'3': rows of one class only"):
        moot = ConsensusClassifier([GaussianNB()], random_state=0).fit(X, y, GROUPS)
    alone = moot.participants_[3]
    assert alone.constant
    assert alone.rows == (GROUPS == 3).sum()
    assert np.isnan(alone.accuracy)


@pytest.mark.parametrize("answers", [True, False])
def test_a_model_that_cannot_be_fitted_on_the_rows_held_out_goes_on_without_them(answers: bool) -> None:
    plain = ConsensusClassifier([Witness()] * N, refit=False, random_state=0).fit(X, Y, GROUPS)
    held = next(i for i in np.flatnonzero(GROUPS == 2) if i not in places(plain.estimators_[2]))
    odd = X.copy()
    odd[held, 1] = 9.0
    line = r"'2 \(ValueError: nine is too much\)': goes on with the model that has not seen its held-out rows"
    with pytest.warns(
        ParticipantWarning, match=line if answers else r"'2 \(ValueError: nine is unheard of\)'"
    ):
        moot = ConsensusClassifier([Picky(answers)], random_state=0).fit(odd, Y, GROUPS)
    one, old = moot.participants_[2], plain.participants_[2]
    assert one.rows == one.model.rows_ == old.rows
    assert one.held_out == (old.held_out if answers else 0)
    assert [p.rows for p in moot.participants_[3:]] == [p.rows + p.held_out for p in plain.participants_[3:]]


def test_a_search_may_choose_it() -> None:
    search = GridSearchCV(
        ConsensusClassifier([GaussianNB()] * 4, protocol=Slush(3, 2), random_state=0),
        {"refit": [True, False]},
        cv=2,
    ).fit(X, Y)
    assert {each["refit"] for each in search.cv_results_["params"]} == {True, False}
    sizes = [p.rows for p in search.best_estimator_.participants_]
    assert sum(sizes) == (240 if search.best_params_["refit"] else 192)
