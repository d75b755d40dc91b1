from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.checks import required_votes
from folkmoot.theory import SlushChain, accuracy_gap, majority_accuracy, threshold_accuracy
from folkmoot.theory.gap import Gap, control_ratio
from support.oracles import exact as oracle
from support.strategies import chains, draws_itself


def exact_blue(chain: SlushChain) -> tuple[list[int], int]:
    """B_b = blue[b] / total in integers (alpha <= ceil(n/2) assumed)."""
    birth, death = oracle.rates(chain.n, chain.k, chain.alpha, chain.byzantine, draws_itself(chain))
    blue, _ = oracle.absorption_sums(birth, death)
    return blue, blue[-1]


def exact_gap(chain: SlushChain, p: Fraction, needed: int) -> Fraction:
    blue, total = exact_blue(chain)
    return oracle.accuracy_gap(chain.n, chain.byzantine, needed, blue, total, p)


def assert_gap(gap: Gap, exact: Fraction, rel: float = 1e-8) -> None:
    if exact == 0:
        assert gap == Gap(0, -math.inf)
        return
    assert gap.sign == (1 if exact > 0 else -1)
    log = float(mpmath.log(abs(exact.numerator)) - mpmath.log(exact.denominator))
    assert gap.log_magnitude == pytest.approx(log, abs=rel)


