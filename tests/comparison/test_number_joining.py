"""Is joining worth it in numbers: against scikit-learn's errors and a sign test by hand."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import root_mean_squared_error

from folkmoot import ConsensusRegressor
from folkmoot.comparison.who import compare_numbers_alone

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=(60, 1))
ALONE = TRUTH + RNG.normal(size=(3, 60, 1)) * np.array([0.05, 2.5, 1.0])[:, None, None]
AGREED = TRUTH + RNG.normal(size=(60, 1)) * 0.5
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
    _, cells = found.cells()
    assert [line[0] for line in cells] == [*NAMES, "all of them"]
    assert "exact sign test" in str(found)


def test_nobody_to_compare_with() -> None:
    found = compare_numbers_alone(ALONE, AGREED, TRUTH, np.array(["other"] * 60), NAMES)
    assert (found.rows, found.overall, found.strangers) == ((), None, 60)
    assert "--test-rows" in found.summary


def test_the_report_of_a_regressor_takes_groups() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.3 * rng.normal(size=200)
    groups = np.arange(200) % 5
    given = np.where(groups == 2, -y, y)
    moot = ConsensusRegressor([LinearRegression()], random_state=0)
    moot.fit(X[:120], given[:120], groups=groups[:120])
    report = moot.report(X[120:], y[120:], groups=groups[120:], stacking=False)
    assert report.joining is not None
    assert report.joining.rows[2].verdict == "worth it"
    own = moot.participants_[2].model.predict(X[120:])[groups[120:] == 2]
    right = y[120:][groups[120:] == 2]
    assert report.joining.rows[2].alone == pytest.approx(root_mean_squared_error(right, own))
    agreed = moot.predict(X[120:])[groups[120:] == 2]
    assert report.joining.rows[2].together == pytest.approx(root_mean_squared_error(right, agreed))
    with pytest.raises(ValueError, match=r"groups must hold one per input \(80\): got 2"):
        moot.report(X[120:], y[120:], groups=["0", "1"])
