"""Reports of an estimator: who is off, and what each group gains, against what its models and predict say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from folkmoot.old import ConsensusClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))
Y = np.where(X[:, 0] + 0.7 * RNG.normal(size=600) > 0, "yes", "no")
GROUPS = np.array([f"clinic {i}" for i in RNG.integers(0, 6, 600)])
TRAIN, TEST = np.arange(600) < 300, np.arange(600) >= 300


def fitted(**options: Any) -> ConsensusClassifier:
    moot = ConsensusClassifier([GaussianNB()], random_state=0, **options)
    swapped = (GROUPS == "clinic 2") & TRAIN
    given = np.where(swapped, np.where(Y == "yes", "no", "yes"), Y)
    return moot.fit(X[TRAIN], given[TRAIN], groups=GROUPS[TRAIN])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"trust": "self-anchored"},
        {"trust": "peer-review"},
        {"voting": "probabilities"},
        {"expert": DecisionTreeClassifier(max_depth=3, random_state=0), "trust": "peer-review"},
    ],
    ids=lambda options: next(iter(map(str, options.values())), "labels"),
)
def test_each_group_is_compared_with_what_predict_answers(options: dict[str, Any]) -> None:
    moot = fitted(**options)
    report = moot.report(X[TEST], Y[TEST], groups=GROUPS[TEST], repeats=1, stacking=False)
    together = moot.predict(X[TEST]) == Y[TEST]
    assert report.joining is not None
    assert [row.group for row in report.joining.rows] == sorted(set(GROUPS))
    for row in report.joining.rows:
        here = GROUPS[TEST] == row.group
        alone = moot.named_estimators_[row.group].predict(X[TEST]) == Y[TEST]
        up, down = int((together & ~alone)[here].sum()), int((~together & alone)[here].sum())
        assert (row.rows, row.gained, row.lost) == (here.sum(), up, down)
        assert row.together == pytest.approx(together[here].mean())
        assert row.p_value == pytest.approx(binomtest(up, up + down).pvalue if up + down else 1.0)
    assert report.joining.rows[2].verdict == "worth it"


def test_the_group_with_swapped_labels_is_found_by_the_truth_not_by_its_holdout() -> None:
    moot = fitted()
    table = moot.report(X[TEST], Y[TEST], repeats=1, stacking=False).participant_table
    assert [name for name, what in table.findings.items() if what.startswith("always wrong")] == ["clinic 2"]
    for row, participant in zip(table.rows, moot.participants_, strict=True):
        assert (row.name, row.holdout, row.held_out) == (
            participant.name,
            participant.accuracy,
            participant.held_out,
        )
        assert row.accuracy == (participant.model.predict(X[TEST]) == Y[TEST]).mean()


def test_a_sweep_may_have_groups_that_take_no_part() -> None:
    moot = fitted()
    reports = moot.sweep(X[TEST], Y[TEST], [0, 1], groups=["elsewhere"] * 300, repeats=1, stacking=False)
    assert all(report.joining is not None and not report.joining.rows for report in reports)


def test_groups_that_name_nobody_are_refused_in_one_line() -> None:
    moot = fitted()
    with pytest.raises(
        ValueError, match=r"groups must name participants.*got 'x', and they are called 'clinic 0'"
    ):
        moot.report(X[TEST], Y[TEST], groups=["x"] * 300)
    with pytest.raises(ValueError, match=r"groups must hold one per input \(300\): got 2"):
        moot.report(X[TEST], Y[TEST], groups=["clinic 0"] * 2)
