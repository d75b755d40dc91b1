"""Section 4.3: the control ratio, and two groups of different accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from experiments.theory.bounds import performance_groups_bound
from folkmoot.theory import SlushChain, accuracy_gap
from folkmoot.theory.gap import control_ratio, log_control_ratio
from support.strategies import chains


@given(chains(most=31, least=3, odd=True, honest_only=True, mixing=True), st.data())
def test_definition_control_ratio_decides_where_all_agree(chain: SlushChain, data: st.DataObject) -> None:
    """kappa_b < 1 for all b in ceil(n/2)..n-alpha makes Slush the better, > 1 the majority."""
    n = chain.n
    assume(chain.alpha < (n + 1) // 2)
    p = data.draw(st.lists(st.floats(0.05, 0.95), min_size=n, max_size=n))
    kappa = control_ratio(chain, p)[(n + 1) // 2 : n - chain.alpha + 1]
    if np.all(kappa < 1 - 1e-9):
        assert accuracy_gap(chain, p).sign == -1
    if np.all(kappa > 1 + 1e-9):
        assert accuracy_gap(chain, p).sign == 1


@st.composite
def groups(draw: st.DrawFn) -> tuple[SlushChain, int, int]:
    """A chain with n = n1 + n2, n1 > n2 > 0 and alpha below the first b that decides."""
    n2 = draw(st.integers(1, 14))
    n1 = n2 + 1 + draw(st.integers(0, 16))
    n = n1 + n2
    k = draw(st.integers(1, n - 2))
    top = (n - 1) // 2
    assume(k // 2 + 1 <= top)
    alpha = draw(st.integers(k // 2 + 1, min(k, top)))
    return SlushChain(n, k, alpha), n1, n2


@given(groups(), st.floats(0.01, 0.999))
def test_theorem_performance_groups_with_a_hopeless_second_group(
    case: tuple[SlushChain, int, int], share: float
) -> None:
    """p2 = 0: kappa_b < 1 for all b > n/2, so Slush wins, for every 0 < p1 < p_max.

    The paper's p_max is ceil(n/2) / (1 + n1), for odd n; for even n a tie counts half and kappa_{n/2} = 1.
    """
    chain, n1, n2 = case
    bound = performance_groups_bound(n1, n2)
    assert 0.5 < bound < 1
    p = [share * bound] * n1 + [0.0] * n2
    first = chain.n // 2 + 1
    logs = log_control_ratio(chain, p)[first : chain.n - chain.alpha + 1]
    assert np.all(logs[np.isfinite(logs)] < 0)
    assert accuracy_gap(chain, p).sign == -1
    # At the bound itself the first ratio is exactly 1: no larger p1 has all ratios below 1.
    edge = log_control_ratio(chain, [bound] * n1 + [0.0] * n2)[first]
    assert edge == pytest.approx(0.0, abs=1e-9)


@given(groups(), st.floats(0.0, 0.49))
def test_theorem_performance_groups_p_max_exceeds_one_half(
    case: tuple[SlushChain, int, int], p2: float
) -> None:
    """For p2 < 1/2 Slush wins at p1 = 1/2, hence up to some p_max > 1/2."""
    chain, n1, n2 = case
    assert accuracy_gap(chain, [0.5] * n1 + [p2] * n2).sign == -1
    assert accuracy_gap(chain, [0.2] * n1 + [p2] * n2).sign == -1


def test_theorem_performance_groups_p_max_is_not_an_upper_bound_of_the_region() -> None:
    """ "p_max <= ceil(n/2)/(1+n1)" bounds where all ratios are below 1. Slush still wins a little beyond."""
    chain = SlushChain(11, 5, 3)
    bound = performance_groups_bound(6, 5)
    assert bound == pytest.approx(6 / 7)
    beyond = bound + 0.01
    assert accuracy_gap(chain, [beyond] * 6 + [0.0] * 5).sign == -1
    assert accuracy_gap(chain, [0.9] * 6 + [0.0] * 5).sign == 1


def test_theorem_performance_groups_needs_alpha_below_half() -> None:
    """With alpha = ceil(n/2) Slush is the majority, and with more it is worse."""
    p = [0.55] * 6 + [0.1] * 5
    assert accuracy_gap(SlushChain(11, 9, 6), p).sign == 0
    assert accuracy_gap(SlushChain(11, 9, 7), p).sign == 1


def test_theorem_performance_groups_needs_p1_above_zero() -> None:
    """The interval [0, p_max] is printed closed; at p1 = 0 and n2 < alpha nobody is ever right."""
    chain = SlushChain(11, 9, 5)
    assert accuracy_gap(chain, [0.0] * 8 + [0.4] * 3).sign == 0
    assert accuracy_gap(chain, [0.01] * 8 + [0.4] * 3).sign == -1
