"""Is joining worth it: counts by hand, p by scipy and by enumeration."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from folkmoot.comparison.who import compare_alone


def enumerated(gained: int, lost: int) -> float:
    """The share of all ways in which coins decide the differing rows that are at least as uneven."""
    flips = [sum(way) for way in product((0, 1), repeat=gained + lost)]
    uneven = abs(gained - lost)
    return sum(abs(2 * heads - gained - lost) >= uneven for heads in flips) / len(flips)


@pytest.mark.parametrize(("gained", "lost"), [(7, 0), (6, 1), (5, 5), (1, 9), (0, 1), (0, 0)])
def test_p_is_that_of_mcnemars_exact_test(gained: int, lost: int) -> None:
    alone = [False] * gained + [True] * lost + [True] * 6 + [False] * 3
    moot = [True] * gained + [False] * lost + [True] * 6 + [False] * 3
    row = compare_alone([alone], moot, ["a"] * len(moot), ["a"]).rows[0]
    assert (row.gained, row.lost, row.rows) == (gained, lost, len(moot))
    assert row.p_value == pytest.approx(enumerated(gained, lost))
    assert (row.alone, row.together) == pytest.approx((np.mean(alone), np.mean(moot)))
    better = "worth it" if gained > lost else "better alone"
    assert row.verdict == (better if enumerated(gained, lost) < 0.05 else "no difference seen")


def test_each_group_has_its_own_rows_and_all_of_them_together() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 4, 500)
    alone, moot = rng.random((3, 500)) < 0.6, rng.random(500) < 0.8
    table = compare_alone(alone, moot, groups, ["0", "1", "2"])
    assert [row.group for row in table.rows] == ["0", "1", "2"]
    assert table.strangers == (groups == 3).sum()
    gained = lost = 0
    for i, row in enumerate(table.rows):
        here = groups == i
        gained += (up := int((moot & ~alone[i])[here].sum()))
        lost += (down := int((~moot & alone[i])[here].sum()))
        assert (row.rows, row.gained, row.lost) == (here.sum(), up, down)
        assert row.p_value == pytest.approx(binomtest(up, up + down).pvalue)
    assert table.overall is not None
    assert (table.overall.gained, table.overall.lost) == (gained, lost)
    assert table.overall.rows == 500 - table.strangers
    assert f"{table.strangers} test rows are of no participant's group" in str(table)
    assert "McNemar's exact test, two-sided" in str(table)


def test_rows_of_strangers_alone_say_what_to_do() -> None:
    table = compare_alone([[True, False]], [True, True], ["x", "y"], ["a"])
    assert (table.rows, table.overall, table.strangers) == ((), None, 2)
    assert "none of the 2 test rows is of a participant's group" in table.summary
    assert "--test-rows 0.2" in str(table)


def test_of_many_groups_the_clearest_are_printed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(60), 20)
    alone, moot = rng.random((60, 1200)) < 0.6, rng.random(1200) < 0.9
    table = compare_alone(alone, moot, groups, [str(i) for i in range(60)])
    assert len(table.brief()) == 20
    left = set(table.rows) - set(table.brief())
    assert max(row.p_value for row in table.brief()) <= min(row.p_value for row in left)
    assert "... and 40 more: to_csv(path) writes all" in str(table)
    table.to_csv(tmp_path / "groups.csv")
    with (tmp_path / "groups.csv").open(encoding="utf-8") as file:
        assert [float(row["p_value"]) for row in csv.DictReader(file)] == [row.p_value for row in table.rows]


def test_groups_must_be_one_per_row() -> None:
    with pytest.raises(ValueError, match=r"groups must hold one per input \(2\): got 1"):
        compare_alone([[True, False]], [True, True], ["x"], ["x"])
