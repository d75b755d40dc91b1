"""Is joining worth it: scores by hand and by scikit-learn, p by enumeration and by scipy."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import root_mean_squared_error

from folkmoot.comparing.joining import compare_alone
from folkmoot.comparing.metric import ACCURACY, ERROR

RNG = np.random.default_rng(0)


def enumerated(gained: int, lost: int) -> float:
    """The share of all ways in which coins decide the differing rows that are at least as uneven."""
    flips = [sum(way) for way in product((0, 1), repeat=gained + lost)]
    uneven = abs(gained - lost)
    return sum(abs(2 * heads - gained - lost) >= uneven for heads in flips) / len(flips)


@pytest.mark.parametrize(("gained", "lost"), [(7, 0), (6, 1), (5, 5), (1, 9), (0, 1), (0, 0)])
def test_p_is_that_of_mcnemars_exact_test(gained: int, lost: int) -> None:
    own = np.array([[0] * gained + [1] * lost + [1] * 6 + [0] * 3])
    moot = np.array([1] * gained + [0] * lost + [1] * 6 + [0] * 3)
    truth = np.ones_like(moot)
    row = compare_alone(ACCURACY, own, moot, truth, ["a"] * len(moot), ["a"]).rows[0]
    assert (row.gained, row.lost, row.rows) == (gained, lost, len(moot))
    assert row.p_value == pytest.approx(enumerated(gained, lost))
    assert (row.alone, row.together) == pytest.approx((own.mean(), moot.mean()))
    better = "worth it" if gained > lost else "better alone"
    assert row.verdict == (better if enumerated(gained, lost) < 0.05 else "no difference seen")


def test_each_group_has_its_own_rows_and_all_of_them_together() -> None:
    groups, truth = RNG.integers(0, 4, 500), RNG.integers(0, 3, 500)
    own = np.where(RNG.random((3, 500)) < 0.6, truth, 3)
    moot = np.where(RNG.random(500) < 0.8, truth, -1)
    table = compare_alone(ACCURACY, own, moot, truth, groups, ["0", "1", "2"])
    assert [row.group for row in table.rows] == ["0", "1", "2"]
    assert table.strangers == (groups == 3).sum()
    gained = lost = 0
    for i, row in enumerate(table.rows):
        here = groups == i
        gained += (up := int(((moot == truth) & (own[i] != truth))[here].sum()))
        lost += (down := int(((moot != truth) & (own[i] == truth))[here].sum()))
        assert (row.rows, row.gained, row.lost) == (here.sum(), up, down)
        assert row.p_value == pytest.approx(binomtest(up, up + down).pvalue)
    assert table.overall is not None
    assert (table.overall.gained, table.overall.lost) == (gained, lost)
    assert table.overall.rows == 500 - table.strangers
    assert f"{table.strangers} test rows are of no participant's group" in str(table)
    assert "McNemar's exact test, two-sided" in str(table)


def test_numbers_are_better_where_they_are_nearer() -> None:
    truth = RNG.normal(size=60)
    own = truth + RNG.normal(size=(3, 60)) * np.array([0.05, 2.5, 1.0])[:, None]
    moot = truth + RNG.normal(size=60) * 0.5
    names = ["ely", "york", "7"]
    groups = np.array(["ely"] * 20 + ["york"] * 20 + ["nobody"] * 5 + ["7"] * 15)
    found = compare_alone(ERROR, own, moot, truth, groups, names)
    assert found.strangers == 5
    for i, row in enumerate(found.rows):
        here = groups == names[i]
        assert row.alone == pytest.approx(root_mean_squared_error(truth[here], own[i, here]))
        assert row.together == pytest.approx(root_mean_squared_error(truth[here], moot[here]))
        nearer = int((abs(moot - truth) < abs(own[i] - truth))[here].sum())
        assert (row.gained, row.lost) == (nearer, int(here.sum()) - nearer)
        assert row.p_value == pytest.approx(binomtest(nearer, int(here.sum())).pvalue)
    assert [row.verdict for row in found.rows][:2] == ["better alone", "worth it"]
    _, cells = found.cells()
    assert [line[0] for line in cells] == [*names, "all of them"]
    assert "the exact sign test" in str(found)


def test_rows_of_strangers_alone_say_what_to_do() -> None:
    truth = np.array([1, 1])
    table = compare_alone(ACCURACY, np.array([[1, 0]]), truth, truth, ["x", "y"], ["a"])
    assert (table.rows, table.overall, table.strangers) == ((), None, 2)
    assert "none of the 2 test rows is of a participant's group" in table.summary
    assert "test on a share of every group" in str(table)


def test_of_many_groups_the_clearest_are_printed(tmp_path: Path) -> None:
    groups, truth = np.repeat(np.arange(60), 20), np.ones(1200, dtype=np.int64)
    own, moot = RNG.random((60, 1200)) < 0.6, RNG.random(1200) < 0.9
    table = compare_alone(ACCURACY, own * 1, moot * 1, truth, groups, [str(i) for i in range(60)])
    assert len(table.brief()) == 20
    left = set(table.rows) - set(table.brief())
    assert max(row.p_value for row in table.brief()) <= min(row.p_value for row in left)
    assert "... and 40 more: to_csv(path) writes all" in str(table)
    table.to_csv(tmp_path / "groups.csv")
    with (tmp_path / "groups.csv").open(encoding="utf-8") as file:
        assert [float(row["p_value"]) for row in csv.DictReader(file)] == [row.p_value for row in table.rows]


def test_groups_must_be_one_per_row() -> None:
    with pytest.raises(ValueError, match=r"groups must hold one per input \(2\): got 1"):
        compare_alone(ACCURACY, np.array([[1, 0]]), np.ones(2), np.ones(2), ["x"], ["x"])
