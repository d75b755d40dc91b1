"""How sure: scores and curves against scikit-learn and against counts by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix

from folkmoot import Slush, compare
from folkmoot.comparing.certainty import Certainty
from folkmoot.datasets import homogeneous_votes

RNG = np.random.default_rng(0)


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
    report = compare(votes, truth=truth)
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
    with pytest.raises(ValueError, match="a reliability plot needs classes, and their truth"):
        compare(votes).plot_reliability()
    assert isinstance(compare(votes, Slush(5, 3), truth=truth, repeats=1).plot_confusion(), Figure)
    with pytest.raises(ValueError, match="n_bins must satisfy n_bins >= 1"):
        compare(votes, truth=truth).plot_reliability(n_bins=0)
