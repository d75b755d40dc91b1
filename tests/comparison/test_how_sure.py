"""How sure: scores and curves against scikit-learn and against counts by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.calibration import calibration_curve
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score

from folkmoot import Slush, compare
from folkmoot.comparing.how_sure import Certainty, balanced_scores
from folkmoot.datasets import homogeneous_votes
from folkmoot.trust import Anchor

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_scores_are_those_of_scikit_learn(classes: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        truth, told = rng.integers(0, classes, (2, 60))
        told[:20] = truth[:20]
        found = balanced_scores(told[None], truth, classes)
        assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, told))
        assert found["f1_macro"] == pytest.approx(f1_score(truth, told, average="macro"))


def test_classes_that_are_rare_in_truth_or_in_answers() -> None:
    truth, told = np.array([0, 0, 0, 1]), np.array([0, 0, 2, 0])
    found = balanced_scores(told[None], truth, 4)
    assert found["balanced_accuracy"] == pytest.approx((2 / 3 + 0) / 2)
    assert found["f1_macro"] == pytest.approx(f1_score(truth, told, average="macro", zero_division=0))


def test_level_labels_share_as_weighted_rows_do() -> None:
    """A tie of two is half an answer of each: scikit-learn's with the input twice, at half the weight."""
    rng = np.random.default_rng(2)
    truth, told = rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    level = np.zeros((1, 80, 3), dtype=bool)
    rows, answers, weights = [], [], []
    for i in range(80):
        both = sorted({int(told[i]), int((told[i] + 1) % 3)}) if i % 4 == 0 else [int(told[i])]
        if len(both) > 1:
            level[0, i, both] = True
            told[i] = -1
        rows += [truth[i]] * len(both)
        answers += both
        weights += [1 / len(both)] * len(both)
    found = balanced_scores(told[None], truth, 3, level)
    assert found["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(rows, answers, sample_weight=weights)
    )
    assert found["f1_macro"] == pytest.approx(f1_score(rows, answers, average="macro", sample_weight=weights))


def test_undecided_inputs_are_right_for_no_class() -> None:
    found = balanced_scores([[0, -1, 1, 1]], truth=[0, 0, 1, -1], classes=2)
    assert found["balanced_accuracy"] == pytest.approx((0.5 + 1) / 2)
    assert found["f1_macro"] == pytest.approx((2 * 1 / (1 + 2) + 1) / 2)
    with pytest.raises(ValueError, match="truth must be known"):
        balanced_scores([[0, 1]], truth=[-1, -1], classes=2)


def test_every_line_of_a_report_has_both() -> None:
    votes, truth, _ = homogeneous_votes(9, p=0.7, inputs=300, seed=1)
    report = compare(votes, Slush(5, 3), truth=truth, repeats=2)
    each = [balanced_accuracy_score(truth, row) for row in votes]
    assert report.line("mean participant").scores["balanced_accuracy"] == pytest.approx(np.mean(each))
    best = int(np.argmax((votes == truth).mean(axis=1)))
    assert report.line("best participant").scores["f1_macro"] == pytest.approx(
        f1_score(truth, votes[best], average="macro")
    )
    majority = report.line("majority")
    assert majority.decisions is not None
    assert majority.scores["f1_macro"] == pytest.approx(
        f1_score(truth, majority.decisions[0], average="macro")
    )
    talk = [f1_score(truth, one, average="macro") for one in np.atleast_2d(report.outcome.decision)]
    assert report.line("consensus").scores["f1_macro"] == pytest.approx(np.mean(talk))
    assert report.to_dict()["lines"][-1]["scores"] == report.lines[-1].scores
    assert "balanced  macro F1" in str(report)
    plain = compare(votes, Slush(5, 3), repeats=1)
    assert plain.line("majority").scores == {}
    assert "macro F1" not in str(plain)


def test_different_stories_are_told_in_one_line() -> None:
    """95 of 100 are healthy, and nearly all who are ill are missed."""
    truth = np.repeat([0, 1], [190, 10])
    votes = np.tile(np.repeat([0, 1], [198, 2]), (5, 1))
    report = compare(votes, Slush(4, 3), truth=truth, labels=["healthy", "ill"], repeats=1)
    (line,) = [note for note in report.notes if note.startswith("accuracy")]
    assert line == (
        "accuracy 0.960 but balanced 0.600, macro F1 0.656: some classes are answered much worse than "
        "others; always answering 'healthy' would be right on 0.950"
    )
    even = compare(votes[:, 180:], Slush(4, 3), truth=np.where(votes[0, 180:], 1, truth[180:] * 0), repeats=1)
    assert not [note for note in even.notes if note.startswith("accuracy")]


