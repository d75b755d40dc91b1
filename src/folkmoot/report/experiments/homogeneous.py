"""Figure "Homogeneous Ensembles": what Slush and supermajorities lose against the majority."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from folkmoot.paper.theory.homogeneous import HomogeneousResult
from folkmoot.report.palette import GREY, SERIES, panels

_DASHES = ((0, (6, 2)), (0, (4, 2)), (0, (2, 2)), (0, (1, 2)))


def draw(result: HomogeneousResult) -> Figure:
    """As in the paper on the left; the p_th of every pair of lines on the right."""
    figure, (left, right) = panels(1, 2, size=(5.6, 4.0))
    p = np.array(result.p)
    for line, colour in zip(result.slush, SERIES, strict=False):
        left.plot(p, line.gap, color=colour, label=rf"Slush $\alpha$={line.alpha}, k={line.k}")
    for i, (delta, gap) in enumerate(zip(result.deltas, result.supermajorities, strict=True)):
        left.plot(p, gap, color=GREY, lw=1.2, ls=_DASHES[i % 4], label=rf"supermajority $\delta$={delta}")
    line = result.slush[result.shaded]
    own = SERIES[result.shaded]
    solid, dashed = np.array(line.gap), np.array(result.supermajorities[0])
    left.fill_between(
        p, solid, dashed, where=(dashed > solid).tolist(), interpolate=True, color=own, alpha=0.2, lw=0
    )
    if line.p_th[0] is not None:
        left.axvline(line.p_th[0], color=own, lw=0.8, ls=":")
        left.annotate(
            rf"$p_{{th}}$ = {line.p_th[0]:.4f}", (line.p_th[0], 1), (4, -2),
            xycoords=("data", "axes fraction"), textcoords="offset points", va="top",
        )  # fmt: skip
    left.set(
        xlim=(0.5, 0.8), ylim=(0, None), xlabel="accuracy p of a participant",
        ylabel=r"$\Delta P = P_{Maj} - P$", title=f"n = {result.n}",
    )  # fmt: skip
    left.legend(frameon=False, fontsize=8, loc="upper right", bbox_to_anchor=(1, 0.92))
    for line, colour in zip(result.slush, SERIES, strict=False):
        heights = [np.nan if value is None else value for value in line.p_th]
        right.plot(
            result.deltas, heights, color=colour, marker="o", label=rf"$\alpha$={line.alpha}, k={line.k}"
        )
    right.axhline(0.5, color=GREY, lw=0.8, ls=":")
    right.set(
        xlabel=r"$\delta$ of the supermajority", ylabel=r"$p_{th}$", xticks=result.deltas,
        title="below, Slush is ahead of the supermajority",
    )  # fmt: skip
    right.legend(frameon=False, fontsize=8, loc="upper left")
    return figure
