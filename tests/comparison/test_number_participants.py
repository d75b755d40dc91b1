"""Who is off where numbers are agreed on: by scikit-learn's metrics, and who was planted."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score, root_mean_squared_error

from folkmoot import ConsensusRegressor
from folkmoot.comparison.who import describe_numbers
from folkmoot.learning.participants import Participant

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=(200, 2))
SENT = TRUTH + 0.4 * RNG.normal(size=(6, 200, 2))
NAMES = [f"p{i}" for i in range(6)]


def test_errors_are_those_of_scikit_learn() -> None:
    answer = np.median(SENT, axis=0)
    people = [Participant(name, None, rows=9, held_out=4, squared_error=4.0) for name in NAMES[:1]]
    people += [Participant(name, None) for name in NAMES[1:]]
    table = describe_numbers(SENT, answer, TRUTH, names=NAMES, people=people)
    for numbers, row in zip(SENT, table.rows, strict=True):
        flat = (TRUTH.ravel(), numbers.ravel())
        assert row.error == pytest.approx(root_mean_squared_error(*flat))
        assert row.r2 == pytest.approx(r2_score(TRUTH, numbers, multioutput="variance_weighted"))
        assert row.distance == pytest.approx(root_mean_squared_error(answer.ravel(), numbers.ravel()))
        assert row.bias == pytest.approx(sum(numbers.ravel() - TRUTH.ravel()) / 400)
        assert (row.role, row.finding) == ("honest", "")
    assert [row.holdout_error for row in table.rows] == [2.0, *[None] * 5]
    assert [(row.rows, row.held_out) for row in table.rows[:2]] == [(9, 4), (0, 0)]


def test_what_was_planted_is_found_and_nothing_else(tmp_path: Path) -> None:
    sent = SENT.copy()
    sent[1] = -TRUTH * 3
    sent[2] = [1.5, -2.0]
    sent[4] = sent[0]
    sent[4, :4] += 1.0  # equal on 98%
    sent[5] = np.nan
    table = describe_numbers(
        sent, TRUTH, TRUTH, names=NAMES, byzantine=["p1"], faulty={"q": "ValueError: no"}
    )
    worse = r2_score(TRUTH, sent[1], multioutput="variance_weighted")
    assert table.findings == {
        "p1": f"worse than a constant (R2 {worse:.2g})",
        "p2": "constant (1.5, -2)",
        "p4": "copies p0",
        "q": "faulty: ValueError: no",
    }
    assert [row.role for row in table.rows] == ["honest", "byzantine", *["honest"] * 4, "faulty"]
    assert table.rows[5].error is None
    table.to_csv(tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(encoding="utf-8") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [*NAMES, "q"]


def test_the_report_of_a_regressor_has_the_table() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.3 * rng.normal(size=200)
    groups = np.arange(200) % 5
    given = np.where(groups == 2, -y, y)
    moot = ConsensusRegressor([LinearRegression()], holdout=0.25, random_state=0)
    moot.fit(X[:120], given[:120], groups=groups[:120])
    report = moot.report(X[120:], y[120:], stacking=False)
    assert (report.n_participants, len(report.participants)) == (5, 5)
    assert set(report.participant_table.findings) == {"2"}
    for row, participant in zip(report.participant_table.rows, moot.participants_, strict=True):
        assert row.error == pytest.approx(
            root_mean_squared_error(y[120:], participant.model.predict(X[120:]))
        )
        assert row.holdout_error == pytest.approx(np.sqrt(participant.squared_error))
    found = report.to_dict()
    assert found["participants"] == 5
    assert [row["name"] for row in found["participant_table"]] == list("01234")
    assert report.notes[-1].startswith("odd: '2': worse than a constant")
