"""The rules against exact fractions, brute force and scipy; what each guarantees, and what it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from folkmoot.aggregation import GeometricMedian, Krum, Mean, Median, TrimmedMean, geometric_median
from folkmoot.aggregation import rule as rule_module
from folkmoot.aggregation.naming import RULES
from folkmoot.aggregation.rule import Rule
from support.oracles import rules as oracle

Floats = npt.NDArray[np.float64]
# Few different coordinates, so that ties are common, and some of any size.
COORDINATES = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3))


@st.composite
def clouds(draw: st.DrawFn, *, least: int = 1, most: int = 9, dimensions: tuple[int, int] = (1, 3)) -> Floats:
    """(m, d) values."""
    shape = draw(st.integers(least, most)), draw(st.integers(*dimensions))
    return draw(arrays(np.float64, shape, elements=COORDINATES))


def exact(cloud: Floats) -> list[oracle.Number]:
    return [oracle.number(*value) for value in cloud]


def assert_close(got: Floats, expected: oracle.Number, cloud: Floats) -> None:
    slack = 1e-13 * (1.0 + np.abs(cloud).max())
    np.testing.assert_allclose(got, [float(x) for x in expected], rtol=0, atol=slack)


@given(clouds(), st.data())
def test_trimmed_mean_is_the_mean_of_the_middle(cloud: Floats, data: st.DataObject) -> None:
    m = len(cloud)
    assert_close(TrimmedMean().combine(cloud), oracle.trimmed_mean(exact(cloud), oracle.safe_trim(m)), cloud)
    trim = data.draw(st.integers(0, (m - 1) // 2))
    assert_close(TrimmedMean(trim).combine(cloud), oracle.trimmed_mean(exact(cloud), trim), cloud)


@given(clouds())
def test_mean_and_median(cloud: Floats) -> None:
    assert_close(Mean().combine(cloud), oracle.mean(exact(cloud)), cloud)
    assert_close(Median().combine(cloud), oracle.median(exact(cloud)), cloud)


@given(arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=st.integers(-9, 9)))
def test_krum_by_brute_force(whole: npt.NDArray[np.int64]) -> None:
    # Whole numbers: the squares are exact, so ties are ties.
    cloud = whole.astype(np.float64)
    for trim in range(max(0, (len(cloud) - 3) // 2) + 1):
        assert Krum(trim).combine(cloud).tolist() == [float(x) for x in oracle.krum(exact(cloud), trim)]


def test_krum_by_default_trims_what_both_conditions_allow() -> None:
    for m in range(1, 40):
        most = max(t for t in range(m) if t == 0 or (3 * t < m and 2 * t + 2 < m))
        assert Krum().trimmed(m) == most
        cloud = np.random.default_rng(m).normal(size=(m, 2))
        assert Krum().combine(cloud).tolist() == Krum(most).combine(cloud).tolist()


@example(np.array([[0, 0], [1, 0], [0, -1], [1, -1], [2e-31, -1], [0, 0]]))  # two are nearly one
@given(clouds(least=2, dimensions=(2, 3)))
def test_no_point_has_a_lower_sum_of_distances(cloud: Floats) -> None:
    found = GeometricMedian().combine(cloud)
    diameter = np.abs(cloud[:, None] - cloud).max()

    def total(point: Floats) -> float:
        return oracle.sum_of_distances(point.tolist(), cloud.tolist())

    for start in (*cloud, cloud.mean(axis=0), found):
        rival = minimize(total, start, method="Nelder-Mead", options={"maxiter": 300})
        assert total(found) <= min(rival.fun, total(start)) + 1e-8 * diameter


def test_known_geometric_medians() -> None:
    # The Fermat point of an equilateral triangle is its centre, that of a wide one its blunt corner; of a
    # convex quadrilateral it is where the diagonals cross.
    high = np.sqrt(0.75)
    triangle = GeometricMedian().combine([[0, 0], [1, 0], [0.5, high]])
    np.testing.assert_allclose(triangle, [0.5, high / 3], atol=1e-9)
    np.testing.assert_allclose(GeometricMedian().combine([[-9, 0], [9, 0], [0, 1]]), [0, 1], atol=1e-15)
    np.testing.assert_allclose(GeometricMedian().combine([[0, 0], [4, 4], [1, 3], [3, 1]]), [2, 2], atol=1e-9)
    assert GeometricMedian().combine([[2.5, -1.0]] * 7).tolist() == [2.5, -1.0]
    # A value that is the median: the plain iteration of 1937 divides by zero there.
    cross = [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]]
    np.testing.assert_allclose(GeometricMedian().combine(cross), [0, 0], atol=1e-15)


def test_every_step_to_the_geometric_median_lowers_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first step leaves a value; without Vardi and Zhang's factor it would go too far.
    values = np.random.default_rng(4).normal(size=(400, 5, 2))
    before = [min(oracle.sum_of_distances(p, cloud) for p in cloud) for cloud in values.tolist()]
    for steps in range(1, 6):
        monkeypatch.setattr(geometric_median, "_STEPS", steps)
        points = GeometricMedian().combine(values).tolist()
        after = [oracle.sum_of_distances(p, cloud) for p, cloud in zip(points, values.tolist(), strict=True)]
        assert (np.array(after) <= np.array(before) + 1e-12).all()
        before = after


@given(clouds(dimensions=(1, 1)))
def test_in_one_dimension_the_geometric_median_is_the_median(cloud: Floats) -> None:
    assert GeometricMedian().combine(cloud).tolist() == Median().combine(cloud).tolist()


@given(clouds(least=3, dimensions=(2, 3)), st.integers(0, 2**32 - 1))
def test_the_geometric_median_does_not_depend_on_the_axes(cloud: Floats, seed: int) -> None:
    if len(cloud) % 2 == 0:
        cloud = cloud[1:]  # an even number on a line has many
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(cloud.shape[1],) * 2))
    there = GeometricMedian().combine(cloud @ turn)
    turned = GeometricMedian().combine(cloud) @ turn
    # Where the sum is flat the point is loose, so the sums are compared.
    one, other = (oracle.sum_of_distances(p.tolist(), (cloud @ turn).tolist()) for p in (there, turned))
    assert one == pytest.approx(other, rel=1e-8, abs=1e-12)


# ---- what all rules have in common ------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
@given(cloud=clouds(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_values_does_not_matter(name: str, cloud: Floats, seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(cloud)
    rule = RULES[name]()
    assert rule.combine(shuffled).tolist() == rule.combine(cloud).tolist()


@pytest.mark.parametrize("name", RULES)
def test_a_result_depends_on_its_own_values_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    rule = RULES[name]()
    for m, d in ((1, 1), (2, 3), (7, 1), (7, 2), (16, 5)):
        values = rng.normal(size=(3, 4, m, d)) * 10.0 ** rng.integers(-3, 4, size=(3, 4, 1, 1))
        together = rule.combine(values)
        assert together.shape == (3, 4, d)
        for i, j in np.ndindex(3, 4):
            assert rule.combine(values[i, j]).tolist() == together[i, j].tolist()
        assert rule.combine(np.asfortranarray(values)).tolist() == together.tolist()
        with monkeypatch.context() as small:
            small.setattr(rule_module, "_BLOCK", 3 * m * d)
            assert rule.combine(values).tolist() == together.tolist()
    assert rule.combine(np.empty((0, 5, 2))).shape == (0, 2)


@pytest.mark.parametrize("name", RULES)
@given(cloud=clouds(), shift=st.integers(-8, 8), power=st.integers(-4, 4))
def test_moving_and_stretching_the_values_does_so_to_the_result(
    name: str, cloud: Floats, shift: int, power: int
) -> None:
    cloud = np.round(cloud * 8) / 8  # so that both are exact
    rule = RULES[name]()
    moved = rule.combine((cloud + shift) * 2.0**power)
    slack = 1e-9 * (1.0 + np.abs(cloud).max()) * 2.0**power
    np.testing.assert_allclose(moved, (rule.combine(cloud) + shift) * 2.0**power, rtol=0, atol=slack)


@pytest.mark.parametrize("name", RULES)
def test_equal_values_stay(name: str) -> None:
    for m in range(1, 12):
        assert RULES[name]().combine([[0.1, -7e50]] * m).tolist() == [0.1, -7e50]


# ---- validity ----------------------------------------------------------------------------------


@given(clouds(least=1, most=8), st.data())
def test_trimmed_mean_and_median_stay_in_the_honest_range(honest: Floats, data: st.DataObject) -> None:
    h, d = honest.shape
    extreme = st.one_of(COORDINATES, st.sampled_from([-1e100, 1e100, *honest.ravel().tolist()]))
    few = data.draw(st.integers(0, (h - 1) // 2))  # h + f > 3 f
    many = data.draw(st.integers(0, h - 1))  # f < m / 2
    for rule, f in ((TrimmedMean(), few), (TrimmedMean(few), few), (Median(), many)):
        lies = data.draw(arrays(np.float64, (f, d), elements=extreme))
        result = rule.combine(np.concatenate((honest, lies)))
        assert (honest.min(axis=0) <= result).all()  # to the last bit
        assert (result <= honest.max(axis=0)).all()


def test_one_liar_more_than_trim_can_carry_the_trimmed_mean_away() -> None:
    honest = np.zeros((5, 1))
    assert TrimmedMean().combine(np.concatenate((honest, [[9.0]] * 2))).item() == 0.0  # m=7, trim=2
    assert TrimmedMean().combine(np.concatenate((honest[:4], [[9.0]] * 3))).item() > 0.0
    assert Median().combine(np.concatenate((honest[:4], [[9.0]] * 3))).item() == 0.0
    assert Median().combine(np.concatenate((honest[:3], [[9.0]] * 3))).item() > 0.0


def test_mean_krum_and_geometric_median_leave_the_honest_range() -> None:
    assert Mean().combine([[0.0], [1.0], [1e6]]).item() > 1.0
    # Three of nine, 2 * 3 + 2 < 9: the liars have each other for neighbours.
    honest = [[0.0], [0.1], [10.0], [20.0], [30.0], [40.0]]
    assert Krum(3).combine([*honest, [-1.0], [-1.0], [-1.0]]).item() == -1.0
    # One of five: nothing on the line resists a pull away from it.
    line = [[-2.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    assert GeometricMedian().combine([*line, [0.0, 1.0]])[1] > 0.05


# ---- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "values", "message"),
    [
        (lambda: TrimmedMean(-1), [[0.0]], "liars must satisfy liars >= 0: got liars=-1"),
        (lambda: TrimmedMean(2), [[0.0]] * 4, "2 liars < m, the values held: got liars=2, m=4"),
        (lambda: Krum(1), [[0.0]] * 4, r"2 liars \+ 2 < m, the values held: got liars=1, m=4"),
        (Mean, [1.0, 2.0], r"shape \(..., m, d\), m, d >= 1: got the shape \(2,\)"),
        (Mean, np.empty((3, 0, 1)), r"got the shape \(3, 0, 1\)"),
        (Median, [[1.0], [np.nan]], r"numbers within -1e\+100..1e\+100"),
        (Median, [[1.0], [-1e101]], r"numbers within"),
        (Krum, [[np.inf]], r"numbers within"),
    ],
)
def test_bad_input(make: Callable[[], Rule], values: Sequence[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make().combine(values)


def test_a_number_of_liars_is_whole() -> None:
    with pytest.raises(TypeError, match="liars must be an integer"):
        TrimmedMean(0.5)  # type: ignore[arg-type]


def test_rules_compare_by_what_they_are() -> None:
    assert TrimmedMean(2) == TrimmedMean(2) != TrimmedMean()
    assert len({rule() for rule in RULES.values()}) == len(RULES)
