"""Synthetic votes are right as often as they should be, and the beta law is SciPy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from experiments.theory.beta_law import beta_accuracies, beta_parameters
from folkmoot.datasets import homogeneous_votes
from folkmoot.datasets.synthetic import group_votes


@given(st.floats(0.01, 0.99), st.floats(0.001, 0.999))
def test_beta_parameters_invert_mean_and_variance(mean: float, share: float) -> None:
    variance = share * mean * (1 - mean)
    a, b = beta_parameters(mean, variance)
    assert stats.beta.mean(a, b) == pytest.approx(mean)
    assert stats.beta.var(a, b) == pytest.approx(variance)


def test_the_printed_variance_of_the_paper_is_not_the_variance() -> None:
    a, b = beta_parameters(0.7, 0.01)
    assert a * b / ((a + b) ** 2 * (a + b + 1)) == pytest.approx(0.01)
    assert a * b / ((a + b) ** 2 * (1 + b + 1)) > 0.02


def test_beta_accuracies_follow_the_law() -> None:
    drawn = beta_accuracies(5000, 0.6, 0.02, seed=1)
    assert stats.kstest(drawn, stats.beta(*beta_parameters(0.6, 0.02)).cdf).pvalue > 0.01
    assert np.array_equal(drawn, beta_accuracies(5000, 0.6, 0.02, seed=1))


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_votes_are_right_with_probability_p(classes: int) -> None:
    votes, truth, accuracies = homogeneous_votes(101, 0.6, 2000, seed=4, classes=classes)
    assert votes.shape == (101, 2000)
    assert votes.dtype == np.int64
    assert accuracies.tolist() == [0.6] * 101
    right = votes == truth
    assert abs(right.mean() - 0.6) < 4 * np.sqrt(0.24 / right.size)
    # Wrong votes fall on the other colours alike: distance from the truth is uniform over 1..C-1.
    offsets = np.bincount(((votes - truth) % classes)[~right], minlength=classes)[1:]
    assert stats.chisquare(offsets).pvalue > 0.001 if classes > 2 else offsets.size == 1


@given(st.integers(1, 200), st.integers(2, 7), st.integers(0, 9))
def test_truth_is_balanced(inputs: int, classes: int, seed: int) -> None:
    truth = homogeneous_votes(1, 1.0, inputs, seed, classes=classes).truth
    counts = np.bincount(truth, minlength=classes)
    assert counts.size == classes
    assert counts.max() - counts.min() <= 1


def test_votes_of_different_participants_and_inputs_are_independent() -> None:
    votes, truth, _ = homogeneous_votes(40, 0.7, 4000, seed=2)
    right = (votes == truth).astype(float)
    between = np.corrcoef(right)[np.triu_indices(40, 1)]
    assert np.abs(between).max() < 5 / np.sqrt(4000)
    assert abs(np.corrcoef(right[:, :-1].ravel(), right[:, 1:].ravel())[0, 1]) < 4 / np.sqrt(160_000)


def test_groups_stand_in_their_order() -> None:
    votes, truth, accuracies = group_votes([(3, 1.0), (2, 0.0)], 50, truth=np.arange(50) % 2)
    assert accuracies.tolist() == [1, 1, 1, 0, 0]
    assert (votes[:3] == truth).all()
    assert (votes[3:] == 1 - truth).all()


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_seeds_decide(one: int, other: int) -> None:
    assume(one != other)
    first = homogeneous_votes(5, 0.5, 40, one)
    assert np.array_equal(first.votes, homogeneous_votes(5, 0.5, 40, one).votes)
    assert not np.array_equal(first.votes, homogeneous_votes(5, 0.5, 40, other).votes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: beta_parameters(0.7, 0.21), r"0 < variance < mean \(1 - mean\) = 0.21: got variance=0.21"),
        (lambda: beta_parameters(0.7, 0.0), r"0 < variance < mean \(1 - mean\)"),
        (lambda: beta_parameters(1.0, 0.1), "mean must satisfy 0 < mean < 1: got mean=1.0"),
        (lambda: beta_parameters(0.5, 1e-320), "variance must not be within rounding of 0"),
        (lambda: homogeneous_votes(0, 0.5, 10), "n must satisfy n >= 1: got n=0"),
        (lambda: homogeneous_votes(3, 1.5, 10), "p must satisfy 0 <= p <= 1: got p=1.5"),
        (lambda: homogeneous_votes(3, 0.5, 0), "inputs must satisfy inputs >= 1: got inputs=0"),
        (lambda: homogeneous_votes(3, 0.5, 9, classes=1), "classes must satisfy classes >= 2"),
        (
            lambda: homogeneous_votes(3, 0.5, 2, truth=[0, 2]),
            r"truth\[1\] must satisfy 0 <= class < 2: got 2",
        ),
        (
            lambda: homogeneous_votes(3, 0.5, 2, truth=[0]),
            r"one class per input \(2\): got shape \(1,\)",
        ),
        (lambda: group_votes([], 5), "groups must hold at least one pair"),
        (lambda: group_votes([(2, 0.5), (0, 0.5)], 5), r"groups\[1\]\[0\] must satisfy"),
        (lambda: group_votes([(2, 1.5)], 5), r"groups\[0\]\[1\] must satisfy 0 <="),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match=r"groups\[0\] must be a pair \(n, p\): got 3"):
        group_votes([3], 5)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="truth must be integers"):
        homogeneous_votes(2, 0.5, 2, truth=[0.0, 0.5])
    with pytest.raises(TypeError, match="variance must be a number: got variance='x'"):
        beta_parameters(0.5, "x")  # type: ignore[arg-type]
