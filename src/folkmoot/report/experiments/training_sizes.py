"""Figure "RF training size": training set sizes of single writers (left) and of groups (right)."""

from __future__ import annotations

from matplotlib.figure import Figure

from folkmoot.paper.femnist.training_sizes import SizesResult
from folkmoot.report.palette import BLUE, ORANGE, panels


def draw(result: SizesResult) -> Figure:
    """Two histograms."""
    figure, (left, right) = panels(1, 2)
    for axes, sizes, colour, what in (
        (left, result.writers, BLUE, "single writers"),
        (right, result.groups, ORANGE, "groups of writers"),
    ):
        axes.hist(sizes, bins=25, color=colour, alpha=0.8)
        axes.set_title(f"{len(sizes)} {what}", fontsize=10)
        axes.set(xlabel="letters to train on", ylabel="models")
    return figure
