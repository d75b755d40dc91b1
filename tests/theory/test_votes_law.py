from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.theory.votes_law import log_choose, log_poisson_binomial, log_votes_law, poisson_binomial
from support.oracles import exact as oracle


@given(st.lists(st.fractions(0, 1, max_denominator=1000), min_size=1, max_size=25))
def test_poisson_binomial_equals_exact_fractions(p: list[Fraction]) -> None:
    exact = oracle.poisson_binomial(p)
    values = [float(x) for x in p]
    assert poisson_binomial(values) == pytest.approx([float(x) for x in exact], rel=1e-12, abs=0)
    logs = log_poisson_binomial(values)
    for log, truth in zip(logs, exact, strict=True):
        if truth:
            assert log == pytest.approx(
                float(mpmath.log(truth.numerator) - mpmath.log(truth.denominator)), abs=1e-11
            )
        else:
            assert log == -math.inf


def test_ten_thousand_participants_keep_their_relative_accuracy() -> None:
    # Two groups of equal chances: the law is the convolution of two binomials, here in 50 digits.
    n1, n2, p1, p2 = 6000, 4000, Fraction(3, 4), Fraction(1, 3)
    values = [float(p1)] * n1 + [float(p2)] * n2
    law = poisson_binomial(values)
    logs = log_poisson_binomial(values)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert law @ np.arange(10_001) == pytest.approx(float(n1 * p1 + n2 * p2), rel=1e-12)
    with mpmath.workdps(50):
        one, two = (mpmath.mpf(x.numerator) / x.denominator for x in (p1, p2))
        for b in (0, 40, 5000, 5833, 6100, 10_000):
            lowest, highest = max(0, b - n2), min(b, n1)
            term = (
                mpmath.binomial(n1, lowest) * one**lowest * (1 - one) ** (n1 - lowest)
                * mpmath.binomial(n2, b - lowest) * two ** (b - lowest) * (1 - two) ** (n2 - b + lowest)
            )  # fmt: skip
            odds = one / (1 - one) * (1 - two) / two
            total = term
            for j in range(lowest, highest):
                term *= odds * (n1 - j) * (b - j) / ((j + 1) * mpmath.mpf(n2 - b + j + 1))
                total += term
            assert logs[b] == pytest.approx(float(mpmath.log(total)), rel=1e-11, abs=1e-11)
            assert law[b] == pytest.approx(float(total), rel=1e-11, abs=1e-300)


def test_log_choose_equals_exact_integers() -> None:
    for n in (1, 2, 61, 1000):
        exact = [math.log(math.comb(n, b)) for b in range(n + 1)]
        logs = log_choose(n)
        assert logs == pytest.approx(exact, rel=1e-14, abs=1e-14)
        assert np.array_equal(logs, logs[::-1])


@given(st.integers(1, 60), st.fractions(0, 1, max_denominator=100))
def test_equal_accuracies_give_the_binomial_law(n: int, p: Fraction) -> None:
    exact = [math.comb(n, b) * p**b * (1 - p) ** (n - b) for b in range(n + 1)]
    law = np.exp(log_votes_law(float(p), n))
    assert law == pytest.approx([float(x) for x in exact], rel=1e-11, abs=1e-300)
