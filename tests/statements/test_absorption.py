"""Section 2.3 and appendix A: the absorption probabilities of Slush.

Where a statement of the paper needs a condition it does not mention, the test of its name checks it
under that condition and the test beside it, ``..._needs_...``, shows the counter-example.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.protocols.sampling import log_tail
from folkmoot.theory import SlushChain
from folkmoot.theory.bounds import absorption_bound, chvatal_bound
from folkmoot.theory.logsum import logsum
from folkmoot.theory.votes_law import log_votes_law
from support.oracles import exact as oracle
from support.strategies import chains, draws_itself, law_of

HONEST = chains(most=81, honest_only=True, mixing=True)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60))
def test_hypergeometric_normalisation(n1: int, n2: int, k: int) -> None:
    """Equation "hypergeometric distr normalisation"; it holds for all n1, n2, not only those >= k."""
    assert sum(math.comb(n1, j) * math.comb(n2, k - j) for j in range(k + 1)) == math.comb(n1 + n2, k)
    if 0 < k <= n1 + n2:
        sure = log_tail(n1 + n2, k, np.ones(k + 1, dtype=np.bool_), np.array([n1]))
        assert sure == pytest.approx([0.0], abs=1e-12)


@given(chains(most=81, allow_f_over_alpha=False))
def test_vanishing_rates(chain: SlushChain) -> None:
    """Equation "vanishing rates": birth is 0 below alpha, death above n - alpha, and nowhere else inside."""
    b = np.arange(chain.honest + 1)
    inside = (b > 0) & (b < chain.honest)
    assert np.array_equal(chain.birth[inside] > 0, b[inside] >= chain.alpha)
    assert np.array_equal(chain.death[inside] > 0, b[inside] <= chain.n - chain.alpha)


@given(chains(most=81, honest_only=True))
def test_definition_transition_rates_are_mirror_images(chain: SlushChain) -> None:
    """lambda_b = mu_{n-b} without Byzantine participants: of the definition, and of ours."""
    birth, death = oracle.rates(chain.n, chain.k, chain.alpha, 0, draws_itself(chain))
    assert birth == death[::-1]
    unit = math.comb(chain.n if draws_itself(chain) else chain.n - 1, chain.k)
    assert chain.birth == pytest.approx([float(Fraction(x, unit)) for x in birth], rel=1e-11, abs=0)
    assert np.array_equal(chain.birth, chain.death[::-1])


@given(chains(most=81, mixing=True, allow_f_over_alpha=False))
def test_theorem_slush_absorption_and_corollary_exact_zeta_solve_the_kolmogorov_equations(
    chain: SlushChain,
) -> None:
    """(mu + lambda) R_b = lambda R_{b+1} + mu R_{b-1}, with R_0 = 1, R_c = 0; the same for B."""
    birth, death = chain.birth[1:-1], chain.death[1:-1]
    for values, ends in ((chain.red, (1, 0)), (chain.blue, (0, 1))):
        assert (values[0], values[-1]) == ends
        balance = birth * (values[2:] - values[1:-1]) + death * (values[:-2] - values[1:-1])
        assert np.abs(balance).max(initial=0) <= 1e-13 * chain.n
    if chain.byzantine == 0:
        assert chain.blue + chain.red == pytest.approx(np.ones(chain.honest + 1), abs=1e-14)


def test_absorption_rates_adding_up_to_one_needs_alpha_at_most_half() -> None:
    """Definition "Slush absorption rates": R_b + B_b = 1. With alpha > ceil(n/2) some states never move."""
    chain = SlushChain(5, 5, 5)
    assert (chain.blue + chain.red).tolist() == [1, 0, 0, 0, 0, 1]
    assert chain.distribution(3, 10_000)[3] == 1.0
    # So "R_b = 1 for b < alpha" and "R_b = 0 for b > n - alpha" contradict each other at b = 3.
    assert chain.n - chain.alpha < 3 < chain.alpha


@given(chains(most=81))
def test_remark_slush_absorption_monotonicity(chain: SlushChain) -> None:
    """B_b never falls and R_b never rises with b; B_b rises strictly from alpha-1 to n-alpha+1."""
    assert np.all(np.diff(chain.blue) >= 0)
    assert np.all(np.diff(chain.red) <= 0)
    first, last = chain.alpha, min(chain.n - chain.alpha, chain.honest - 1)
    if first <= last:
        assert np.all(np.diff(chain.log_blue[first : last + 1]) > 0)
        assert np.all(np.diff(chain.log_red[first : last + 1]) < 0)


@given(chains(most=81, honest_only=True))
def test_lemma_slush_symmetry(chain: SlushChain) -> None:
    """R_b = B_{n-b} as long as all participants are honest: in exact integers, and so in ours."""
    blue, red = oracle.absorption_sums(*oracle.rates(chain.n, chain.k, chain.alpha, 0, draws_itself(chain)))
    assert red == blue[::-1]
    assert np.array_equal(chain.log_red, chain.log_blue[::-1])
    if blue[-1]:
        assert chain.blue == pytest.approx([float(Fraction(x, blue[-1])) for x in blue], rel=1e-11, abs=0)


def test_lemma_slush_symmetry_needs_honest_participants() -> None:
    chain = SlushChain(11, 5, 3, byzantine=1)
    assert chain.red[6] > chain.blue[5]


@given(HONEST)
def test_lemma_slush_symmetry_majority_absorption_is_at_least_b_over_n(chain: SlushChain) -> None:
    """B_b >= b/n for b >= ceil(n/2), strictly between the ends unless k = alpha = 1."""
    n = chain.n
    for b in range((n + 1) // 2, n + 1):
        assert chain.blue[b] >= absorption_bound(n, b) - 1e-14
        if chain.k > 1 and n / 2 < b < n:
            assert chain.blue[b] > absorption_bound(n, b)


@given(st.integers(1, 200), st.booleans())
def test_lemma_slush_symmetry_equality_for_k_alpha_one(n: int, self_sampling: bool) -> None:
    chain = SlushChain(n, 1, 1, sampling=law_of(self_sampling or n == 1))
    assert chain.blue == pytest.approx(np.arange(n + 1) / n, rel=1e-12)


def test_lemma_slush_symmetry_bound_needs_alpha_at_most_half() -> None:
    """With alpha > ceil(n/2) a majority of b < alpha is frozen: B_b = 0 < b/n."""
    assert SlushChain(7, 5, 5).blue[4] == 0 < absorption_bound(7, 4)


@given(HONEST)
def test_lemma_b_minus_1_b_plus_1_at_most_b_squared(chain: SlushChain) -> None:
    """B_{b-1} B_{b+1} <= B_b^2 for ceil(n/2) <= b < n, with equality only for b > n - alpha."""
    log = chain.log_blue
    for b in range(max(1, (chain.n + 1) // 2), chain.n):
        if log[b - 1] == -math.inf:
            continue
        excess = log[b - 1] + log[b + 1] - 2 * log[b]
        assert excess <= 0
        if b <= chain.n - chain.alpha:
            assert excess < 0
    # The step to certainty is strict too: at b = n-alpha+1 the left side is B_{n-alpha} < 1.
    edge = chain.n - chain.alpha + 1
    if chain.n / 2 <= edge < chain.n and chain.alpha <= chain.n - chain.alpha:
        assert log[edge - 1] < 2 * log[edge] == 0


@given(chains(most=81, honest_only=True, mixing=True))
def test_lemma_b_minus_1_b_plus_1_extends_to_all_b(chain: SlushChain) -> None:
    """The paper's numerical remark: the lemma holds for 1 <= b <= n-1, with equality for b < alpha."""
    log = chain.log_blue
    for b in range(chain.alpha + 1, chain.n):
        assert log[b - 1] + log[b + 1] - 2 * log[b] <= 1e-12 * abs(log[b])


