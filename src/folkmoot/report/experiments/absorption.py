"""Figure "Slush Absorption": B_b with the bounds b/n and Chvatal's; the chance of all red on a log scale."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from folkmoot.experiments.absorption import AbsorptionResult
from folkmoot.report.palette import BLUE, GREEN, ORANGE, RED, panels


def draw(result: AbsorptionResult) -> Figure:
    """As in the paper on the left; what a linear scale hides on the right."""
    figure, (left, right) = panels(1, 2)
    b = np.arange(result.n + 1)
    top = b[(result.n + 1) // 2 :]
    left.plot(b, result.numbers.blue, color=BLUE, marker=".", label=r"$B_b$")
    left.plot(top, top / result.n, color=ORANGE, label=r"$b/n$")
    left.plot(top, result.numbers.chvatal, color=GREEN, label="Chvatal")
    left.set(xlabel="blue nodes b", ylabel="probability")
    left.legend(frameon=False)
    right.plot(b, [np.nan if x is None else x for x in result.numbers.log10_red], color=RED, marker=".")
    right.set(xlabel="blue nodes b", ylabel=r"$\log_{10} R_b$, all end red")
    return figure
