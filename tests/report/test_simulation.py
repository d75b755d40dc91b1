from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from folkmoot import Slush
from folkmoot.comparing.comparing import compare
from folkmoot.report.deliberation_figure import deliberation


def test_bars_are_the_accuracies() -> None:
    votes = (np.random.default_rng(0).random((15, 40)) < 0.7).astype(np.int64)
    truth = np.ones(40, dtype=np.int64)
    report = compare(votes, Slush(5, 3), truth=truth, repeats=2, record=True)
    left, right = deliberation(report).axes
    widths = [bar.get_width() for bar in left.patches if isinstance(bar, Rectangle)]
    assert widths == [line.score for line in report.lines]
    assert len(right.get_lines()) == 40


def test_without_truth_the_agreement_is_drawn() -> None:
    votes = (np.random.default_rng(0).random((15, 40)) < 0.7).astype(np.int64)
    report = compare(votes, Slush(5, 3), repeats=1, record=True)
    left, _ = deliberation(report).axes
    assert sum(bar.get_height() for bar in left.patches if isinstance(bar, Rectangle)) == 40


def test_a_council_has_no_rounds_to_draw() -> None:
    (axes,) = deliberation(compare(np.eye(5, dtype=np.int64), truth=np.arange(5))).axes
    assert axes.get_xlabel() == "accuracy"
