"""``ConsensusRegressor(weights=)``: peers weighed, or read by a rule, by rows that all have shown."""

from __future__ import annotations

import pickle
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from folkmoot.adversaries import NUMBER_ATTACKS, FarAway
from folkmoot.learning import ParticipantWarning
from folkmoot.old import ConsensusRegressor
from folkmoot.old.checking import WEIGHTS
from folkmoot.simulation.checked_numbers import open_by_weights
from folkmoot.trust import PUBLIC, CheckedNumbers, review_numbers
from folkmoot.trust.number_review import weighted_middle, weights_by_errors

DATA = load_diabetes()
X, Y = DATA.data, DATA.target
RNG = np.random.default_rng(0)


class Off(RegressorMixin, BaseEstimator):
    """Fitted from the start: says the first column, times and plus something."""

    def __init__(self, times: float = 1.0, plus: float = 0.0) -> None:
        self.times = times
        self.plus = plus

    def fit(self, X: Any, y: Any) -> Self:  # noqa: ARG002
        return self

    def predict(self, X: Any) -> Any:
        return self.times * np.asarray(X, dtype=float)[:, 0] + self.plus


def by_hand(values: list[float], weights: list[float], trim: int) -> float:
    """One input: everything moved to the nearest that is not among the extremes, then averaged."""
    order = sorted(values)
    low, high = order[trim], order[-1 - trim]
    moved = [min(max(value, low), high) for value in values]
    return sum(w * v for w, v in zip(weights, moved, strict=True)) / sum(weights)


@pytest.mark.parametrize(("n", "trim"), [(3, 0), (4, 1), (10, 3), (9, 4)])
def test_the_weighted_middle_is_that_of_a_loop_and_stays_in_the_honest_range(n: int, trim: int) -> None:
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=(n, 50, 2)), rng.exponential(size=n)
    found = weighted_middle(values, weights, trim)
    for i in range(50):
        for c in range(2):
            expected = by_hand(values[:, i, c].tolist(), weights.tolist(), trim)
            assert found[i, c] == pytest.approx(expected, rel=1e-12)
    lies = values.copy()
    lies[:trim] = 1e9 * rng.normal(size=(trim, 50, 2))
    weights[:trim] = 1e6  # that they were believed most does not help them
    moved = weighted_middle(lies, weights, trim)
    assert (moved >= values[trim:].min(axis=0)).all()
    assert (moved <= values[trim:].max(axis=0)).all()


def test_weights_fall_with_the_error_and_what_is_not_known_counts_least() -> None:
    weights = weights_by_errors(np.array([1.0, 2.0, 4.0, np.nan]), 9)
    # Typical is the median of 1, 2, 4, 4: 3. Three rows of it are added to the nine.
    expected = [((9 * square / 3 + 3) / 12) ** -4 for square in (1, 2, 4, 4)]
    assert weights == pytest.approx(expected)
    few, many = (weights_by_errors(np.array([1.0, 2.0]), rows) for rows in (1, 100))
    assert 1 < few[0] / few[1] < many[0] / many[1] < 16
    assert weights_by_errors(np.array([np.nan, np.nan]), 5).tolist() == [1, 1]
    assert weights_by_errors(np.array([0.0, 0.0]), 5).tolist() == weights_by_errors(np.zeros(2), 5).tolist()
    assert weights_by_errors(np.array([1.0, 2.0]), 0).tolist() == [1, 1]


@pytest.mark.parametrize("attack", [*NUMBER_ATTACKS])
def test_a_third_of_liars_cannot_move_an_opening_out_of_the_honest_range(attack: str) -> None:
    rng = np.random.default_rng(2)
    values, weights = rng.normal(size=(10, 40, 1)), rng.exponential(size=(10, 10))
    weights[:, :3] *= 100
    liars = {i: NUMBER_ATTACKS[attack]() for i in range(3)}
    opened = open_by_weights(values, weights, liars, 3)
    low, high = values[3:].min(axis=0), values[3:].max(axis=0)
    assert (opened[3:] >= low).all()
    assert (opened[3:] <= high).all()
    assert np.array_equal(opened[:3], values[:3])


