"""Pictures of a deliberation: who answers how well, and how the participants came to agree."""

from __future__ import annotations

from matplotlib.figure import Figure

from folkmoot.comparing.report import Report
from folkmoot.explanation.convergence import draw_convergence


def deliberation(report: Report) -> Figure:
    """The scores side by side (without truth, how firmly inputs are held); beside them the rounds, if any."""
    if report.outcome.history is None:
        return report.plot()
    figure = Figure(figsize=(11.2, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    report.plot(left)
    draw_convergence(report.outcome, right)
    return figure
