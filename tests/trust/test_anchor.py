"""The posterior of the own accuracy, against exact integrals of polynomials."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.trust import Anchor


def beta_integral(a: int, b: int, low: Fraction) -> Fraction:
    """The integral of t^(a-1) (1-t)^(b-1) from ``low`` to 1, term by term."""
    total = Fraction(0)
    for i in range(b):
        power = a + i
        total += (-1) ** i * math.comb(b - 1, i) * (1 - low**power) / power
    return total


@given(st.integers(0, 12), st.integers(0, 12), st.integers(2, 5), st.fractions(0, 1, max_denominator=20))
def test_tail_is_that_of_the_beta_posterior(right: int, wrong: int, classes: int, x: Fraction) -> None:
    a, b = right + 1, wrong + classes - 1
    exact = beta_integral(a, b, x) / beta_integral(a, b, Fraction(0))
    anchor = Anchor.of_counts(right, right + wrong, classes)
    assert anchor.tail(float(x)) == pytest.approx(float(exact), abs=1e-12)


@given(st.integers(0, 12), st.integers(0, 12), st.integers(2, 5))
def test_mean_and_spread_are_those_of_the_beta_posterior(right: int, wrong: int, classes: int) -> None:
    a, b = right + 1, wrong + classes - 1
    whole = beta_integral(a, b, Fraction(0))
    mean = beta_integral(a + 1, b, Fraction(0)) / whole
    second = beta_integral(a + 2, b, Fraction(0)) / whole
    anchor = Anchor.of_counts(right, right + wrong, classes)
    assert anchor.accuracy == pytest.approx(float(mean))
    assert anchor.standard_error == pytest.approx(math.sqrt(second - mean**2))


def test_seven_of_ten_is_better_than_chance_and_six_is_not() -> None:
    # P(p > 1/2) is 0.887 and 0.726.
    assert Anchor.of_counts(7, 10).better_than_chance()
    assert not Anchor.of_counts(7, 10).better_than_chance(0.9)
    assert not Anchor.of_counts(6, 10).better_than_chance()
    assert not Anchor.of_counts(0, 0).better_than_chance()
    assert Anchor.of_counts(3, 10, classes=10).better_than_chance()  # three times chance


def test_who_answers_without_looking_is_not_better_than_chance() -> None:
    always_zero = Anchor.of_confusion([[18, 0], [2, 0]])  # 90% right
    # 20 answers 0, each beside 19 other rows, of which 18 * 17 + 2 * 18 pairs have the truth 0.
    assert always_zero.chance == pytest.approx((18 * 17 + 2 * 18) / (20 * 19))
    assert not always_zero.better_than_chance()
    one_class = Anchor.of_confusion([[20, 0], [0, 0]])  # all right, on rows of one colour
    assert one_class.chance == 1.0
    assert not one_class.better_than_chance(0.5)
    assert Anchor.of_confusion([[17, 1], [0, 2]]).better_than_chance()
    assert Anchor.of_confusion([[0, 5], [5, 0]]).chance == pytest.approx(50 / 90)
    assert not Anchor.of_confusion([[1, 0], [0, 0]]).better_than_chance(0.5)
    three = Anchor.of_holdout([4, 7, 1], [4, 7, 1], 10)  # three rows, all right, no two alike
    assert three.chance == 0.1
    assert three.better_than_chance()


def test_a_holdout_is_counted_row_by_row() -> None:
    anchor = Anchor.of_holdout([0, 1, 1, 2, -1], [0, 1, 2, 2, 0], classes=3)
    assert anchor.counts == ((1, 0, 0), (0, 1, 0), (0, 1, 1))
    assert (anchor.right, anchor.held_out, anchor.classes) == (3, 4, 3)


def test_confusion_starts_at_the_accuracy_and_goes_to_the_counts() -> None:
    plain = Anchor.of_counts(5, 7, classes=3)  # (5 + 1) / (7 + 3)
    np.testing.assert_allclose(plain.confusion, [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    few = Anchor.of_confusion([[3, 1], [0, 4]])  # accuracy 8/10, two rows of it for each colour
    np.testing.assert_allclose(few.confusion, [[4.6 / 6, 1.4 / 6], [0.4 / 6, 5.6 / 6]])
    many = Anchor.of_confusion([[90_000, 10_000], [30_000, 70_000]])
    np.testing.assert_allclose(many.confusion, [[0.9, 0.1], [0.3, 0.7]], atol=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Anchor.of_counts(3, 2), "right must satisfy right <= held_out: got right=3, held_out=2"),
        (lambda: Anchor.of_counts(-1, 2), "right must satisfy right >= 0"),
        (lambda: Anchor.of_counts(1, 2, classes=1), "classes must satisfy classes >= 2"),
        (lambda: Anchor.of_confusion([[1, 2, 3]]), r"square table .*: got shape \(1, 3\)"),
        (lambda: Anchor.of_confusion([[1, -2], [0, 1]]), "none negative"),
        (lambda: Anchor.of_confusion([[1.5, 2.0], [0.0, 1.0]]), "whole numbers"),
        (lambda: Anchor.of_holdout([0, 1], [0], 2), r"one length: got the shapes \(2,\) and \(1,\)"),
        (lambda: Anchor.of_holdout([0, 1], [0, 2], 2), "0 <= class < 2: got 2"),
        (lambda: Anchor.of_counts(1, 2).tail(1.5), "x must satisfy 0 <= x <= 1"),
    ],
)
def test_bad_holdouts_are_named(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]