def test_errors_are_those_of_models_that_had_not_seen_the_rows() -> None:
    groups = np.arange(442) % 6
    moot = ConsensusRegressor([LinearRegression()], weights="holdout", random_state=0).fit(X, Y, groups)
    squares, rows = moot.checked_.squares, moot.checked_.rows
    assert rows.tolist() == np.bincount(groups).tolist()
    for i in range(6):
        own = groups == i
        for j in range(6):
            if j != i:
                theirs = LinearRegression().fit(X[groups == j], Y[groups == j]).predict(X[own])
                assert squares[i, j] == pytest.approx(np.mean((theirs - Y[own]) ** 2))
        # Its own: more than on rows that it has seen, and about what another split gives.
        seen = np.mean((LinearRegression().fit(X[own], Y[own]).predict(X[own]) - Y[own]) ** 2)
        folds = KFold(5, shuffle=True, random_state=1).split(X[own])
        other = [
            (LinearRegression().fit(X[own][a], Y[own][a]).predict(X[own][b]) - Y[own][b]) ** 2
            for a, b in folds
        ]
        assert squares[i, i] > seen
        assert squares[i, i] == pytest.approx(np.concatenate(other).mean(), rel=0.3)
        assert moot.participants_[i].squared_error == squares[i, i]


def test_a_holdout_is_what_is_shown_and_all_rows_are_fitted() -> None:
    groups = np.arange(442) % 6
    moot = ConsensusRegressor([Ridge(0.1)], weights="holdout", holdout=0.25, random_state=0).fit(X, Y, groups)
    plain = ConsensusRegressor([Ridge(0.1)], random_state=0).fit(X, Y, groups)
    assert moot.checked_.rows.tolist() == [18] * 6  # a quarter of 73 or 74
    assert [p.held_out for p in moot.participants_] == [18] * 6
    assert [p.rows for p in moot.participants_] == np.bincount(groups).tolist()
    assert np.array_equal(moot.transform(X[:5]), plain.transform(X[:5]))
    measured = ConsensusRegressor([Ridge(0.1)], holdout=0.25, random_state=0).fit(X, Y, groups)
    assert not hasattr(measured, "checked_")  # nothing is shown unless it is asked for
    assert np.array_equal(measured.predict(X[:9]), plain.predict(X[:9]))
    assert np.array_equal(moot.set_params(weights=None).predict(X[:9]), plain.predict(X[:9]))


def test_those_who_were_near_on_the_own_rows_count_for_more() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40, 1))
    models = [Off(), Off(1.1), Off(0.9), Off(plus=4), Off(plus=5), Off(plus=6), Off(plus=7)]
    moot = ConsensusRegressor(models, prefit=True, weights="holdout").fit(rows, rows[:, 0])
    alike = ConsensusRegressor(models, prefit=True).fit()
    new = rng.normal(size=(30, 1))
    off, before = (np.abs(each.predict(new) - new[:, 0]).mean() for each in (moot, alike))
    assert off < 0.35 < 2 < before
    # By hand: the same rows for all, so that all open alike, and nothing is left to talk about.
    squares = np.array([np.mean((model.predict(rows) - rows[:, 0]) ** 2) for model in models])
    weights = weights_by_errors(squares, 40).tolist()
    said = np.stack([model.predict(new) for model in models])
    expected = [by_hand(column.tolist(), weights, 2) for column in said.T]
    assert moot.predict(new) == pytest.approx(expected)
    liars = {0: FarAway(), 1: FarAway(-1e9)}  # those that were believed most
    lied = moot.set_params(adversaries=liars).predict(new)
    assert (lied >= said[2:].min(axis=0)).all()
    assert (lied <= said[2:].max(axis=0)).all()


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(2, id="bmi"),
        pytest.param(8, id="s5", marks=pytest.mark.slow),
        pytest.param(0, id="age", marks=pytest.mark.slow),
    ],
)
def test_unlike_groups_of_patients_are_answered_better(column: int) -> None:
    """31 groups by one column; a quarter of them are new. docs/regression.md has more seeds and models."""
    place = np.argsort(np.argsort(X[:, column], kind="stable"), kind="stable")
    groups = place * 31 // 442
    model = make_pipeline(StandardScaler(), Ridge(10.0))
    gains = []
    for seed in range(2):
        new = np.isin(groups, np.random.default_rng(seed).permutation(31)[:7])
        errors = []
        for weights in (None, "holdout", "peer-review"):
            moot = ConsensusRegressor([model], weights=weights, random_state=seed)
            moot.fit(X[~new], Y[~new], groups[~new])
            errors.append(np.sqrt(np.mean((moot.predict(X[new]) - Y[new]) ** 2)))
        gains.append(1 - np.array(errors[1:]) / errors[0])
    assert (np.mean(gains, axis=0) > 0.01).all()


