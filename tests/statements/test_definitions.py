"""Definitions of the paper that the code spells out as rules."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot import StrongConfidence
from folkmoot.checks import required_votes


@given(st.integers(0, 500).map(lambda m: 2 * m + 1), st.integers(0, 40))
def test_definition_supermajority_rule(n: int, delta: int) -> None:
    """The threshold is ceil(n/2) + delta votes, or ceil(q n)."""
    if (n + 1) // 2 + delta <= n:
        assert required_votes(n, delta) == n // 2 + 1 + delta
    else:
        with pytest.raises(ValueError, match="delta"):
            required_votes(n, delta)


@given(st.integers(1, 1000), st.integers(51, 100))
def test_definition_supermajority_rule_as_a_fraction(n: int, percent: int) -> None:
    votes = required_votes(n, q=percent / 100)
    assert (votes - 1) * 100 < percent * n <= votes * 100


@given(st.integers(1, 40), st.integers(0, 1000))
def test_definition_strong_confidence(k: int, thousandths: int) -> None:
    """alpha >= k p for p > 1/2, the least such, within k/2 < alpha <= k."""
    (alpha,) = StrongConfidence([thousandths / 1000]).thresholds(k).tolist()
    p = Fraction(thousandths, 1000)
    assert alpha >= k * p
    assert k < 2 * alpha <= 2 * k
    assert alpha - 1 < k * p or alpha == k // 2 + 1
