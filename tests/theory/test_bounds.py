from __future__ import annotations

import math
from fractions import Fraction

import pytest

from experiments.theory.bounds import (
    byzantine_asymmetry,
    condorcet_bound,
    performance_groups_bound,
    slush_lower_bound,
)
from folkmoot.theory.bounds import absorption_bound, chvatal_bound


def test_each_bound_is_the_formula_of_the_paper() -> None:
    assert condorcet_bound(11, 0.7) == 0.7
    assert absorption_bound(61, 40) == 40 / 61
    assert chvatal_bound(61, 10, 7, 40) == pytest.approx(math.exp(-20 * (0.7 - 1 + 40 / 61) ** 2), rel=1e-14)
    assert slush_lower_bound(10, 7) == pytest.approx(1 - math.exp(-0.8), rel=1e-14)
    assert performance_groups_bound(60, 41) == 51 / 61
    b, n, f = 60, 101, 5
    c = n - f
    factorials = Fraction(math.factorial(b), math.factorial(n - b - 1)) * Fraction(
        math.factorial(c - b - 1), math.factorial(b - f)
    )
    assert byzantine_asymmetry(n, b, f) == pytest.approx(float(factorials), rel=1e-12)
    assert byzantine_asymmetry(n, b, 0) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: condorcet_bound(11, 0.5), "p > 1/2: got p=0.5"),
        (lambda: condorcet_bound(11, math.nan), "got p=nan"),
        (lambda: absorption_bound(61, 30), r"ceil\(n/2\) <= b <= n: got b=30, n=61"),
        (lambda: absorption_bound(61, 62), "got b=62, n=61"),
        (lambda: chvatal_bound(61, 10, 5, 40), "k/2 < alpha <= k: got alpha=5, k=10"),
        (lambda: chvatal_bound(5, 10, 6, 4), "1 <= k <= n: got k=10, n=5"),
        (lambda: slush_lower_bound(10, 11), "k/2 < alpha <= k: got alpha=11, k=10"),
        (lambda: performance_groups_bound(5, 6), "n1 > n2: got n1=5, n2=6"),
        (lambda: byzantine_asymmetry(11, 8, 3), "b < n - byzantine: got b=8, n - byzantine = 8"),
    ],
)
def test_bounds_refuse_what_their_condition_excludes(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
