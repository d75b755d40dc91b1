"""Section 4.4 and appendix A.2: perfectly malicious and perfectly faulty participants."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from experiments.theory.bounds import byzantine_asymmetry
from folkmoot.theory import SlushChain, accuracy_gap, majority_accuracy, threshold_accuracy
from support.oracles import exact as oracle
from support.strategies import chains

BETTER = st.floats(0.501, 0.999)
LIARS = chains(most=51, least=3, odd=True, allow_f_over_alpha=False)


@given(LIARS, BETTER)
def test_theorem_perfectly_malicious_nodes(chain: SlushChain, p: float) -> None:
    """The majority beats Slush for p > 1/2, f < alpha and c > f; the same rule for alpha = ceil(n/2)."""
    n, c, f = chain.n, chain.honest, chain.byzantine
    assume(c > f)
    sign = accuracy_gap(chain, p).sign
    if chain.alpha == (n + 1) // 2:
        assert sign == 0
    elif c == (n + 1) // 2 and chain.alpha > c:
        assert sign == 0  # the case the paper overlooks, below
    else:
        assert sign == 1


def test_theorem_perfectly_malicious_nodes_has_a_second_case_of_equality() -> None:
    """Equality "only for alpha = ceil(n/2)" misses n = 2f + 1 with alpha > c.

    Both rules then want every honest participant right: P_Maj = P_S = p^c.
    """
    chain = SlushChain(5, 5, 4, byzantine=2)
    assert chain.alpha != 3
    assert chain.accuracy(0.7) == pytest.approx(0.7**3)
    assert majority_accuracy(5, 0.7, byzantine=2) == pytest.approx(0.7**3)
    assert accuracy_gap(chain, 0.7).sign == 0


@given(chains(most=61, allow_f_over_alpha=False))
def test_rates_with_byzantine_participants(chain: SlushChain) -> None:
    """mu_{n-b} = (n-b)/(c-b) lambda_b wherever both are defined."""
    n, c = chain.n, chain.honest
    for b in range(chain.byzantine + 1, c):
        if 0 < n - b < c:
            assert chain.death[n - b] == pytest.approx((n - b) / (c - b) * chain.birth[b], rel=1e-12, abs=0)


@given(chains(most=61, least=4, allow_f_over_alpha=False))
def test_lemma_slush_asymmetry_with_byzantine(chain: SlushChain) -> None:
    """R_b / B_{n-b} >= prod (n-j)/(c-j) for ceil(n/2) <= b <= n - alpha: strict for b < n - alpha."""
    assume(chain.byzantine > 0)
    n = chain.n
    for b in range((n + 1) // 2, n - chain.alpha + 1):
        log_ratio = chain.log_red[b] - chain.log_blue[n - b]
        excess = log_ratio - math.log(byzantine_asymmetry(n, b, chain.byzantine))
        if b == n - chain.alpha:
            assert excess == pytest.approx(0.0, abs=1e-9)
        else:
            assert excess > 0


def test_lemma_slush_asymmetry_with_byzantine_is_an_equality_at_the_end() -> None:
    """The paper prints ">". At b = n - alpha exact rationals give equality."""
    n, k, alpha, f = 5, 2, 2, 1
    birth, death = oracle.rates(n, k, alpha, f, True)
    blue, red = oracle.absorption_sums(birth, death)
    b = n - alpha
    assert Fraction(red[b], blue[n - b]) == Fraction(3, 2) * Fraction(2, 1)  # (n-j)/(c-j), j = 2, 3
    assert byzantine_asymmetry(n, b, f) == pytest.approx(3.0)


@given(st.integers(1, 15), st.integers(0, 4), st.integers(0, 8), st.fractions(0, 1, max_denominator=20))
def test_perfectly_faulty_participants_are_a_supermajority_of_half_their_number(
    m: int, f: int, delta: int, p: Fraction
) -> None:
    """Counted by hand: f' = 2 delta faulty votes raise the votes needed by delta, not by f' as printed.

    All n + f' first votes are counted, the faulty ones wrong, so ceil((n + f')/2) right ones are needed.
    """
    n = 2 * m + 1
    f = min(f, n - 1)
    c = n - f
    votes = n + 2 * delta
    right = sum(
        (math.comb(c, b) * p**b * (1 - p) ** (c - b) for b in range(c + 1) if 2 * b > votes), Fraction(0)
    )
    assume(m + 1 + delta <= n)
    assert majority_accuracy(n, float(p), delta=delta, byzantine=f) == pytest.approx(float(right), abs=1e-12)
    assert majority_accuracy(votes, float(p), byzantine=f + 2 * delta) == pytest.approx(
        float(right), abs=1e-12
    )


@given(chains(most=51, least=3, odd=True, mixing=True, allow_f_over_alpha=False))
def test_conjecture_perfectly_faulty_participants(chain: SlushChain) -> None:
    """The conjecture holds, and simply: enough faulty votes leave the majority no chance at all.

    With delta = f'/2 such that ceil(n/2) + delta > c, P_Maj = 0 < P_S for every p. And p_th > 1/2
    never needs more than the least delta for which the supermajority of fair coins loses to Slush.
    """
    n, half = chain.n, (chain.n + 1) // 2
    thresholds = [
        threshold_accuracy(
            n, chain.k, chain.alpha, delta=delta, byzantine=chain.byzantine, sampling=chain.sampling
        )
        for delta in range(n - half + 1)
    ]
    known = [value for value in thresholds if not math.isnan(value)]
    assert known == sorted(known)  # every further faulty participant moves p_th up
    fair = chain.accuracy(0.5)
    for delta, value in enumerate(thresholds):
        coins = majority_accuracy(n, 0.5, delta=delta, byzantine=chain.byzantine)
        if abs(fair - coins) > 1e-9 and not math.isnan(value):
            assert (value > 0.5) == (coins < fair)
    if half + 1 <= n and chain.honest >= chain.alpha:
        assert np.nanmax(thresholds) > 0.5


def test_conjecture_numerical_evidence() -> None:
    """Over the paper's grid (n = 101, k = 20, alpha = 14) one unit of delta is enough for every f < alpha."""
    for f in range(14):
        assert threshold_accuracy(101, 20, 14, byzantine=f, delta=1) > 0.5
