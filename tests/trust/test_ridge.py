"""The linear rule of peer review against scikit-learn's ridge and against leaving rows out by hand."""

from typing import TypeAlias

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.linear_model import Ridge

from folkmoot.arrays import Floats, Singles
from folkmoot.trust.ridge import STRENGTHS, fit_alone, fit_folds, fit_given

Table: TypeAlias = tuple[Singles, Singles, Singles]


@pytest.fixture(params=[(40, 12), (12, 40)], ids=["more rows", "more features"])
def table(request: pytest.FixtureRequest) -> Table:
    rows, width = request.param
    rng = np.random.default_rng(rows)
    features = rng.normal(size=(rows, width)).astype(np.float32)
    bases = rng.normal(size=(2, rows, 3)).astype(np.float32)
    target = (0.7 * bases[0] + features[:, :3] + rng.normal(size=(rows, 3))).astype(np.float32)
    return features, bases, target


def _rest(bases: Singles, target: Singles, pulls: Floats) -> Floats:
    return np.asarray(target - np.tensordot(pulls, bases, axes=1))


def test_the_pulls_are_least_squares_that_are_not_negative(table: Table) -> None:
    features, bases, target = table
    negative = np.stack([bases[0], -target])  # following the second would help only backwards
    pulls = fit_given(features, negative, target, 1.0).pulls
    expected = nnls(negative.reshape(2, -1).T.astype(float), target.ravel().astype(float))[0]
    np.testing.assert_allclose(pulls, expected, atol=1e-5)
    assert pulls[1] == 0


def test_the_weights_are_those_of_ridge_regression(table: Table) -> None:
    features, bases, target = table
    linear = fit_given(features, bases, target, 10.0)
    peer = Ridge(alpha=10.0, fit_intercept=False).fit(features, _rest(bases, target, linear.pulls))
    np.testing.assert_allclose(linear.weights, peer.coef_.T, atol=2e-4)


def test_alone_one_row_is_left_out_at_a_time_and_the_best_strength_is_taken(table: Table) -> None:
    features, bases, target = table
    linear = fit_alone(features, bases, target)
    rest = _rest(bases, target, linear.pulls)

    def left_out(strength: float) -> Floats:
        guesses = []
        for row in range(len(target)):
            others = np.arange(len(target)) != row
            peer = Ridge(alpha=strength, fit_intercept=False).fit(features[others], rest[others])
            guesses.append(peer.predict(features[[row]])[0])
        return np.array(guesses)

    errors = [((rest - left_out(strength)) ** 2).sum() for strength in STRENGTHS]
    assert linear.strength == STRENGTHS[int(np.argmin(errors))]
    unseen = left_out(linear.strength) + np.tensordot(linear.pulls, bases, axes=1)
    np.testing.assert_allclose(linear.unseen, unseen, atol=2e-3)


def test_whole_folds_are_left_out(table: Table) -> None:
    features, bases, target = table
    fold = np.arange(len(target)) % 4
    linear = fit_folds(features, bases, target, fold, np.arange(len(target)))
    rest = _rest(bases, target, linear.pulls)
    for part in range(4):
        out = fold == part
        peer = Ridge(alpha=linear.strength, fit_intercept=False).fit(features[~out], rest[~out])
        expected = peer.predict(features[out]) + np.tensordot(linear.pulls, bases[:, out], axes=1)
        np.testing.assert_allclose(linear.unseen[out], expected, atol=2e-3)


def test_the_strength_may_be_chosen_on_some_rows_and_the_rule_is_fitted_to_all(table: Table) -> None:
    features, bases, target = table
    some = np.arange(0, len(target), 2)
    linear = fit_folds(features, bases, target, np.arange(len(target)) % 3, some)
    assert linear.rows.tolist() == some.tolist()
    assert linear.unseen.shape == (len(some), 3)
    peer = Ridge(alpha=linear.strength, fit_intercept=False).fit(features, _rest(bases, target, linear.pulls))
    np.testing.assert_allclose(linear.weights, peer.coef_.T, atol=2e-3)
