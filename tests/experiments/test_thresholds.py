"""Tables 1 to 3 against exact fractions and, where they are at hand, the exact values of the paper."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache

import msgspec
import numpy as np
import pytest
from scipy.special import expit, logit

from experiments.theory.threshold_tables import (
    EXPERIMENT,
    PRINTED,
    Crossing,
    Printed,
    ThresholdsResult,
    equal_doubles,
    judge,
    large_n_limit,
)
from folkmoot.checks import required_votes
from folkmoot.theory import SlushChain
from support.oracles import exact as oracle
from support.shared_data import EXACT_VALUES, needs


@cache
def quick() -> ThresholdsResult:
    result = EXPERIMENT.run(EXPERIMENT.quick, 1)
    assert isinstance(result, ThresholdsResult)
    return result


@cache
def blue(n: int, k: int, alpha: int, f: int) -> list[int]:
    return oracle.absorption_sums(*oracle.rates(n, k, alpha, f, True))[0]


@pytest.mark.parametrize("i", [i for i, e in enumerate(PRINTED) if e.n <= 101])
def test_four_decimals_bracket_the_exact_crossing(i: int) -> None:
    entry, finding = PRINTED[i], quick().findings[i]
    chances = blue(entry.n, entry.k, entry.alpha, entry.byzantine)
    needed = required_votes(entry.n, entry.delta, entry.q)
    below, above = (
        oracle.accuracy_gap(
            entry.n, entry.byzantine, needed, chances, chances[-1], Fraction(finding.ours) + side
        )
        for side in (Fraction(-51, 10**6), Fraction(51, 10**6))
    )
    assert below < 0 < above
    assert float(finding.difference) == pytest.approx(float(finding.ours) - entry.number, abs=1e-4)


@needs(EXACT_VALUES)
def test_every_printed_and_every_exact_value() -> None:
    tables = json.loads(EXACT_VALUES.read_text())
    printed, exact = [], []
    for name in ("honest", "varying_n", "byzantine"):
        table = tables[f"table_threshold_{name}"]
        for row in table["paper"].values():
            printed += [str(value) for value in (row if isinstance(row, list) else [row])]
        for row in table["exact"].values():
            exact += row if isinstance(row, list) else [row]
    assert [entry.value for entry in PRINTED] == printed
    assert [float(finding.ours) for finding in quick().findings[:40]] == exact
    assert len(exact) == 40


def test_reasons() -> None:
    def entry(value: str) -> Printed:
        return Printed(1, "row", "column", value, 101, 20, 14, delta=1)

    assert judge(entry("0.84"), Crossing(0.8417, [0.85]), False) == ("rounded to two decimals", True)
    assert judge(entry("0.73"), Crossing(0.7351, [0.9]), False) == ("a lower bound: rounded down", True)
    assert judge(entry("0.47"), Crossing(0.4417, []), True) == ("the row f=10 repeats the row f=5", False)
    reason, agrees = judge(entry("0.87"), Crossing(0.925, [0.869, 0.867]), False)
    assert reason == "double precision: doubles show Slush ahead up to p = 0.867 to 0.869 only"
    assert not agrees
    reason, agrees = judge(entry("0.87"), Crossing(0.9166, [0.887]), False)
    assert reason.startswith("a lower bound, of unknown origin")
    assert not agrees
    assert judge(entry(">0.87"), Crossing(0.8951, [0.872]), False)[1]
    assert not judge(entry(">0.9"), Crossing(0.8951, [0.872]), False)[1]


def test_what_is_explained_by_what() -> None:
    reasons = {(e.table, e.row, e.column): e.reason.split(":")[0] for e in quick().entries if not e.agrees}
    assert reasons == {
        (1, "alpha=14, k=20", "delta=3"): "double precision",
        (2, "n=201", "q=0.55"): "double precision",
        (2, "n=501", "q=0.55"): "double precision",
        (3, "f=0", "delta=3"): "double precision",
        (3, "f=1", "delta=3"): "double precision",
        (3, "f=5", "delta=3"): "a lower bound, of unknown origin",
        **{(3, "f=10", f"delta={delta}"): "the row f=10 repeats the row f=5" for delta in range(4)},
    }


def test_doubles_are_equal_where_slush_is_ahead() -> None:
    """Both accuracies in fractions, then rounded once: no arithmetic could do better with a double."""
    chances, needed, c = blue(101, 20, 14, 0), 54, 101
    (p_tie, _) = equal_doubles(SlushChain(101, 20, 14), needed)
    assert p_tie == pytest.approx(0.869, abs=0.002)

    def accuracies(p: Fraction) -> tuple[Fraction, Fraction]:
        law = [math.comb(c, b) * p**b * (1 - p) ** (c - b) for b in range(c + 1)]
        slush = sum((x * part for x, part in zip(law, chances, strict=True)), Fraction(0)) / chances[-1]
        return slush, sum(law[needed:], Fraction(0))

    slush, vote = accuracies(Fraction(p_tie).limit_denominator(1000) - Fraction(4, 1000))
    assert slush > vote
    assert float(slush) > float(vote)
    slush, vote = accuracies(Fraction(88, 100))
    assert slush > vote  # still ahead, in truth
    assert float(slush) == float(vote)


@pytest.mark.parametrize("q", [0.55, 0.7])
def test_limit_for_unanimous_queries_solves_its_closed_form(q: float) -> None:
    """alpha = k: theta(x) = k logit x, and the integral of logit is h(x) = x log x + (1-x) log(1-x)."""

    def h(x: float) -> float:
        return x * math.log(x) + (1 - x) * math.log(1 - x)

    k = 4
    x = float(expit(logit(large_n_limit(k, k, q)) / k))
    ahead = (k - 1) * (h(q) - h(0.5))
    assert k * ((x - q) * float(logit(x)) - (h(x) - h(q))) == pytest.approx(ahead, rel=1e-8)


def test_limit_of_the_voter_model_is_q() -> None:
    assert large_n_limit(1, 1, 0.6) == pytest.approx(0.6, abs=1e-9)


def test_table_2_continued_approaches_the_limit() -> None:
    """Like 1/n: n times the distance stays bounded, so the limit is right to the decimals shown."""
    result = quick()
    away = np.array(result.continued) - result.limit
    assert np.all(np.diff(away) < 0)
    assert np.all(away > 0)
    scaled = np.array(result.sizes) * away
    assert scaled[-1] == pytest.approx(scaled[-2], rel=0.2)
    assert result.limit > 0.86


def test_result_is_plain_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(quick()), type=ThresholdsResult) == quick()


def test_picture_has_every_entry_and_the_limit() -> None:
    first, second, third = EXPERIMENT.figures(quick())["thresholds"].axes
    for axes, count in ((first, 20), (second, 4), (third, 16)):
        crosses = [line for line in axes.get_lines() if line.get_marker() == "x"]
        assert sum(np.size(line.get_xdata()) for line in crosses) == count
    exact = {str(line.get_label()): np.asarray(line.get_ydata()).tolist() for line in second.get_lines()}
    assert exact["exact"] == quick().continued
    assert exact[f"limit {quick().limit:.4f}"] == [quick().limit] * 2
