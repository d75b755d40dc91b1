"""``compare`` against scikit-learn's metrics, exact rationals and counting by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, mean_squared_error, r2_score

from folkmoot import Council, Slush, Snowball, deliberate, read_votes
from folkmoot.adversaries import PerfectlyMalicious, Silent
from folkmoot.adversaries.behaviours import ConstantNumber
from folkmoot.aggregation import DawidSkene, Known, Median, Plurality, Pool, TrimmedMean
from folkmoot.aggregation.interface import FinalVotes, OwnAggregation
from folkmoot.arrays import Array, Ints
from folkmoot.comparing.comparing import compare, report_on
from folkmoot.votes import NO_VOTE


def crowd(seed: int, participants: int = 7, inputs: int = 200, classes: int = 3) -> tuple[Ints, Ints]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, inputs)
    right = rng.random((participants, inputs)) < np.linspace(0.5, 0.9, participants)[:, None]
    return np.where(right, truth, rng.integers(0, classes, (participants, inputs))), truth


VOTES, TRUTH = crowd(0)


def test_lines_are_those_of_scikit_learn() -> None:
    report = compare(VOTES, truth=TRUTH)
    each = [accuracy_score(TRUTH, votes) for votes in VOTES]
    assert report.score("mean participant") == pytest.approx(np.mean(each))
    best = report.line("best participant")
    assert best.score == pytest.approx(max(each))
    assert best.note == f"participant {int(np.argmax(each))}: known by the truth only"
    assert best.scores["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(TRUTH, VOTES[int(np.argmax(each))])
    )
    assert best.standard_error == pytest.approx(
        np.std(VOTES[int(np.argmax(each))] == TRUTH, ddof=1) / 200**0.5
    )


def test_plain_consensus_equals_the_majority_and_ties_share() -> None:
    report = compare(VOTES, truth=TRUTH)
    right = Fraction(0)
    ties = 0
    for column, true in zip(VOTES.T.tolist(), TRUTH.tolist(), strict=True):
        most = max(column.count(each) for each in column)
        first = {each for each in column if column.count(each) == most}
        right += Fraction(true in first, len(first))
        ties += len(first) > 1
    assert ties > 0
    for name in ("majority", "consensus"):
        line = report.line(name)
        assert line.score == pytest.approx(float(right / 200))
        assert line.ties == ties
        assert line.coverage == pytest.approx(1 - ties / 200)


def test_no_answer_is_not_right_and_coverage_says_so() -> None:
    votes, truth = VOTES.copy(), TRUTH
    votes[0] = np.where(np.arange(200) % 10 == 0, truth, NO_VOTE)  # always right, on one input in ten
    report = compare(votes, truth=truth)
    row = report.participants.rows[0]
    assert (row.score, row.coverage) == (0.1, 0.1)
    assert report.line("best participant").note.startswith("participant 6")
    assert report.score("mean participant") == pytest.approx(
        np.mean([accuracy_score(truth, each) for each in votes])
    )
    assert report.line("mean participant").coverage == pytest.approx((6 + 0.1) / 7)
    assert "accuracy is over all 200 scored inputs: no answer is not right" in str(report)


def test_what_predict_fills_is_the_consensus() -> None:
    outcome = deliberate(VOTES, Council())
    predicted = np.where(outcome.decision == NO_VOTE, 0, outcome.decision)
    report = report_on(outcome, truth=TRUTH, predicted=predicted, filled="answered by the first of the tied")
    assert report.score() == pytest.approx(accuracy_score(TRUTH, predicted))
    assert report.main.coverage == 1
    ties = int((outcome.decision == NO_VOTE).sum())
    assert f"consensus: {ties} ties, answered by the first of the tied" in str(report)


class Self(OwnAggregation):
    """Everybody believes itself."""

    def final_votes(self, table: Array, known: Known) -> FinalVotes:  # noqa: ARG002
        weights = np.eye(len(table)) + 0.25
        return FinalVotes(table.copy(), weights=weights, fell_back={1: "it holds no rows"})


def test_an_own_aggregation_is_scored_by_the_honest_final_votes() -> None:
    liars = {0: PerfectlyMalicious(), 3: PerfectlyMalicious()}
    report = compare(VOTES, truth=TRUTH, aggregation=Self(), adversaries=liars)
    honest = [1, 2, 4, 5, 6]
    assert report.score("mean final vote") == pytest.approx((VOTES[honest] == TRUTH).mean())
    outcome = deliberate(VOTES, Council(), aggregation=Self(), adversaries=liars, truth=TRUTH)
    assert report.score() == pytest.approx(outcome.accuracy(TRUTH))
    assert report.malicious == ("participant 0", "participant 3")
    assert report.score("mean participant") == pytest.approx((VOTES[honest] == TRUTH).mean())
    assert [row.weight for row in report.participants.rows] == [0.25] * 7
    assert "1 of 5 took the plurality instead: participant 1: it holds no rows" in str(report)


def test_an_own_aggregation_is_refused_by_slush_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^Slush takes no aggregation, .*give it with Council\(\)[^\n]*$"):
        compare(VOTES, Slush(3, 2), aggregation=Self())


def test_given_truth_is_used_and_not_scored() -> None:
    gold = np.where(np.arange(200) < 50, TRUTH, NO_VOTE)
    report = compare(VOTES, truth=TRUTH, known=Known(truth=gold), aggregation=DawidSkene())
    assert report.scored == 150
    assert report.score("mean participant") == pytest.approx((VOTES[:, 50:] == TRUTH[50:]).mean())
    assert (report.main.answers[:50] == TRUTH[:50]).all()  # type: ignore[index]
    assert report.participants.rows[0].estimated is not None


def test_votes_weighted_by_the_holdout() -> None:
    report = compare(VOTES, truth=TRUTH, holdout=([1, 1, 1, 1, 1, 1, 100], [100] * 7))
    assert report.line("weighted").answers.tolist() == VOTES[6].tolist()  # type: ignore[union-attr]
    assert [row.holdout for row in report.participants.rows] == [0.01] * 6 + [1.0]
    assert "weighted" not in [line.name for line in compare(VOTES, truth=TRUTH).lines]


def test_other_rules_can_be_named() -> None:
    report = compare(VOTES, truth=TRUTH, others={"supermajority": Plurality(least=5)})
    assert [line.name for line in report.lines][2:] == ["supermajority", "consensus"]
    decided = np.array([np.bincount(column).max() >= 5 for column in VOTES.T])
    assert report.line("supermajority").coverage == pytest.approx(decided.mean())


def test_protocols_with_rounds_by_name() -> None:
    report = compare(
        VOTES, {"slush": Slush(4, 3), "snowball": Snowball(4, 3)}, truth=TRUTH, repeats=3, seed=2
    )
    played = deliberate(VOTES, Slush(4, 3), repeats=3, seed=2)
    assert report.main.name == "slush"
    assert report.score() == pytest.approx(played.accuracy(TRUTH))
    assert report.score("snowball") is not None
    assert report.protocol == "slush: Slush, k=4, alpha=3; snowball: Snowball, k=4, alpha=3, beta=20"
    assert f"{np.mean(played.queries):,.0f} queries" in str(report)


def test_numbers() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=80)
    values = truth + rng.normal(size=(5, 80)) * np.linspace(0.2, 1, 5)[:, None]
    report = compare(values, truth=truth, adversaries={4: ConstantNumber(1e6)})
    each = [mean_squared_error(truth, values[i]) ** 0.5 for i in range(4)]
    assert report.metric.name == "error"
    assert report.score("mean participant") == pytest.approx(np.mean(each))
    assert report.score("best participant") == pytest.approx(min(each))
    assert report.line("best participant").scores["r2"] == pytest.approx(r2_score(truth, values[0]))
    sent = np.vstack([values[:4], np.full(80, 1e6)])
    assert report.score("median") == pytest.approx(mean_squared_error(truth, np.median(sent, axis=0)) ** 0.5)
    assert report.score() == pytest.approx(
        mean_squared_error(truth, np.sort(sent, axis=0)[1:-1].mean(axis=0)) ** 0.5
    )
    assert report.participants.rows[4].finding == "constant (1e+06)"
    own = compare(values, truth=truth, aggregation=Median())
    assert own.score() == own.score("median")
    several = compare(values[:, :, None], truth=truth[:, None], stacking=True, aggregation=TrimmedMean())
    assert several.score("mean") == pytest.approx(compare(values, truth=truth).score("mean"))
    assert several.score("stacking") is not None


def test_no_number_counts_as_the_mean_of_the_truth() -> None:
    truth = np.arange(30.0)
    values = np.stack([truth, np.where(truth < 3, truth, np.nan), np.full(30, np.nan)])
    report = compare(values, truth=truth)
    filled = np.where(truth < 3, truth, truth.mean())
    assert report.participants.rows[1].score == pytest.approx(mean_squared_error(truth, filled) ** 0.5)
    assert report.participants.rows[2].score == pytest.approx(truth.std())
    assert report.participants.rows[2].coverage == 0
    partly = compare(values, truth=np.where(truth < 10, truth, np.nan))
    assert partly.scored == 10


def test_probabilities() -> None:
    rng = np.random.default_rng(3)
    said = rng.dirichlet([1, 1, 1], size=(5, 60))
    truth = rng.integers(0, 3, 60)
    report = compare(said, truth=truth, aggregation=Pool(robust=False))
    plain = pytest.approx((said.mean(axis=0).argmax(axis=1) == truth).mean())
    assert report.score() == report.score("mean of probabilities") == plain
    assert report.score("mean participant") == pytest.approx((said.argmax(axis=2) == truth).mean())
    assert (
        report.score("logarithmic pool")
        == compare(said, truth=truth, aggregation=Pool("log", robust=False)).score()
    )
    assert report.certainty is not None
    assert report.certainty.likely == pytest.approx(said.mean(axis=0))


@pytest.mark.parametrize("classes", [216, 5000])
def test_any_number_of_classes(classes: int) -> None:
    votes, truth = crowd(1, 10, 2000, classes)
    report = compare(votes, truth=truth)
    assert report.classes == max(votes.max(), truth.max()) + 1
    assert report.score() == pytest.approx(report.score("majority"))
    assert report.score() > 0.9  # type: ignore[operator]


def test_without_truth_there_are_no_scores() -> None:
    report = compare(VOTES, labels=["a", "b", "c"], names=[f"w{i}" for i in range(7)])
    assert report.score() is None
    assert [line.name for line in report.lines] == ["majority", "Dawid-Skene", "consensus"]
    assert "agreement" in str(report)
    assert "accuracy" not in str(report)
    assert report.outcome.answers[0] in ("a", "b", "c", None)
    assert len(report.plot().axes) == 1


def test_findings() -> None:
    votes = VOTES.copy()
    votes[0] = (TRUTH + 1) % 3
    votes[1] = 2
    votes[3] = votes[2]
    report = compare(votes, truth=TRUTH, labels=["x", "y", "z"])
    assert report.participants.findings == {
        "participant 0": "always wrong (0 of 200 right)",
        "participant 1": "constant (always 'z')",
        "participant 2": "the same wrong answers as participant 3",
        "participant 3": "the same wrong answers as participant 2",
    }
    assert "the same wrong answers: participant 2 and participant 3" in str(report)
    unknown = compare(np.vstack([votes[[0, 4, 5, 6]]])).participants.findings
    assert "against the answer" in unknown["participant 0"]


def test_faults_and_silence() -> None:
    outcome = deliberate(np.vstack([VOTES, np.full((1, 200), NO_VOTE)]), Council(), adversaries={1: Silent()})
    report = report_on(replace(outcome, faults={7: "no predict"}), truth=TRUTH)
    assert report.participants.rows[7].finding == "faulty: no predict"
    assert report.independence.participants == 6
    assert "faulty: participant 7: no predict" in str(report)


def test_json_html_and_pictures() -> None:
    nasty = "<script>alert(1)</script>"
    report = compare(VOTES, truth=TRUTH, names=[nasty, *"abcdef"], labels=["r", "g", "b"], stacking=True)
    told = json.loads(json.dumps(report.to_dict()))
    assert told["lines"][-1]["accuracy"] == report.score()
    assert told["participant_table"][0]["accuracy"] == report.participants.rows[0].score
    assert told["effective_votes"] == report.independence.votes
    assert nasty not in report._repr_html_() + report.participants._repr_html_()
    for draw in (report.plot, report.plot_confusion, report.plot_reliability, report.plot_coverage):
        assert draw().axes
    assert report.participants.frame()["accuracy"].tolist() == [row.score for row in report.participants.rows]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"protocol": 3}, "protocol must be Council"),
        ({"protocol": {"majority": Council()}}, "names that no other line has: got majority"),
        ({"names": ["a"]}, r"names must hold one per participant \(7\): got 1"),
        ({"labels": ["a", "b"]}, "-1 <= class < 2"),
        ({"truth": [0]}, r"truth must hold one class per input \(200\)"),
        ({"stacking": True}, "stacking learns from the truth"),
        ({"holdout": ([1], [2])}, "holdout must hold one per participant"),
        ({"others": {"x": 3}}, "aggregation must be one of"),
        ({"adversaries": {1: PerfectlyMalicious()}}, "must know the truth"),
        ({"rounds": -1, "protocol": Slush(3, 2)}, "rounds"),
    ],
)
def test_bad_input_is_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        compare(VOTES, **given)
    assert "\n" not in str(caught.value)


def test_lines_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match=r"name must be one of mean participant, .*: got 'x'"):
        compare(VOTES, truth=TRUTH).line("x")


LABELS = np.array(["ash", "birch", "cherry"])
WIDE = pd.DataFrame(LABELS[VOTES.T], columns=[f"w{i}" for i in range(7)])
LONG = WIDE.rename_axis("task").reset_index().melt("task", var_name="worker", value_name="label")


@pytest.mark.parametrize("frame", [WIDE, LONG], ids=["wide", "long"])
def test_data_frames_bring_names_labels_and_truth(frame: pd.DataFrame) -> None:
    plain = compare(VOTES, truth=TRUTH)
    report = compare(frame, truth=LABELS[TRUTH])
    assert [line.score for line in report.lines] == [line.score for line in plain.lines]
    assert [row.name for row in report.participants.rows] == [f"w{i}" for i in range(7)]
    assert report.labels == LABELS.tolist()
    outcome = deliberate(frame)
    expected = [None if each == NO_VOTE else LABELS[each] for each in deliberate(VOTES).decision]
    assert outcome.answers.tolist() == expected
    assert deliberate(frame, Slush(3, 2)).answers.tolist() == [
        None if each == NO_VOTE else LABELS[each] for each in deliberate(VOTES, Slush(3, 2)).decision
    ]


def test_gold_tasks_of_a_table_are_known() -> None:
    gold = {str(i): LABELS[TRUTH[i]] for i in range(40)}
    table = read_votes(WIDE, truth=LABELS[TRUTH], gold=gold)
    report = compare(table, aggregation=DawidSkene())
    assert report.scored == 160
    assert (deliberate(table, aggregation=DawidSkene()).decision[:40] == TRUTH[:40]).all()
    assert compare(table, Slush(3, 2)).scored == 160


def test_a_frame_of_numbers() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 4))
    report = compare(pd.DataFrame(values, columns=list("abcd")), truth=np.zeros(30))
    assert report.metric.name == "error"
    assert report.score("mean") == pytest.approx((values.mean(axis=1) ** 2).mean() ** 0.5)
    assert [row.name for row in report.participants.rows] == list("abcd")


def test_a_truth_that_nobody_voted_for_is_right_for_nobody() -> None:
    report = compare([[0, 1], [0, 1], [1, 1]], truth=[0, 2])
    assert report.scored == 2
    assert [report.score(name) for name in ("best participant", "majority", "consensus")] == [0.5] * 3


@pytest.mark.parametrize(
    ("given", "answer"), [({}, 1), ({"missing": "absent"}, 1), ({"missing": "present"}, -1)]
)
def test_a_missing_vote_means_the_same_to_all(given: Any, answer: int) -> None:
    """Absent is what is meant unless told otherwise; one vote of three is never two equal answers."""
    votes = [[1], [NO_VOTE], [NO_VOTE]]
    assert deliberate(votes, Slush(2, 2), **given).decision == [answer]
    assert compare(votes, Slush(2, 2), repeats=1, **given).main.answers == [[answer]]
