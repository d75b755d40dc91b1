"""Figure "feMNIST letters niid CNN": distributions of accuracies (top), accuracies against liars (bottom)."""

from __future__ import annotations

from matplotlib.figure import Figure

from folkmoot.paper.femnist.group_networks import CnnResult
from folkmoot.report.experiments.femnist_curves import draw_sweep, draw_test, draw_validation, span
from folkmoot.report.palette import panels


def draw(result: CnnResult) -> Figure:
    """Each test set has a column; the place below validation holds the legend."""
    columns = 1 + len(result.sweeps)
    figure, axes = panels(2, columns, size=(3.5, 2.8))
    draw_validation(axes[0], result.ensemble)
    limits = span([result.ensemble])
    for each, test in zip(axes[1:columns], result.ensemble.tests, strict=True):
        draw_test(each, test)
        each.set_xlim(*limits)
    corner, *below = axes[columns:]
    for each, sweep in zip(below, result.sweeps, strict=True):
        draw_sweep(each, sweep, result.alpha)
    below[0].set_ylabel("accuracy")
    corner.axis("off")
    corner.legend(*axes[1].get_legend_handles_labels(), loc="center", frameon=False)
    return figure
