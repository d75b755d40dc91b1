"""Participants and groups of a moot on numbers, against scikit-learn's errors and a sign test by hand."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from sklearn.metrics import root_mean_squared_error

from folkmoot.learning.participants import Participant
from folkmoot.runs.number_tables import compare_numbers_alone, describe_numbers

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=60)
ALONE = TRUTH + RNG.normal(size=(3, 60)) * np.array([[0.05], [2.5], [1.0]])
AGREED = TRUTH + RNG.normal(size=60) * 0.5
NAMES = ["ely", "york", "7"]


def sign_test(nearer: int, farther: int) -> float:
    """Two-sided, by counting: twice the smaller tail, at most 1."""
    n = nearer + farther
    tail = sum(comb(n, i) for i in range(min(nearer, farther) + 1))
    return min(1.0, tail / float(2 ** (n - 1)))


def test_each_group_alone_and_together() -> None:
    groups = np.array(["ely"] * 20 + ["york"] * 20 + ["nobody"] * 5 + ["7"] * 15)
    found = compare_numbers_alone(ALONE, AGREED, TRUTH, groups, NAMES)
    assert found.strangers == 5
    together = np.zeros(2, dtype=int)
    for i, row in enumerate(found.rows):
        here = groups == NAMES[i]
        assert row.group == NAMES[i]
        assert row.alone == pytest.approx(root_mean_squared_error(TRUTH[here], ALONE[i, here]))
        assert row.together == pytest.approx(root_mean_squared_error(TRUTH[here], AGREED[here]))
        nearer = int((abs(AGREED - TRUTH) < abs(ALONE[i] - TRUTH))[here].sum())
        assert (row.nearer, row.farther) == (nearer, int(here.sum()) - nearer)
        assert row.p_value == pytest.approx(sign_test(row.nearer, row.farther))
        together += [row.nearer, row.farther]
    assert [row.verdict for row in found.rows][:2] == ["better alone", "worth it"]
    assert found.overall is not None
    assert (found.overall.nearer, found.overall.farther) == tuple(together)
    assert found.overall.rows == 55
    _, cells, notes = found.shown("")
    assert [line[0] for line in cells] == [*NAMES, "all of them"]
    assert "sign test" in notes[0]


def test_nobody_to_compare_with() -> None:
    for groups in (None, np.array(["other"] * 60)):
        found = compare_numbers_alone(ALONE, AGREED, TRUTH, groups, NAMES)
        assert (found.rows, found.overall, found.strangers) == ((), None, 60)
        assert "--test-rows" in found.shown("").notes[0]


def test_who_is_off() -> None:
    people = [Participant(name, None, rows=9, held_out=4, squared_error=4.0) for name in NAMES]
    broken = np.where(np.arange(3)[:, None] == 2, np.nan, ALONE)
    rows = describe_numbers(people, broken, AGREED, TRUTH).rows
    assert rows[0].error == pytest.approx(root_mean_squared_error(TRUTH, ALONE[0]))
    assert rows[0].distance == pytest.approx(root_mean_squared_error(AGREED, ALONE[0]))
    assert (rows[0].holdout_error, rows[0].finding) == (2.0, "")
    constant = root_mean_squared_error(TRUTH, np.full(60, TRUTH.mean()))
    assert rows[1].finding == f"worse than a constant ({constant:.4g})"
    assert (rows[2].error, rows[2].finding) == (None, "could not answer")


def test_of_many_the_odd_and_the_ends_are_shown() -> None:
    many = [Participant(f"p{i}", None) for i in range(40)]
    alone = TRUTH + np.linspace(0.01, 0.4, 40)[:, None] * RNG.normal(size=(40, 60))
    alone[17] = 9.0
    table = describe_numbers(many, alone, AGREED, TRUTH)
    shown = [row.name for row in table.brief()]
    assert "p17" in shown
    assert len(shown) <= 20
    best = min(table.rows, key=lambda row: row.error or 0)
    assert best.name in shown
    assert table.shown("see all").notes[0] == f"... and {40 - len(shown)} more: see all"
    assert len(table.shown("", whole=True).cells) == 40