@given(st.integers(1, 30), st.data())
def test_lemma_f_p_monotonicity(n: int, data: st.DataObject) -> None:
    """d/dp F(b*, n; p) = C(n, b*) b* p^(b*-1) (1-p)^(n-b*), with the derivative taken term by term."""
    b_star = data.draw(st.integers(0, n))
    p = data.draw(st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=100))
    derivative = sum(
        math.comb(n, b) * (b * p ** (b - 1) * (1 - p) ** (n - b) - (n - b) * p**b * (1 - p) ** (n - b - 1))
        for b in range(b_star, n + 1)
    )
    closed = math.comb(n, b_star) * b_star * p ** (b_star - 1) * (1 - p) ** (n - b_star) if b_star else 0
    assert derivative == closed
    # And of the law of the votes as we compute it, by a central difference.
    step = 1e-5
    high, low = (math.exp(logsum(log_votes_law(float(p) + side, n)[b_star:])) for side in (step, -step))
    assert (high - low) / (2 * step) == pytest.approx(float(closed), rel=1e-4, abs=1e-5)


@given(st.integers(3, 81), st.data())
def test_chvatal_bound_holds_for_one_query(n: int, data: st.DataObject) -> None:
    """What Chvatal (1979) proves: H(n, n-b, k, alpha) <= exp(-2 (alpha/k - 1 + b/n)^2 k) for b >= n/2."""
    k = data.draw(st.integers(1, n))
    alpha = data.draw(st.integers(k // 2 + 1, k))
    b = data.draw(st.integers((n + 1) // 2, n))
    query = Fraction(oracle.tail(n, n - b, k, alpha), math.comb(n, k))
    assert float(query) <= chvatal_bound(n, k, alpha, b) * (1 + 1e-12)


def test_chvatal_bound_fails_for_the_absorption_probability() -> None:
    """The paper states it of R_b. Exact rationals refute it already for five participants."""
    birth, death = oracle.rates(5, 2, 2, 0, True)
    blue, red = oracle.absorption_sums(birth, death)
    assert Fraction(red[3], blue[-1]) == Fraction(1, 4)
    assert chvatal_bound(5, 2, 2, 3) < 0.237 < 0.25
    # It holds in the paper's figure (n = 61) and fails for the same k and alpha from n = 201 on.
    assert all(SlushChain(61, 10, 7).red[b] <= chvatal_bound(61, 10, 7, b) for b in range(31, 62))
    for n in (201, 501, 2001):
        middle = (n + 1) // 2
        assert SlushChain(n, 10, 7).red[middle] > chvatal_bound(n, 10, 7, middle)
