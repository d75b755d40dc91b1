"""The digits are scikit-learn's, each once, and everyone can learn from their share."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from folkmoot.datasets import load_digits_moot


@pytest.mark.parametrize(("n", "alpha"), [(101, 1.0), (101, 0.05), (7, 0.5), (600, 1.0)])
def test_everyone_gets_two_rows_of_two_classes(n: int, alpha: float) -> None:
    data = load_digits_moot(n, alpha, seed=3)
    assert data.participants.tolist() == list(range(n))
    assert data.X.shape == (1347, 64)
    for participant in data.participants:
        mine = data.rows(participant)
        assert len(mine) >= 2
        assert len(set(data.y[mine])) >= 2


def test_rows_are_the_digits_each_once() -> None:
    data = load_digits_moot(seed=5)
    assert data.X_test is not None
    assert data.y_test is not None
    original = load_digits()
    mine = np.column_stack([np.vstack([data.X, data.X_test]) * 16, np.concatenate([data.y, data.y_test])])
    theirs = np.column_stack([original.data, original.target])
    assert sorted(map(tuple, mine)) == sorted(map(tuple, theirs))
    assert np.bincount(data.y_test).tolist() == pytest.approx(np.bincount(original.target) / 4, abs=1)


def test_seed_and_skew() -> None:
    one, again, other = load_digits_moot(seed=1), load_digits_moot(seed=1), load_digits_moot(seed=2)
    assert np.array_equal(one.groups, again.groups)
    assert np.array_equal(one.X, again.X)
    assert not np.array_equal(one.groups, other.groups)
    assert np.median(load_digits_moot(alpha_dirichlet=0.05).summary().classes_each) < np.median(
        load_digits_moot(alpha_dirichlet=50.0).summary().classes_each
    )


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="test_size must leave 10 rows to test and two rows per participant"):
        load_digits_moot(800)
    with pytest.raises(ValueError, match="alpha must satisfy 0 < alpha"):
        load_digits_moot(alpha_dirichlet=0.0)
    with pytest.raises(KeyError, match="no participant is called 101"):
        load_digits_moot().rows(101)