def test_peer_review_by_hand() -> None:
    """What the estimator does is what the rule does with everybody's numbers on everybody's rows."""
    groups = np.arange(442) % 7
    moot = ConsensusRegressor([Ridge(0.1)], weights="peer-review", random_state=0)
    moot.fit(X[:400], Y[:400], groups[:400])
    said = np.stack([model.predict(X) for model in moot.estimators_])[:, :, None]
    order = np.argsort(groups[:400], kind="stable")
    checked = CheckedNumbers(said[:, order], Y[order, None], groups[order], trim=2)
    reviews = review_numbers(checked)
    assert [each.why for each in moot.reviews()] == [each.why for each in reviews]
    openings = np.stack([each.estimate(said[:, 400:])[:, 0] for each in reviews])
    found = moot.predict(X[400:])  # one round of the trimmed mean brings all together
    np.testing.assert_allclose(found, np.sort(openings, axis=0)[2:-2].mean(axis=0))


def test_another_fit_learns_anew() -> None:
    groups = np.arange(200) % 5
    moot = ConsensusRegressor([Ridge(0.1)], weights="peer-review", random_state=0)
    for sign in (1, -1):
        moot.fit(X[:200], sign * Y[:200], groups)
        assert moot.reviews()[0].checked.truth.mean() * sign > 0
        assert list(moot.checked_.learnt) == [(0, 1, 2, 3, 4, 1)]  # kept with its rows, and with no others


def test_peer_review_without_groups_and_after_fit() -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(60, 1))
    models = [Off(), Off(1.1), Off(0.9), Off(plus=4), Off(plus=5), Off(plus=6), Off(plus=7)]
    moot = ConsensusRegressor(models, prefit=True, weights="peer-review").fit(rows, rows[:, 0])
    new = rng.normal(size=(30, 1))
    assert moot.checked_.publisher is not None
    assert (moot.checked_.publisher == PUBLIC).all()
    assert np.abs(moot.predict(new) - new[:, 0]).mean() < 1  # where the mean is off by 3
    again = pickle.loads(pickle.dumps(moot))  # noqa: S301
    assert np.array_equal(again.predict(new), moot.predict(new))
    late = ConsensusRegressor([Ridge()] * 4, weights="holdout").fit(X, Y).set_params(weights="peer-review")
    with pytest.raises(ValueError, match="weights='peer-review' must be given before fit, which shows rows"):
        late.predict(X)
    with pytest.raises(
        ValueError, match="there are reviews only with peer review: set weights='peer-review'"
    ):
        late.set_params(weights="holdout").reviews()


@pytest.mark.parametrize("weights", ["holdout", "peer-review"])
def test_frames_two_outputs_and_reports(weights: Literal["holdout", "peer-review"]) -> None:
    frame = pd.DataFrame(X, columns=DATA.feature_names)
    both = np.stack([Y, -Y], axis=1)
    moot = ConsensusRegressor([Ridge(0.1)] * 6, weights=weights, random_state=0).fit(frame, both)
    assert np.isfinite(moot.checked_.squares).all()
    found = moot.predict(frame[:20])
    assert found == pytest.approx(np.stack([found[:, 0], -found[:, 0]], axis=1))
    assert found[:, 0] == pytest.approx(clone(moot).fit(X, Y).predict(X[:20]), rel=0.05)
    report = moot.report(frame[:50], both[:50], stacking=False)
    by_hand_error = np.sqrt(np.mean((moot.predict(frame[:50]) - both[:50]) ** 2))
    assert report.error("consensus") == pytest.approx(by_hand_error)


class Fails(Off):
    def predict(self, X: Any) -> Any:  # noqa: ARG002
        raise OSError("the disk of this hospital is full")


def test_what_does_not_go_together() -> None:
    models = [Ridge()] * 4
    wrong: Any
    for wrong, why in (
        ({"weights": "accuracy"}, "weights must be 'holdout' or 'peer-review' or None: got 'accuracy'"),
        ({"weights": "holdout", "rule": "median"}, "weights='holdout' needs rule='trimmed-mean'"),
        ({"weights": "holdout", "holdout": 1.0}, "holdout must satisfy 0 <= holdout < 1"),
        ({"holdout": -0.1}, "holdout"),
    ):
        with pytest.raises(ValueError, match=why):
            ConsensusRegressor(models, **wrong).fit(X, Y)
    with pytest.raises(ValueError, match="needs rows that the models were not fitted on: fit"):
        ConsensusRegressor([Off()] * 3, prefit=True, weights="holdout").fit()
    late = ConsensusRegressor(models).fit(X, Y).set_params(weights="holdout")
    with pytest.raises(ValueError, match="weights='holdout' must be given before fit"):
        late.predict(X)
    for weights in WEIGHTS:
        broken = ConsensusRegressor([Off(), Off(), Off(), Fails()], prefit=True, weights=weights).fit(X, Y)
        with pytest.warns(ParticipantWarning, match="predict failed"):
            assert broken.predict(X[:4]) == pytest.approx(X[:4, 0])
