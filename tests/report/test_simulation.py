from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from folkmoot import Slush, compare
from folkmoot.report.deliberation_figure import deliberation


def test_bars_are_the_accuracies() -> None:
    votes = (np.random.default_rng(0).random((15, 40)) < 0.7).astype(np.int64)
    truth = np.ones(40, dtype=np.int64)
    report = compare(votes, Slush(5, 3), truth=truth, repeats=2, record=True)
    left, right = deliberation(report).axes
    widths = [bar.get_width() for bar in left.patches if isinstance(bar, Rectangle)]
    assert widths == [line.accuracy for line in report.lines]
    assert len(right.get_lines()) == 40


def test_without_truth_the_agreement_is_drawn() -> None:
    votes = (np.random.default_rng(0).random((15, 40)) < 0.7).astype(np.int64)
    report = compare(votes, Slush(5, 3), repeats=1, record=True)
    left, _ = deliberation(report).axes
    assert sum(bar.get_height() for bar in left.patches if isinstance(bar, Rectangle)) == 40


def test_without_a_record_there_is_no_talk_to_draw() -> None:
    with pytest.raises(ValueError, match="record=True"):
        deliberation(compare(np.eye(5, dtype=np.int64), Slush(3, 2), repeats=1))
