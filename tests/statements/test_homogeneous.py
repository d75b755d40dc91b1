"""Section 4.2: equal accuracies. Condorcet, theorems 1 to 3, the proposition and the two lemmas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.theory.bounds import condorcet_bound, slush_lower_bound
from folkmoot.theory import SlushChain, accuracy_gap, majority_accuracy, threshold_accuracy
from support.strategies import chains, queries

BETTER = st.floats(0.5, 1, exclude_min=True, exclude_max=True).filter(lambda p: 0.5 + 1e-6 < p < 1 - 1e-6)
MIXING = chains(most=61, odd=True, honest_only=True, mixing=True)


@given(st.integers(1, 121), BETTER)
def test_condorcet_s_jury_theorem(n: int, p: float) -> None:
    """P_Maj >= p for p > 1/2, with equality for n = 1, and for n = 2 where ties count half."""
    ours = majority_accuracy(n, p)
    if n <= 2:
        assert ours == pytest.approx(condorcet_bound(n, p), rel=1e-14)
    else:
        assert ours > condorcet_bound(n, p) or ours == pytest.approx(1.0, abs=1e-12)


def test_condorcet_s_jury_theorem_in_the_limit() -> None:
    """P_Maj tends to 1 as n grows."""
    values = [majority_accuracy(n, 0.52) for n in (1, 11, 101, 1001, 10_001)]
    assert values == sorted(values)
    assert values[-1] > 0.9999


@given(MIXING, BETTER)
def test_theorem_slush_convergence_slush_is_at_least_as_accurate_as_its_participants(
    chain: SlushChain, p: float
) -> None:
    """P_S >= p for p > 1/2, given alpha <= ceil(n/2); equality for n = 1 and for k = 1."""
    if chain.n == 1 or chain.k == 1:
        assert chain.accuracy(p) == pytest.approx(p, rel=1e-11)
    else:
        assert chain.accuracy(p) > p


def test_theorem_slush_convergence_needs_alpha_at_most_half() -> None:
    """Counter-example: three participants, unanimity wanted. P_S = p^3 < p."""
    assert SlushChain(3, 3, 3).accuracy(0.6) == pytest.approx(0.6**3)


def test_theorem_slush_convergence_has_a_third_case_of_equality() -> None:
    """Equality "only for n = 1 or p = 1" misses k = alpha = 1: the voter model is as good as one voter."""
    for n in (3, 101, 1001):
        assert SlushChain(n, 1, 1).accuracy(0.6) == pytest.approx(0.6, rel=1e-11)


@given(queries(most_k=20).filter(lambda query: query[0] > 1), st.floats(0.55, 0.95))
def test_theorem_slush_convergence_in_the_limit(query: tuple[int, int], p: float) -> None:
    """For fixed p > 1/2 and k > 1, P_S comes as close to 1 as one likes when n grows."""
    assert SlushChain(8001, *query).accuracy(p) > 1 - 1e-6


def test_theorem_slush_convergence_in_the_limit_needs_a_fixed_p() -> None:
    """ "Any p > 1/2 + 1/n" cannot move with n: for p = 1/2 + 2/n, P_S tends to 1/2."""
    gains = [SlushChain(n, 10, 7).accuracy(0.5 + 2 / n) - 0.5 for n in (101, 1001, 10_001, 100_001)]
    assert gains == sorted(gains, reverse=True)
    assert 0 < gains[-1] < 0.01
    assert SlushChain(10_001, 1, 1).accuracy(0.6) == pytest.approx(0.6, rel=1e-9)  # and k > 1


@given(chains(most=61, odd=True, honest_only=True), BETTER)
def test_theorem_slush_vs_majority_hom(chain: SlushChain, p: float) -> None:
    """The majority beats Slush for 1/2 < p < 1; they are one rule for alpha = ceil(n/2)."""
    expected = 0 if chain.alpha == (chain.n + 1) // 2 else 1
    assert accuracy_gap(chain, p).sign == expected
    assert accuracy_gap(chain, 0.5).sign == (0 if chain.alpha <= (chain.n + 1) // 2 else 1)


@given(queries(most_k=20), st.floats(0.55, 0.95))
def test_proposition_slush_lower_bound(query: tuple[int, int], p: float) -> None:
    """P_S > 1 - exp(-2 (alpha/k - 1/2)^2 k) for p > 1/2 and n large enough."""
    assert SlushChain(8001, *query).accuracy(p) > slush_lower_bound(*query)


def test_proposition_slush_lower_bound_large_enough_depends_on_p() -> None:
    """At any n, p close enough to 1/2 breaks it: P_S is then close to 1/2 and the bound is not."""
    for n in (101, 1001, 10_001):
        assert SlushChain(n, 10, 9).accuracy(0.5 + 0.1 / n) < 0.51 < slush_lower_bound(10, 9)
    # The proof bounds R_{ceil(n/2)} by the Chvatal bound, but it tends to 1/2 (test_absorption.py).
    assert SlushChain(10_001, 10, 9).red[5001] > 0.48


@given(chains(most=61, least=3, odd=True, honest_only=True), st.data())
def test_theorem_slush_vs_delta_majority(chain: SlushChain, data: st.DataObject) -> None:
    """For delta > 0 there is p_th > 1/2 below which Slush wins, given alpha < ceil(n/2) + delta."""
    half = (chain.n + 1) // 2
    delta = data.draw(st.integers(1, chain.n - half))
    p_th = threshold_accuracy(chain.n, chain.k, chain.alpha, delta=delta, sampling=chain.sampling)
    if chain.alpha >= half + delta:  # the condition that the paper leaves out
        assert p_th == 0 if chain.alpha > half + delta else math.isnan(p_th)
        return
    assert p_th > 0.5
    for p in np.linspace(0.02, min(p_th, 0.999) - 1e-9, 7):
        assert accuracy_gap(chain, p, delta=delta).sign == -1


@given(MIXING.filter(lambda chain: chain.n >= 3), st.data())
def test_threshold_is_the_only_crossing(chain: SlushChain, data: st.DataObject) -> None:
    """Not in the paper: the difference changes sign once, so "below" and "above" p_th have one meaning."""
    delta = data.draw(st.integers(0, min(4, chain.n // 2)))
    signs = [accuracy_gap(chain, p, delta=delta).sign for p in np.linspace(0.01, 0.99, 60)]
    assert signs == sorted(signs)


@pytest.mark.parametrize("q", [0.55, 0.6, 0.75])
def test_lemma_slush_convergence(q: float) -> None:
    """For q < p < p_th(q), P_S exceeds the q-supermajority, which tends to 1."""
    accuracies = []
    for n in (101, 501, 2001):
        p_th = threshold_accuracy(n, 10, 7, q=q)
        assert q < p_th
        p = (q + p_th) / 2
        chain = SlushChain(n, 10, 7)
        assert accuracy_gap(chain, p, q=q).sign == -1
        accuracies.append(chain.accuracy(p))
    assert accuracies[-1] > 1 - 1e-9


def test_the_open_question_under_table_2() -> None:
    """p_th(q = 0.55) stays above q: it falls to a limit near 0.86 and not towards 0.55."""
    values = [threshold_accuracy(n, 10, 7, q=0.55) for n in (501, 2001, 8001, 20_001)]
    assert values == sorted(values, reverse=True)
    assert all(0.855 < value < 0.864 for value in values)
    assert values[-2] - values[-1] < 1e-3


@given(
    chains(most=61, honest_only=True), st.lists(st.floats(0.001, 0.999), min_size=2, max_size=2, unique=True)
)
def test_lemma_slush_monotonicity(chain: SlushChain, p: list[float]) -> None:
    """P_S rises strictly with p, and equals the telescoped sum of F(b*, n; p) of the proof."""
    low, high = sorted(p)
    assert chain.accuracy(low) <= chain.accuracy(high) + 1e-12
    if high - low > 1e-3 and chain.accuracy(high) < 1 - 1e-9:
        assert chain.accuracy(low) < chain.accuracy(high)
    steps = np.diff(chain.blue, prepend=0.0)
    law = np.array([math.comb(chain.n, b) * low**b * (1 - low) ** (chain.n - b) for b in range(chain.n + 1)])
    tails = np.cumsum(law[::-1])[::-1]
    assert chain.accuracy(low) == pytest.approx(float(steps @ tails), rel=1e-9, abs=1e-14)
