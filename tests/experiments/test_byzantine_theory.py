"""Perfectly malicious and perfectly faulty participants against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import msgspec
import numpy as np
import pytest

from experiments.theory.byzantine_theory import (
    EXPERIMENT,
    ByzantineTheoryResult,
    conjecture,
    curve,
    drawn_accuracies,
    faulty,
    signs,
)
from support.oracles import exact as oracle


@cache
def quick() -> ByzantineTheoryResult:
    result = EXPERIMENT.run(EXPERIMENT.quick, 1)
    assert isinstance(result, ByzantineTheoryResult)
    return result


@cache
def blue(n: int, k: int, alpha: int, f: int) -> list[Fraction]:
    """B_b; the sums of products are 0/0 where some states are frozen, so there by elimination."""
    birth, death = oracle.rates(n, k, alpha, f, True)
    sums, _ = oracle.absorption_sums(birth, death)
    if sums[-1]:
        return [Fraction(part, sums[-1]) for part in sums]
    c = n - f
    solved = oracle.hitting(oracle.moves(birth, death), (c,))
    return [solved[(b,)] for b in range(c + 1)]


def exact_gap(n: int, k: int, alpha: int, f: int, p: Fraction, delta: int = 0) -> Fraction:
    law = [math.comb(n - f, b) * p**b * (1 - p) ** (n - f - b) for b in range(n - f + 1)]
    slush = sum((x * chance for x, chance in zip(law, blue(n, k, alpha, f), strict=True)), Fraction(0))
    return sum(law[(n + 1) // 2 + delta :], Fraction(0)) - slush


@pytest.mark.parametrize(("n", "k"), [(5, 3), (5, 4), (7, 4), (9, 3), (11, 5)])
def test_signs_are_those_of_the_fractions(n: int, k: int) -> None:
    accuracies = [Fraction(51, 100), Fraction(3, 5), Fraction(9, 10)]
    found = signs(n, k, [float(p) for p in accuracies])
    ahead, equal = 0, []
    for alpha in range(k // 2 + 1, k + 1):
        for f in range(min(alpha, (n + 1) // 2)):
            exact = [exact_gap(n, k, alpha, f, p) for p in accuracies]
            assert min(exact) >= 0
            ahead += sum(value > 0 for value in exact)
            if not any(exact):
                equal.append([alpha, f])
    assert (found.ahead, found.behind, found.equal, found.mixed) == (ahead, 0, equal, [])


@pytest.mark.parametrize(("n", "k", "alpha"), [(31, 20, 18), (31, 20, 14), (21, 10, 6)])
def test_least_delta_is_the_first_at_which_slush_wins_with_fair_coins(n: int, k: int, alpha: int) -> None:
    found = conjecture(n, k, alpha, 10, [0, 1, 2, 3, 4])
    for f, least in zip(found.f, found.least, strict=True):
        ahead = [exact_gap(n, k, alpha, f, Fraction(1, 2), delta) < 0 for delta in range(5)]
        assert least == ahead.index(True)
    assert set(found.least) == {max(1, alpha - (n + 1) // 2 + 1)}


def test_thresholds_are_exact_crossings() -> None:
    found = quick().conjecture[0]
    for f, delta in ((0, 4), (3, 1), (10, 2)):
        p = found.p_th[f][delta]
        assert p is not None
        rational, step = Fraction(round(p, 7)).limit_denominator(10**7), Fraction(1, 10**6)
        below, above = (exact_gap(101, 20, 14, f, each, delta) for each in (rational - step, rational + step))
        assert below < 0 < above


def test_faulty_votes_are_half_a_supermajority() -> None:
    """By counting: 101 + 4 votes, 53 needed, of 96 honest ones that are right with probability 3/5."""
    counted, half, whole = faulty(101, 5, 4, 0.6)
    p = Fraction(3, 5)
    right = sum(math.comb(96, b) * p**b * (1 - p) ** (96 - b) for b in range(97) if 2 * b > 105)
    assert counted == pytest.approx(float(right), rel=1e-12)
    assert half == pytest.approx(float(right), rel=1e-12)
    assert whole < 0.9 * half


def test_gap_of_the_picture_is_the_exact_one() -> None:
    for p, gap in zip(drawn_accuracies(5), curve(11, 5, 3, 2, 5).gap, strict=True):
        assert gap == pytest.approx(float(exact_gap(11, 5, 3, 2, Fraction(p))), rel=1e-10, abs=0)


def test_what_is_judged() -> None:
    broken = [finding for finding in quick().findings if finding.holds is False]
    assert [finding.quantity for finding in broken] == [
        "equal only for alpha = ceil(n/2)",
        "f' perfectly faulty participants as a supermajority",
    ]
    assert broken[0].reason.startswith("n = 2f + 1 and alpha > f + 1")
    assert broken[1].ours == "delta = f'/2"
    p = Fraction(7, 10)
    assert exact_gap(5, 5, 4, 2, p) == 0  # both p^3
    least = [finding for finding in quick().findings if finding.quantity.startswith("conjecture")]
    assert [finding.ours for finding in least] == ["1 for f = 0 to 10", "3 for f = 0 to 10"]


def test_result_is_plain_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(quick()), type=ByzantineTheoryResult) == quick()


def test_picture_has_a_line_for_every_delta_and_every_f() -> None:
    left, right = EXPERIMENT.figures(quick())["byzantine-theory"].axes
    drawn = [np.asarray(line.get_ydata()).tolist() for line in left.get_lines()]
    for i in range(5):
        assert [row[i] for row in quick().conjecture[0].p_th] in drawn
    gaps = {str(line.get_label()): np.asarray(line.get_ydata()).tolist() for line in right.get_lines()}
    for each in quick().curves:
        assert gaps[f"f={each.f}"] == each.gap