def certainty(classes: int, **options: Any) -> Certainty:
    rng = np.random.default_rng(3)
    likely = rng.dirichlet(np.full(classes, 0.6), 200)
    answers = likely.argmax(axis=1)
    answers[:9] = (answers[:9] + 1) % classes  # what a talk decided otherwise
    truth = np.where(rng.random(200) < likely.max(axis=1), answers, rng.integers(0, classes, 200))
    return Certainty(truth, answers, likely, **options)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_curve_counts_what_each_threshold_leaves(classes: int) -> None:
    found = certainty(classes)
    curve = found.curve()
    sure = [float(found.likely[i, answer]) for i, answer in enumerate(found.answers)]
    assert sorted(set(sure), reverse=True) == curve.threshold.tolist()
    for threshold, coverage, accuracy in zip(*curve, strict=True):
        kept = [i for i in range(200) if sure[i] >= threshold]
        assert coverage == len(kept) / 200
        assert accuracy == pytest.approx(sum(found.answers[i] == found.truth[i] for i in kept) / len(kept))
    assert (curve.coverage[-1], found.coverage) == (1.0, 1.0)
    assert found.accuracy_answered == pytest.approx(curve.accuracy[-1])


def test_what_is_withheld_is_not_counted() -> None:
    found = certainty(3, abstain_below=0.7)
    kept = [i for i in range(200) if found.likely[i, found.answers[i]] >= 0.7]
    assert found.coverage == len(kept) / 200
    assert found.accuracy_answered == pytest.approx(np.mean(found.answers[kept] == found.truth[kept]))
    nothing = certainty(3, abstain_below=1.0)
    assert (nothing.coverage, nothing.accuracy_answered) == (0.0, None)


@pytest.mark.parametrize("classes", [2, 4])
def test_pictures_show_what_scikit_learn_computes(classes: int) -> None:
    found = certainty(classes, labels=[f"label {i}" for i in range(classes)])
    drawn = found.draw_confusion().axes[0]
    table = confusion_matrix(found.truth, found.answers)
    assert np.asarray(drawn.images[0].get_array()).tolist() == table.tolist()
    assert [tick.get_text() for tick in drawn.get_xticklabels()] == [f"label {i}" for i in range(classes)]
    hits = found.truth == 1 if classes == 2 else found.truth == found.answers
    chances = found.likely[:, 1] if classes == 2 else found.sure
    expected = calibration_curve(hits, chances, n_bins=7)
    line = found.draw_reliability(n_bins=7).axes[0].lines[-1]
    assert np.allclose(line.get_ydata(), expected[0])
    assert np.allclose(line.get_xdata(), expected[1])
    curve = found.curve()
    steps = found.draw_coverage().axes[0].lines[0]
    assert np.allclose(steps.get_xdata(), curve.coverage)
    assert np.allclose(steps.get_ydata(), curve.accuracy)


def test_the_confusion_matrix_has_a_column_for_what_is_withheld() -> None:
    found = certainty(2, abstain_below=0.8, labels=["a", "b"], reject_label="unsure")
    drawn = found.draw_confusion(normalize="true").axes[0]
    said = np.where(found.sure >= 0.8, found.answers, 2)
    expected = [[np.mean(said[found.truth == true] == each) for each in range(3)] for true in range(2)]
    assert np.allclose(np.asarray(drawn.images[0].get_array())[:2], expected)
    assert [tick.get_text() for tick in drawn.get_xticklabels()] == ["a", "b", "unsure"]
    assert drawn.get_ylim() == (1.5, -0.5)


@pytest.mark.parametrize("plot", ["plot", "plot_confusion", "plot_reliability", "plot_coverage"])
def test_every_plot_of_a_report_takes_axes(plot: str) -> None:
    votes, truth, _ = homogeneous_votes(9, p=0.7, inputs=60, seed=1)
    report = compare(votes, Slush(5, 3), truth=truth, repeats=1)
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert getattr(report, plot)(ax=right) is figure
    assert right.has_data()
    assert not left.has_data()
    assert isinstance(getattr(report, plot)(), Figure)
    with pytest.raises(TypeError, match=r"ax must be matplotlib axes, .* got int"):
        getattr(report, plot)(ax=3)


def test_what_cannot_be_drawn_is_said_in_one_line() -> None:
    votes, truth, _ = homogeneous_votes(9, p=0.7, inputs=60, seed=1)
    with pytest.raises(ValueError, match="a reliability plot needs the truth"):
        compare(votes, Slush(5, 3), repeats=1).plot_reliability()
    anchors = [Anchor.of_counts(right=30, held_out=40)] * 9
    with pytest.raises(ValueError, match="a confusion matrix needs probabilities"):
        compare(votes, Slush(5, 3), truth=truth, anchors=anchors, repeats=1).plot_confusion()
    with pytest.raises(ValueError, match="n_bins must satisfy n_bins >= 1"):
        compare(votes, Slush(5, 3), truth=truth, repeats=1).plot_reliability(n_bins=0)
