"""Figure "Homogeneous Ensembles" against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import msgspec
import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from experiments.theory.homogeneous import EXPERIMENT, HomogeneousResult, accuracies, slush, supermajority
from support.oracles import exact as oracle

pytestmark = pytest.mark.slow


@cache
def quick() -> HomogeneousResult:
    result = EXPERIMENT.run(EXPERIMENT.quick, 1)
    assert isinstance(result, HomogeneousResult)
    return result


def exact_gap(n: int, k: int, alpha: int, p: Fraction, needed: int | None = None) -> Fraction:
    blue, _ = oracle.absorption_sums(*oracle.rates(n, k, alpha, 0, True))
    return oracle.accuracy_gap(n, 0, needed or (n + 1) // 2, blue, blue[-1], p)


def test_gap_is_the_exact_one() -> None:
    line = slush(11, 5, 3, [1, 2], 21)
    for p, gap, sign in zip(accuracies(21), line.gap, line.signs, strict=True):
        exact = exact_gap(11, 5, 3, Fraction(p))
        assert gap == pytest.approx(float(exact), rel=1e-11, abs=0)
        assert sign == (exact > 0) - (exact < 0)


@pytest.mark.parametrize("delta", [1, 3])
def test_supermajority_loses_the_votes_in_between(delta: int) -> None:
    for p, gap in zip(accuracies(11), supermajority(11, delta, 11), strict=True):
        q = Fraction(p)
        exact = sum(math.comb(11, b) * q**b * (1 - q) ** (11 - b) for b in range(6, 6 + delta))
        assert gap == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_right_end_of_the_shaded_region() -> None:
    """Slush with alpha=7 of k=10 beats delta=1 just below it and loses just above, in exact fractions."""
    end = quick().slush[quick().shaded].p_th[0]
    assert end is not None
    near = Fraction(1, 10**9)
    assert (
        exact_gap(101, 10, 7, Fraction(end) - near, 52) < 0 < exact_gap(101, 10, 7, Fraction(end) + near, 52)
    )
    (finding,) = [each for each in quick().findings if "right end" in each.quantity]
    assert finding.ours == f"{end:.4f}" == "0.5954"
    assert finding.holds


@pytest.mark.parametrize("i", range(4))
def test_largest_gap_is_larger_than_the_gap_on_either_side(i: int) -> None:
    line = quick().slush[i]
    here = exact_gap(101, line.k, line.alpha, Fraction(round(line.peak_at, 5)).limit_denominator(10**5))
    assert line.peak == pytest.approx(float(here), rel=1e-6)
    for side in (-0.004, 0.004):
        p = Fraction(round(line.peak_at + side, 4)).limit_denominator(10**4)
        assert exact_gap(101, line.k, line.alpha, p) < here


def test_what_is_judged() -> None:
    judged = {finding.quantity: finding.holds for finding in quick().findings}
    broken = [quantity for quantity, holds in judged.items() if holds is False]
    assert broken == ["the same theorem for large alpha"]
    assert all(sign == 0 for line in quick().slush for sign in line.signs[:1])
    # The counter-example, by hand: all five must be right against four of five.
    p = Fraction(3, 5)
    assert p**5 < p**5 + 5 * p**4 * (1 - p)


def test_result_is_plain_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(quick()), type=HomogeneousResult) == quick()


def test_picture_has_every_line_and_the_shaded_region() -> None:
    left, right = EXPERIMENT.figures(quick())["homogeneous"].axes
    drawn = {str(line.get_label()): line for line in left.get_lines()}
    for line in quick().slush:
        assert np.asarray(drawn[rf"Slush $\alpha$={line.alpha}, k={line.k}"].get_ydata()).tolist() == line.gap
    dashed = [line for name, line in drawn.items() if name.startswith("supermajority")]
    assert len(dashed) == 4
    assert all(line.get_linestyle() == "--" for line in dashed)
    (shaded,) = [each for each in left.collections if isinstance(each, PolyCollection)]
    x = np.concatenate([path.vertices[:, 0] for path in shaded.get_paths()])  # type: ignore[index]
    assert x.min() == 0.5
    assert x.max() == pytest.approx(0.5954, abs=2e-3)  # between two points of a straight line
    assert len(right.get_lines()) == 5  # four queries and one half
