"""Pictures of a deliberation: who answers how well, and how the talk converged."""

from __future__ import annotations

from matplotlib.figure import Figure

from folkmoot.comparison import Report
from folkmoot.comparison.report import draw_report
from folkmoot.plots import draw_convergence


def deliberation(report: Report) -> Figure:
    """Left: accuracies side by side (or, without truth, how firmly inputs are held). Right: convergence."""
    if report.recorded is None:
        raise ValueError("the picture needs the record of a talk: compare(..., record=True)")
    figure = Figure(figsize=(11.2, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_report(report, left)
    draw_convergence(report.recorded, right)
    return figure