@given(
    chains(most=31, mixing=True, allow_f_over_alpha=False),
    st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=128),
    st.data(),
)
def test_gap_equals_exact_rationals(chain: SlushChain, p: Fraction, data: st.DataObject) -> None:
    p = Fraction(round(p * 1024), 1024)  # a number that is itself in binary
    delta = data.draw(st.integers(0, (chain.n - 1) // 2))
    exact = exact_gap(chain, p, required_votes(chain.n, delta))
    assert_gap(accuracy_gap(chain, float(p), delta=delta), exact)
    each = accuracy_gap(chain, [float(p)] * chain.honest, delta=delta)
    positive = majority_accuracy(chain.n, float(p), delta=delta, byzantine=chain.byzantine)
    if exact and abs(float(exact)) > 1e-6 * positive:
        assert each.sign == accuracy_gap(chain, float(p), delta=delta).sign
        assert each.log_magnitude == pytest.approx(
            accuracy_gap(chain, float(p), delta=delta).log_magnitude, abs=1e-6
        )


@pytest.mark.parametrize(
    ("n", "k", "alpha", "f", "delta", "p"),
    [
        (501, 10, 7, 0, 0, Fraction(15, 16)),
        (501, 10, 7, 5, 2, Fraction(255, 256)),
        (401, 20, 14, 0, 4, Fraction(63, 64)),
        (501, 10, 6, 0, 0, Fraction(1, 2) + Fraction(1, 2**40)),
        (301, 10, 8, 0, 3, Fraction(1, 64)),
        (500, 10, 7, 0, 0, Fraction(15, 16)),
        (500, 10, 7, 5, 0, Fraction(255, 256)),
        (500, 10, 6, 0, 0, Fraction(1, 2) + Fraction(1, 2**40)),
    ],
)
def test_gap_is_right_where_both_accuracies_are_one_in_double_precision(
    n: int, k: int, alpha: int, f: int, delta: int, p: Fraction
) -> None:
    chain = SlushChain(n, k, alpha, byzantine=f)
    exact = exact_gap(chain, p, required_votes(n, delta))
    gap = accuracy_gap(chain, float(p), delta=delta)
    assert_gap(gap, exact)
    if p > Fraction(31, 32):
        assert gap.log_magnitude < math.log(1e-200)
        assert majority_accuracy(n, float(p), byzantine=f) == chain.accuracy(float(p)) == 1.0


def test_gap_of_nothing_is_zero() -> None:
    chain = SlushChain(101, 10, 7)
    for p in (0.0, 0.5, 1.0):
        assert accuracy_gap(chain, p) == Gap(0, -math.inf)
    assert Gap(0, -math.inf).value == 0
    assert accuracy_gap(SlushChain(11, 9, 6), 0.7) == Gap(0, -math.inf)  # alpha = ceil(n/2): the same rule
    gap = accuracy_gap(chain, 0.6)
    assert gap.value == pytest.approx(majority_accuracy(101, 0.6) - chain.accuracy(0.6), rel=1e-9)


def assert_exact_crossing(chain: SlushChain, p_th: float, needed: int, width: Fraction) -> None:
    """The sign of the exact difference changes within ``width`` of p_th."""
    centre = Fraction(p_th)
    assert exact_gap(chain, centre - width, needed) < 0 < exact_gap(chain, centre + width, needed)


@given(chains(most=41, least=2, mixing=True, allow_f_over_alpha=False), st.data())
def test_threshold_is_where_the_exact_difference_changes_sign(chain: SlushChain, data: st.DataObject) -> None:
    delta = data.draw(st.integers(0, min(3, (chain.n - 1) // 2)))
    p_th = threshold_accuracy(
        chain.n,
        chain.k,
        chain.alpha,
        delta=delta,
        byzantine=chain.byzantine,
        sampling=chain.sampling,
    )
    needed = required_votes(chain.n, delta)
    if 0 < p_th < 1:
        near = Fraction(min(p_th, 1 - p_th)) / 10**9
        assert_exact_crossing(chain, p_th, needed, near)
    else:
        signs = {accuracy_gap(chain, p, delta=delta).sign for p in np.linspace(0.01, 0.99, 25)}
        assert signs == ({-1} if p_th == 1 else {1} if p_th == 0 else {0})


def test_threshold_on_either_side_of_everything() -> None:
    assert threshold_accuracy(11, 11, 8, delta=0) == 0.0  # 8 of 11 or nothing: the majority is always ahead
    assert threshold_accuracy(11, 9, 5, delta=5) == 1.0  # unanimity: Slush is always ahead
    assert math.isnan(threshold_accuracy(11, 9, 6, delta=0))  # alpha = ceil(n/2): the same rule
    assert threshold_accuracy(101, 10, 7) == 0.5


def test_threshold_for_even_n() -> None:
    """A tie counts half, so without liars the two are level at 1/2; liars move the crossing."""
    assert threshold_accuracy(100, 10, 7) == 0.5
    assert math.isnan(threshold_accuracy(2, 1, 1))  # the voter model: both are right with chance p
    for liars in (1, 2, 5):
        p_th = threshold_accuracy(100, 10, 7, byzantine=liars)
        chain = SlushChain(100, 10, 7, byzantine=liars)
        assert_exact_crossing(chain, p_th, 51, Fraction(1, 10**9))
    p_th = threshold_accuracy(100, 10, 7, delta=1)
    assert_exact_crossing(SlushChain(100, 10, 7), p_th, 52, Fraction(1, 10**9))


def test_frozen_ties() -> None:
    """Where neither colour can win a query, Slush has no answer and the vote is right half of the time."""
    chain = SlushChain(4, 4, 3)  # two of four are frozen
    law = [math.comb(4, b) * 0.6**b * 0.4 ** (4 - b) for b in range(5)]
    assert chain.accuracy(0.6) == pytest.approx(law[3] + law[4])
    assert accuracy_gap(chain, 0.6).value == pytest.approx(law[2] / 2)
    assert threshold_accuracy(4, 4, 3) == 0.0


def test_delta_and_q_are_not_given_both() -> None:
    with pytest.raises(ValueError, match="delta or q"):
        threshold_accuracy(101, 10, 7, delta=1, q=0.6)
    p_th = threshold_accuracy(100, 10, 7, q=0.55)
    assert_exact_crossing(SlushChain(100, 10, 7), p_th, 55, Fraction(1, 10**9))


@given(chains(most=25, least=2, mixing=True, allow_f_over_alpha=False), st.integers(1, 63))
def test_control_ratio_equals_exact_rationals(chain: SlushChain, numerator: int) -> None:
    p = Fraction(numerator, 64)
    c, n = chain.honest, chain.n
    blue, total = exact_blue(chain)
    law = [math.comb(c, b) * p**b * (1 - p) ** (c - b) for b in range(c + 1)]
    ours = control_ratio(chain, float(p))
    each = control_ratio(chain, [float(p)] * c)
    assert ours.shape == (c + 1,)
    for b in range(c + 1):
        if n - b > c or (total == blue[b] and blue[n - b] == 0):
            assert math.isnan(ours[b])
        elif blue[n - b]:
            truth = float((total - blue[b]) * law[b] / (blue[n - b] * law[n - b]))
            assert ours[b] == pytest.approx(truth, rel=1e-9)
            assert each[b] == pytest.approx(truth, rel=1e-9)


def test_control_ratio_of_frozen_states_is_no_number() -> None:
    kappa = control_ratio(SlushChain(7, 7, 6), 0.6)
    assert np.isnan(kappa[2:6]).all()


def test_a_crossing_closer_to_one_than_a_double_is_told_from_none() -> None:
    assert 1 - 1e-15 < threshold_accuracy(501, 100, 100, delta=20) < 1.0
