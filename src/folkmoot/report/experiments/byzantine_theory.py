"""Section 4.4: p_th against the number of liars, and what liars do to the gap between majority and Slush."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from folkmoot.paper.theory.byzantine_theory import ByzantineTheoryResult
from folkmoot.report.palette import GREY, SERIES, panels


def draw(result: ByzantineTheoryResult) -> Figure:
    """p_th for several delta on the left, the gap for several f on the right."""
    figure, (left, right) = panels(1, 2, size=(5.6, 4.0))
    shown = result.conjecture[0]
    name = rf"n={shown.n}, $\alpha$={shown.alpha}, k={shown.k}"
    for i, (delta, colour) in enumerate(zip(result.deltas, SERIES, strict=False)):
        heights = [np.nan if row[i] is None else row[i] for row in shown.p_th]
        label = rf"$\delta$={delta}: $f'$={2 * delta} faulty"
        left.plot(shown.f, heights, color=colour, marker="o", ms=4, label=label)
    left.axhline(0.5, color=GREY, lw=0.8, ls=":")
    left.set(xlabel="perfectly malicious participants f", ylabel=r"$p_{th}$ (Slush ahead below)", title=name)
    left.set_ylim(top=1.22)
    left.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    left.legend(frameon=False, fontsize=8, ncols=2, loc="upper center")
    for curve, colour in zip(result.curves, SERIES, strict=False):
        right.plot(result.p, curve.gap, color=colour, label=f"f={curve.f}")
    right.axhline(0, color=GREY, lw=0.8)
    right.axvline(0.5, color=GREY, lw=0.8, ls=":")
    right.set(
        xlabel="accuracy p of an honest participant", ylabel=r"$\Delta P = P_{Maj} - P_S$",
        title=rf"{name}, $\delta$=0", xlim=(result.p[0], 0.8),
    )  # fmt: skip
    right.legend(frameon=False, fontsize=8)
    return figure
