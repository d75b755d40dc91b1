from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import binom

from folkmoot.checks import required_votes
from folkmoot.theory import majority_accuracy
from support.oracles import exact as oracle


@given(st.integers(1, 61), st.data())
def test_equals_exact_sums_for_unequal_accuracies(n: int, data: st.DataObject) -> None:
    f = data.draw(st.integers(0, n - 1))
    delta = data.draw(st.integers(0, (n - 1) // 2))
    p = data.draw(st.lists(st.fractions(0, 1, max_denominator=40), min_size=n - f, max_size=n - f))
    law = oracle.poisson_binomial(p)
    truth = sum(law[n // 2 + 1 + delta :], Fraction(0))
    if delta == 0 and n % 2 == 0 and n // 2 < len(law):
        truth += law[n // 2] / 2
    ours = majority_accuracy(n, [float(x) for x in p], delta=delta, byzantine=f)
    assert ours == pytest.approx(float(truth), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("p", [0.0, 1e-5, 0.3, 0.5, 0.6, 0.999, 1.0])
def test_equals_the_incomplete_beta_function(p: float) -> None:
    for n in (1, 3, 101, 1001):
        needed = (n + 1) // 2
        assert majority_accuracy(n, p) == pytest.approx(betainc(needed, n - needed + 1, p), rel=1e-11)


@pytest.mark.parametrize("p", [0.0, 1e-5, 0.3, 0.5, 0.6, 0.999, 1.0])
@pytest.mark.parametrize("n", [2, 4, 40, 100, 1000])
def test_a_tie_counts_half(n: int, p: float) -> None:
    """Scipy's closed forms: the tail and half of the middle; and an even n is as good as n - 1."""
    half = binom.sf(n // 2, n, p) + binom.pmf(n // 2, n, p) / 2
    assert majority_accuracy(n, p) == pytest.approx(half, rel=1e-11)
    assert majority_accuracy(n, p) == pytest.approx(majority_accuracy(n - 1, p), rel=1e-11)


@pytest.mark.parametrize(("n", "byzantine"), [(n, f) for n in range(1, 8) for f in (0, 1, 3) if f < n])
def test_equals_brute_force_over_all_votes(n: int, byzantine: int) -> None:
    """Every vote of every honest participant, with exact rationals; liars are wrong."""
    honest = n - byzantine
    p = [Fraction(i + 2, honest + 3) for i in range(honest)]
    truth = Fraction(0)
    for votes in product([0, 1], repeat=honest):
        chance = math.prod(x if vote else 1 - x for x, vote in zip(p, votes, strict=True))
        right = sum(votes)
        wrong = n - right
        truth += chance * (Fraction(1, 2) if right == wrong else int(right > wrong))
    ours = majority_accuracy(n, [float(x) for x in p], byzantine=byzantine)
    assert ours == pytest.approx(float(truth), rel=1e-13)


def test_not_reaching_a_supermajority_is_no_tie() -> None:
    assert majority_accuracy(4, 1.0, byzantine=2) == 0.5
    assert majority_accuracy(4, 1.0, byzantine=2, delta=1) == 0.0
    assert majority_accuracy(4, 1.0, byzantine=2, q=0.6) == 0.0
    assert majority_accuracy(4, 1.0, byzantine=1, delta=1) == 0.0  # three of four; all are needed
    assert majority_accuracy(4, 1.0, byzantine=1) == 1.0


def test_q_is_the_fraction_that_was_written() -> None:
    assert required_votes(100, q=0.55) == 55  # 0.55 * 100 is 55.00000000000001 in binary
    assert required_votes(101, q=0.55) == 56
    assert required_votes(6, q=Fraction(5, 6)) == 5
    assert required_votes(9, q=1.0) == 9
    assert [required_votes(101, d) for d in range(3)] == [51, 52, 53]
    assert [required_votes(100, d) for d in range(3)] == [51, 52, 53]
    assert majority_accuracy(101, 0.6, q=0.55) == majority_accuracy(101, 0.6, delta=5)


def test_a_byzantine_majority_leaves_nothing() -> None:
    assert majority_accuracy(9, 1.0, byzantine=5) == 0.0
    assert majority_accuracy(9, 1.0, byzantine=4) == 1.0


@pytest.mark.parametrize(
    ("n", "p", "options", "message"),
    [
        (10, 0.6, {"delta": 5}, r"floor\(n/2\) \+ 1 \+ delta <= n: got delta=5, n=10"),
        (11, 0.6, {"delta": -1}, "delta >= 0: got delta=-1"),
        (11, 0.6, {"delta": 6}, r"floor\(n/2\) \+ 1 \+ delta <= n: got delta=6, n=11"),
        (11, 0.6, {"q": 0.5}, "1/2 < q <= 1: got q=0.5"),
        (11, 0.6, {"q": 1.01}, "0 <= q <= 1: got q=1.01"),
        (11, 0.6, {"q": math.nan}, "got q=nan"),
        (11, 0.6, {"q": 0.6, "delta": 1}, "delta or q, not both"),
        (11, 0.6, {"byzantine": 11}, "0 <= byzantine < n: got byzantine=11, n=11"),
        (11, 1.1, {}, "0 <= p <= 1"),
        (11, [0.6] * 10, {}, "got 10 values"),
    ],
)
def test_bad_input(n: int, p: object, options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        majority_accuracy(n, p, **options)  # type: ignore[arg-type]
