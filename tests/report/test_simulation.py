from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from folkmoot import Slush, deliberate
from folkmoot.baselines import centralised
from folkmoot.report.deliberation_figure import deliberation


def test_bars_are_the_accuracies() -> None:
    votes = (np.random.default_rng(0).random((15, 40)) < 0.7).astype(np.int64)
    truth = np.ones(40, dtype=np.int64)
    outcome = deliberate(votes, Slush(5, 3), record=True)
    verdicts = centralised(votes, 2, truth, outcome.honest)
    figure = deliberation(outcome, verdicts, "slush", [0.5, 0.7])
    left, right = figure.axes
    widths = [bar.get_width() for bar in left.patches if isinstance(bar, Rectangle)]
    assert widths == [*(verdict.accuracy for verdict in verdicts), 0.6]
    assert len(right.get_lines()) == 40


def test_without_truth_the_agreement_is_drawn() -> None:
    votes = (np.random.default_rng(0).random((15, 40)) < 0.7).astype(np.int64)
    outcome = deliberate(votes, Slush(5, 3), record=True)
    left, _ = deliberation(outcome, [], "slush", None).axes
    assert sum(bar.get_height() for bar in left.patches if isinstance(bar, Rectangle)) == 40
