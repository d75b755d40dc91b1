"""Two performance groups against exact fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import msgspec
import numpy as np
import pytest
from matplotlib.contour import QuadContourSet

from experiments.theory.bounds import performance_groups_bound
from experiments.theory.performance_groups import (
    EXPERIMENT,
    PerformanceGroupsResult,
    crossing,
    gaps,
    sufficient,
)
from folkmoot.theory import SlushChain
from support.oracles import exact as oracle

pytestmark = pytest.mark.slow

CASES = [(6, 5, 5, 3), (8, 3, 4, 3), (10, 1, 9, 5)]  # n1, n2, k, alpha
P2 = [Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(2, 5), Fraction(4, 5)]
NEAR = Fraction(1, 10**9)


@cache
def quick() -> PerformanceGroupsResult:
    result = EXPERIMENT.run(EXPERIMENT.quick, 1)
    assert isinstance(result, PerformanceGroupsResult)
    return result


@cache
def blue(n: int, k: int, alpha: int) -> list[int]:
    return oracle.absorption_sums(*oracle.rates(n, k, alpha, 0, True))[0]


def exact_gap(n1: int, n2: int, k: int, alpha: int, p1: Fraction, p2: Fraction) -> Fraction:
    n = n1 + n2
    law = oracle.poisson_binomial([p1] * n1 + [p2] * n2)
    chances = blue(n, k, alpha)
    slush = sum((x * part for x, part in zip(law, chances, strict=True)), Fraction(0)) / chances[-1]
    return sum(law[(n + 1) // 2 :], Fraction(0)) - slush


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("p2", P2)
def test_crossing_is_where_the_exact_gap_changes_sign(case: tuple[int, int, int, int], p2: Fraction) -> None:
    n1, n2, k, alpha = case
    p1 = crossing(SlushChain(n1 + n2, k, alpha), n1, float(p2))
    p2 = Fraction(float(p2))
    assert exact_gap(*case, Fraction(p1) - NEAR, p2) < 0 < exact_gap(*case, Fraction(p1) + NEAR, p2)


def test_crossing_among_101() -> None:
    p1, p2 = crossing(SlushChain(101, 10, 7), 71, 0.25), Fraction(1, 4)
    near = Fraction(round(p1, 8)).limit_denominator(10**8)
    step = Fraction(1, 10**7)
    assert exact_gap(71, 30, 10, 7, near - step, p2) < 0 < exact_gap(71, 30, 10, 7, near + step, p2)


@pytest.mark.parametrize("case", CASES)
def test_there_is_one_crossing(case: tuple[int, int, int, int]) -> None:
    """Slush ahead below and behind above, for every p2: exact signs over a grid."""
    for p2 in P2:
        exact = [exact_gap(*case, Fraction(i, 40), p2) for i in range(1, 40)]
        signs = [(value > 0) - (value < 0) for value in exact]
        assert signs == sorted(signs)


@pytest.mark.parametrize("p2", P2[:4])
def test_sufficient_is_where_the_first_control_ratio_exceeds_one(p2: Fraction) -> None:
    n1, n2, k, alpha = CASES[0]
    n = n1 + n2
    p1 = Fraction(sufficient(SlushChain(n, k, alpha), n1, float(p2)))

    def largest(p: Fraction) -> Fraction:
        law = oracle.poisson_binomial([p] * n1 + [p2] * n2)
        return max(law[b] / law[n - b] for b in range((n + 1) // 2, n - alpha + 1))

    assert largest(p1 - NEAR) < 1 < largest(p1 + NEAR)


def test_gaps_over_a_grid_are_the_exact_ones() -> None:
    n1, n2, k, alpha = CASES[0]
    points = [Fraction(i, 5) for i in range(6)]
    floats = [float(p) for p in points]
    found = gaps(SlushChain(n1 + n2, k, alpha), n1, floats, floats)
    exact = [[float(exact_gap(n1, n2, k, alpha, p1, p2)) for p2 in points] for p1 in points]
    assert found == pytest.approx(np.array(exact), abs=1e-14)


def test_swapping_the_colours_mirrors_the_border() -> None:
    """P_Maj - P_S changes sign when every p becomes 1 - p, so the border is its own mirror image."""
    for each in quick().groups:
        assert each.crossing == pytest.approx([1 - p for p in reversed(each.crossing)], abs=1e-9)


def test_bound_is_that_of_the_condition_and_not_of_the_region() -> None:
    for each in quick().groups:
        (cross, enough), *others = each.table
        assert enough == pytest.approx(performance_groups_bound(each.n1, each.n2), abs=1e-9)
        assert cross > each.bound
        assert all(condition <= region for region, condition in others)
    judged = {finding.quantity: finding.holds for finding in quick().findings}
    assert judged["p_max > 1/2 for p2 < 1/2"]
    assert judged["every kappa_b < 1 up to ceil(n/2)/(1+n1), at p2 = 0"]
    assert judged["p_max as a bound on where Slush wins"] is False
    assert judged["Slush ahead exactly up to one p1, for every p2"]


def test_both_rules_are_below_chance_at_the_crossing() -> None:
    """p2 < 1/2: the mean participant is, and both accuracies are, below 1/2; at p2 = 1/2 all are 1/2."""
    for each in quick().groups:
        half = quick().p2.index(0.5)
        assert each.crossing[half] == pytest.approx(0.5, abs=1e-9)
        assert max(each.mean[:half]) < 0.5
        assert max(each.majority[:half]) < 0.5
    # At p2 = 0 the majority of 51 and 50 needs all 51.
    first = quick().groups[0]
    assert first.majority[0] == pytest.approx(first.crossing[0] ** 51)


def test_result_is_plain_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(quick()), type=PerformanceGroupsResult) == quick()


def test_picture_has_borders_bounds_and_contours() -> None:
    left, right = EXPERIMENT.figures(quick())["performance-groups"].axes[:2]
    drawn = {str(line.get_label()): line for line in left.get_lines()}
    for each in quick().groups:
        border = drawn[rf"$n_1$={each.n1}, $n_2$={each.n2}"]
        assert np.asarray(border.get_xdata()).tolist() == each.crossing
    marks = [np.asarray(line.get_xdata()).tolist() for line in left.get_lines() if line.get_marker() == "D"]
    assert [[each.bound] for each in quick().groups] == [mark for mark in marks if mark]
    assert any(isinstance(each, QuadContourSet) for each in right.collections)
