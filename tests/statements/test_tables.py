"""Tables 1 to 3: every threshold, checked against the sign of the exact rational difference.

No value is copied here: p_th is right to nine decimals if the difference, in integers and fractions,
is negative just below it and positive just above. Where the exact values that came with the paper
are at hand, they are compared too, to the four decimals they have.
"""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from folkmoot.checks import required_votes
from folkmoot.theory import threshold_accuracy
from support.oracles import exact as oracle
from support.shared_data import EXACT_VALUES, needs

NEAR = Fraction(1, 10**9)

Row = tuple[int, int, int, int, int | None, float | None]  # n, k, alpha, f, delta, q
TABLE_1: list[Row] = [
    (101, k, alpha, 0, delta, None)
    for alpha, k in ((6, 10), (7, 10), (8, 10), (14, 20))
    for delta in range(5)
]
TABLE_2: list[Row] = [(n, 10, 7, 0, None, 0.55) for n in (51, 101, 201, 501)]
TABLE_3: list[Row] = [(101, 20, 14, f, delta, None) for f in (0, 1, 5, 10) for delta in range(4)]


@pytest.mark.parametrize(("n", "k", "alpha", "f", "delta", "q"), TABLE_1 + TABLE_2 + TABLE_3)
def test_threshold_brackets_the_exact_crossing(
    n: int, k: int, alpha: int, f: int, delta: int | None, q: float | None
) -> None:
    p_th = threshold_accuracy(n, k, alpha, delta=delta, q=q, byzantine=f)
    blue, _ = oracle.absorption_sums(*oracle.rates(n, k, alpha, f, True))
    needed = required_votes(n, delta, q)
    below, above = (
        oracle.accuracy_gap(n, f, needed, blue, blue[-1], Fraction(p_th) + side) for side in (-NEAR, NEAR)
    )
    assert below < 0 < above


@needs(EXACT_VALUES)
def test_every_exact_value_to_four_decimals() -> None:
    tables = json.loads(EXACT_VALUES.read_text())
    compared = 0
    for setting, row in tables["table_threshold_honest"]["exact"].items():
        alpha, k = map(int, setting.split(","))
        for delta, value in enumerate(row):
            assert round(threshold_accuracy(101, k, alpha, delta=delta), 4) == value
            compared += 1
    for n, value in tables["table_threshold_varying_n"]["exact"].items():
        assert round(threshold_accuracy(int(n), 10, 7, q=0.55), 4) == value
        compared += 1
    for f, row in tables["table_threshold_byzantine"]["exact"].items():
        for delta, value in enumerate(row):
            assert round(threshold_accuracy(101, 20, 14, delta=delta, byzantine=int(f)), 4) == value
            compared += 1
    assert compared == 40
