"""Theorem "performance groups": the regions of (p1, p2) where Slush beats the majority."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from folkmoot.paper.theory.performance_groups import PerformanceGroupsResult
from folkmoot.report.palette import GREY, SERIES, panels


def draw(result: PerformanceGroupsResult) -> Figure:
    """The borders for all groups on the left; how much it matters for the middle pair on the right."""
    figure, (left, right) = panels(1, 2, size=(5.6, 4.6))
    for each, colour in zip(result.groups, SERIES, strict=False):
        left.plot(each.crossing, result.p2, color=colour, label=rf"$n_1$={each.n1}, $n_2$={each.n2}")
        left.plot(each.sufficient, result.p2, color=colour, lw=1, ls="--", label="_sufficient")
        left.plot([each.bound], [0], color=colour, marker="D", ms=6, ls="none", clip_on=False, label="_bound")
    left.plot([], [], color=GREY, lw=1, ls="--", label=r"all $\kappa_b < 1$")
    left.plot([], [], color=GREY, marker="D", ms=6, ls="none", label=r"$\lceil n/2\rceil/(1+n_1)$")
    left.axhline(0.5, color=GREY, lw=0.6, ls=":")
    left.axvline(0.5, color=GREY, lw=0.6, ls=":")
    left.text(0.03, 0.05, "Slush ahead", color=GREY)
    left.set(
        xlim=(0, 1), ylim=(0, 1), xlabel=r"$p_1$", ylabel=r"$p_2$",
        title=rf"Slush = majority, $\alpha$={result.alpha}, k={result.k}",
    )  # fmt: skip
    left.legend(frameon=False, fontsize=8, loc="upper right")

    shown = result.groups[len(result.groups) // 2]
    gap = np.array(shown.gap)
    top = float(np.abs(gap).max())
    levels = np.linspace(-top, top, 21)
    filled = right.contourf(result.p1, result.p2, gap.T, levels=levels, cmap="RdBu_r")
    right.plot(shown.crossing, result.p2, color="black", lw=1.4, label="equal, exactly")
    right.axvline(shown.bound, color="black", lw=0.9, ls="--", label=rf"bound {shown.bound:.4f}")
    right.set(
        xlim=(0, 1), ylim=(0, 1), xlabel=r"$p_1$", ylabel=r"$p_2$",
        title=rf"$P_{{Maj}} - P_S$, $n_1$={shown.n1}, $n_2$={shown.n2} (blue: Slush ahead)",
    )  # fmt: skip
    right.legend(frameon=False, fontsize=8, loc="upper right")
    figure.colorbar(filled, ax=right, format="%+.3f")
    return figure
