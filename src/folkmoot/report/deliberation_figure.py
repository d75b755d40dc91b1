"""Pictures of a deliberation: who answers how well, and how the talk converged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from folkmoot.baselines import Verdict
from folkmoot.outcome import Outcome, draw_convergence
from folkmoot.report.palette import BLUE, PALE


def deliberation(
    outcome: Outcome, verdicts: Sequence[Verdict], protocol: str, accuracy: Sequence[float] | None
) -> Figure:
    """Left: accuracies side by side (or, without truth, how firmly inputs are held). Right: convergence."""
    figure = Figure(figsize=(11.2, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    if accuracy is not None:
        names = [*(verdict.name for verdict in verdicts), protocol]
        values = [*(verdict.accuracy or 0.0 for verdict in verdicts), float(np.mean(accuracy))]
        bars = left.barh(names, values, color=[PALE] * len(verdicts) + [BLUE])
        left.bar_label(bars, labels=[f"{value:.3f}" for value in values], padding=3)
        left.set_xlim(0, 1.12)
        left.invert_yaxis()
        left.set_xlabel("accuracy")
    else:
        left.hist(outcome.agreement.ravel(), bins=np.linspace(0, 1, 21), color=BLUE)
        left.set_xlabel("share of honest participants that agree")
        left.set_ylabel("inputs")
    left.spines[["top", "right"]].set_visible(False)
    draw_convergence(outcome, right)
    return figure
