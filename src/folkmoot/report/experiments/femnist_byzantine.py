"""Figure "feMNIST letters niid Byzantine": the strong turn (top), the weak turn (bottom), three test sets."""

from __future__ import annotations

from matplotlib.figure import Figure

from folkmoot.paper.femnist.byzantine_forests import ByzantineResult
from folkmoot.report.experiments.femnist_curves import draw_sweep
from folkmoot.report.palette import panels


def draw(result: ByzantineResult) -> Figure:
    """Accuracy against the number of perfectly malicious forests."""
    columns = len(result.sweeps) // 2
    figure, axes = panels(2, columns, size=(3.7, 2.9))
    for each, sweep in zip(axes, result.sweeps, strict=True):
        draw_sweep(each, sweep, result.alpha)
    for row in (0, 1):
        kind = result.sweeps[row * columns].turned
        axes[row * columns].set_ylabel(f"accuracy, {kind} turn")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure
