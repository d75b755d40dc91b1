"""Who is off: intervals against scipy, findings against planted participants, tables against counts."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from folkmoot import Report, Slush, compare
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.arrays import Array
from folkmoot.comparison.ground import median_weights
from folkmoot.comparison.who import ParticipantTable, describe_participants
from folkmoot.comparison.who.rows import ParticipantArray
from folkmoot.datasets import homogeneous_votes
from folkmoot.simulation.self_anchored import listen_first
from folkmoot.trust import Anchor


def report_of(votes: Any, truth: Any = None, **options: Any) -> Report:
    defaults: dict[str, Any] = {"repeats": 1, "rules": ["majority"]}
    return compare(votes, Slush(5, 3), truth=truth, **(defaults | options))


def findings(votes: Any, truth: Any = None, **options: Any) -> dict[int, str]:
    """By the number of the participant."""
    found = report_of(votes, truth, **options).participant_table.findings
    return {int(name.removeprefix("participant ")): what for name, what in found.items()}


@pytest.fixture
def crowd() -> tuple[Array, Array]:
    """Eleven independent participants, right on three of four of 400 inputs."""
    made = homogeneous_votes(11, p=0.75, inputs=400, seed=2)
    return made.votes.copy(), made.truth


def test_intervals_are_those_of_scipy(crowd: tuple[Array, Array]) -> None:
    votes, truth = crowd
    rng = np.random.default_rng(0)
    total = rng.integers(1, 30, 11)
    right = rng.binomial(total, 0.8)
    table = report_of(votes, truth, holdout=(right, total)).participant_table
    for i, row in enumerate(table.rows):
        hits = int((votes[i] == truth).sum())
        here = binomtest(hits, 400).proportion_ci(method="wilson")
        assert row.accuracy == hits / 400
        assert (row.accuracy_low, row.accuracy_high) == pytest.approx((here.low, here.high))
        there = binomtest(int(right[i]), int(total[i])).proportion_ci(method="wilson")
        assert row.holdout == right[i] / total[i]
        assert (row.holdout_low, row.holdout_high) == pytest.approx((there.low, there.high))
        assert row.held_out == total[i]


def test_independent_participants_have_no_findings() -> None:
    for seed in range(10):
        for inputs in (60, 300):
            votes, truth, _ = homogeneous_votes(11, p=0.75, inputs=inputs, seed=seed)
            assert findings(votes, truth) == {}
            assert findings(votes) == {}


def test_accurate_participants_copy_nobody() -> None:
    """They agree on 98% of the inputs, since both are right."""
    votes, truth, _ = homogeneous_votes(10, p=0.99, inputs=400, seed=1)
    assert ((votes[0] == votes[1]).mean()) > 0.97
    assert findings(votes, truth) == {}


def test_what_was_planted_is_found_and_nothing_else(crowd: tuple[Array, Array]) -> None:
    votes, truth = crowd
    votes[3] = 1 - truth
    votes[5] = 1
    votes[7] = votes[1]
    votes[9] = np.random.default_rng(0).permutation(votes[9])
    found = findings(votes, truth, labels=["cat", "dog"])
    assert {i: what.partition(" (")[0] for i, what in found.items()} == {
        3: "always wrong",
        5: "constant",
        7: "copies participant 1",
        9: "like chance",
    }
    assert found[3] == "always wrong (0 of 400 right)"
    assert found[5] == "constant (always 'dog')"


def test_a_camp_that_errs_together_is_named() -> None:
    made = homogeneous_votes(11, p=0.85, inputs=400, seed=3)
    votes, truth = made.votes.copy(), made.truth
    wrong = np.random.default_rng(5).random(400) < 0.3
    for i in (2, 5, 7):
        votes[i, wrong] = 1 - truth[wrong]
    assert findings(votes, truth) == {
        2: "errs with participant 5, participant 7",
        5: "errs with participant 2, participant 7",
        7: "errs with participant 2, participant 5",
    }


def test_without_truth_who_opposes_the_answer_is_found(crowd: tuple[Array, Array]) -> None:
    votes, truth = crowd
    votes[3] = 1 - truth
    found = findings(votes)
    assert set(found) == {3}
    assert found[3].startswith("against the answer (")


def test_a_holdout_tells_where_the_truth_is_not_known(crowd: tuple[Array, Array]) -> None:
    votes, _ = crowd
    total = np.full(11, 40)
    right = np.full(11, 30)
    right[4] = 5
    assert findings(votes, holdout=(right, total)) == {4: "always wrong (5 of 40 right)"}


@pytest.mark.parametrize("right", range(0, 61, 3))
def test_always_wrong_and_like_chance_are_what_the_interval_says(right: int) -> None:
    votes = np.tile([0, 1, 1, 0, 1], (6, 12))
    names = [f"p{i}" for i in range(6)]
    counted = (np.array([50, 50, right, 50, 50, 50]), np.full(6, 60))
    table = describe_participants(votes, votes[0], names=names, classes=2, holdout=counted)
    low, high = binomtest(right, 60).proportion_ci(method="wilson")
    finding = table.rows[2].finding
    assert finding.startswith("always wrong") == (high < 0.5)
    assert finding.startswith("like chance") == (low <= 0.5 <= high <= 2 / 3)


def test_a_rare_label_makes_nobody_constant() -> None:
    """All inputs but two are healthy: who always says so is right."""
    truth = np.zeros(300, dtype=int)
    truth[:2] = 1
    votes = np.tile(truth, (6, 1))
    votes[3] = 0
    assert findings(votes, truth) == {}


def test_sparse_workers_are_no_camp() -> None:
    """Workers who were given the same tasks agree where they voted; that is no error in common."""
    made = homogeneous_votes(20, p=0.8, inputs=400, seed=3)
    votes = made.votes.copy()
    for i in range(20):
        votes[i, np.arange(400) // 100 != i % 4] = -1
    assert findings(votes, made.truth) == {}


def test_few_equal_votes_make_no_copy() -> None:
    made = homogeneous_votes(8, p=0.7, inputs=300, seed=3)
    votes = made.votes.copy()
    votes[4, 19:] = -1
    votes[5] = votes[4]
    assert findings(votes, made.truth) == {}


def test_thousands_of_participants_are_not_compared_in_pairs() -> None:
    """Copies are not looked for among so many; who is wrong is found all the same."""
    made = homogeneous_votes(3001, p=0.8, inputs=60, seed=1)
    votes = made.votes.copy()
    votes[7], votes[9] = votes[1], 1 - made.truth
    names = [f"p{i}" for i in range(3001)]
    many = describe_participants(votes, made.truth, names=names, classes=2, truth=made.truth)
    assert many.rows[9].finding == "always wrong (0 of 60 right)"
    assert not any("copies" in row.finding or "errs" in row.finding for row in many.rows)
    few = describe_participants(votes[:50], made.truth, names=names[:50], classes=2, truth=made.truth)
    assert few.rows[7].finding == "copies p1"


def test_agreement_changes_and_undecided_are_counted(crowd: tuple[Array, Array]) -> None:
    votes, truth = crowd
    votes[6, :30] = -1
    report = report_of(votes, truth, repeats=3, adversaries={2: PerfectlyMalicious()}, missing="uncoloured")
    outcome = report.outcome
    for i, row in enumerate(report.participant_table.rows):
        handed = 1 - truth if i == 2 else votes[i]
        same = compared = changed = open_ = 0
        for repetition in range(3):
            for j in range(400):
                answer, last = outcome.decision[repetition, j], outcome.decisions[repetition, i, j]
                if handed[j] >= 0 and answer >= 0:
                    compared += 1
                    same += handed[j] == answer
                changed += votes[i, j] >= 0 and last >= 0 and last != votes[i, j]
                open_ += last < 0
        assert row.agreement == pytest.approx(same / compared)
        assert row.votes == (handed >= 0).sum()
        assert (row.changes, row.undecided) == ((None, None) if i == 2 else (changed / 3, open_ / 3))
    assert report.participant_table.rows[2].role == "byzantine"


def test_trust_is_that_of_the_median_peer(crowd: tuple[Array, Array]) -> None:
    votes, truth = crowd
    anchors = [Anchor.of_counts(right=30, held_out=40) for _ in range(11)]
    report = report_of(votes, truth, anchors=anchors)
    listeners = listen_first(votes, anchors, classes=2)
    assert listeners is not None
    for i, row in enumerate(report.participant_table.rows):
        others = [trust.weight[i] for j, trust in enumerate(listeners.trusts) if j != i and trust.anchored]
        assert len(others) == 10  # so the median is between the fifth and the sixth
        assert row.weight == pytest.approx(sum(sorted(others)[4:6]) / 2)
        assert (row.holdout, row.held_out) == (0.75, 40)
    assert median_weights(listeners).shape == (11,)


def test_weights_of_the_protocol_are_shown(crowd: tuple[Array, Array]) -> None:
    votes, truth = crowd
    weights = [(1.0 + i) / 11 for i in range(11)]
    report = compare(votes, Slush(5, 3, weights=weights), truth=truth, repeats=1)
    assert [row.weight for row in report.participant_table.rows] == pytest.approx(weights)
    assert "weight" in str(report.participant_table)
    assert "weight" not in str(report_of(votes, truth).participant_table)


def test_who_fails_is_said_to(crowd: tuple[Array, Array]) -> None:
    votes, truth = crowd
    votes[4] = -1
    row = report_of(votes, truth, faults={4: "ValueError: no"}).participant_table.rows[4]
    assert (row.role, row.finding, row.accuracy, row.votes) == ("faulty", "faulty: ValueError: no", None, 0)


def test_the_table_as_a_data_frame(crowd: tuple[Array, Array]) -> None:
    votes, truth = crowd
    votes[3] = 1 - truth
    report = report_of(votes, truth, names=[f"hospital {i}" for i in range(11)])
    frame = report.participants
    assert (len(frame), report.n_participants) == (11, 11)
    assert frame["accuracy"].tolist() == [(votes[i] == truth).mean() for i in range(11)]
    assert frame.loc[3, "finding"] == "always wrong (0 of 400 right)"
    assert frame["holdout"].isna().all()
    assert frame["holdout"].dtype == np.float64


def test_without_pandas_it_is_a_structured_array(
    crowd: tuple[Array, Array], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes, truth = crowd
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = report_of(votes, truth).participants
    assert isinstance(table, ParticipantArray)
    assert table["name"].tolist() == [f"participant {i}" for i in range(11)]
    assert table["accuracy"].tolist() == [(votes[i] == truth).mean() for i in range(11)]
    assert np.isnan(table["holdout"]).all()
    table.to_csv(tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["accuracy"]) for row in rows] == table["accuracy"].tolist()
    assert {row["holdout"] for row in rows} == {""}


def test_csv_has_all_rows_and_no_formulas(crowd: tuple[Array, Array], tmp_path: Path) -> None:
    votes, truth = crowd
    names = ["=cmd()", *(f"p{i}" for i in range(1, 11))]
    report_of(votes, truth, names=names).participant_table.to_csv(tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["'=cmd()", *names[1:]]
    assert [float(row["accuracy"]) for row in rows] == [(votes[i] == truth).mean() for i in range(11)]


def test_many_participants_print_as_those_to_look_at() -> None:
    votes, truth, _ = homogeneous_votes(101, p=0.75, inputs=300, seed=4)
    votes = votes.copy()
    votes[50] = 1 - truth
    table = report_of(votes, truth).participant_table
    shown = table.brief()
    each = [(votes[i] == truth).mean() for i in range(101)]
    assert {"participant 50", f"participant {int(np.argmax(each))}"} <= {row.name for row in shown}
    assert len(shown) == 6  # the three worst, of which one is odd, and the three best
    assert str(table).endswith("... and 95 more: to_csv(path) writes all")
    assert len(str(table).splitlines()) < 15
    few = ParticipantTable(table.rows[:20])
    assert few.brief() == few.rows


def test_notes_of_the_report_name_the_odd_but_not_the_liars(crowd: tuple[Array, Array]) -> None:
    votes, truth = crowd
    votes[3] = 1 - truth
    report = report_of(votes, truth, adversaries={0: PerfectlyMalicious()})
    assert report.notes[-1] == ("odd: 'participant 3': always wrong (0 of 400 right) (participant_table)")
    assert report.to_dict()["participants"] == 11
    assert [row["name"] for row in report.to_dict()["participant_table"]] == [
        f"participant {i}" for i in range(11)
    ]


def test_a_holdout_of_the_wrong_length_is_refused(crowd: tuple[Array, Array]) -> None:
    with pytest.raises(ValueError, match=r"holdout \(total\) must hold one per participant \(11\): got 2"):
        report_of(crowd[0], holdout=([1] * 11, [2, 2]))
