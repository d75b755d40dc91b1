"""Figure "Simulation": accuracy and gap against the mean, one row a variance, with exact values put in."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import beta as beta_law

from folkmoot.datasets import beta_parameters
from folkmoot.paper.theory.beta import BetaResult
from folkmoot.report.palette import BLUE, GREEN, GREY, ORANGE, panels


def draw(result: BetaResult) -> Figure:
    """Left: accuracies. Middle: majority less local Slush. Right: the density at a mean of one half."""
    variances = sorted({each.variance for each in result.points})
    figure, axes = panels(len(variances), 3, size=(4.2, 2.7))
    x = np.linspace(0.001, 0.999, 300)
    for row, variance in enumerate(variances):
        left, middle, right = axes[3 * row : 3 * row + 3]
        here = [each for each in result.points if each.variance == variance]
        means = [each.mean for each in here]
        for name, colour in (("majority", ORANGE), ("slush", GREEN), ("local", BLUE)):
            shown = {"slush": "Slush, one alpha", "local": "Slush, local alpha"}.get(name, name)
            values = [getattr(each, name) for each in here]
            left.errorbar(
                means, [v.value for v in values], [v.error for v in values],
                color=colour, label=shown, lw=1.2, marker=".", ms=4,
            )  # fmt: skip
        exact = [each for each in result.exact if each.variance == variance]
        if exact:
            left.plot(
                [each.mean for each in exact], [each.exact for each in exact],
                "kD", ms=5, mfc="none", label="exact, local alpha",
            )  # fmt: skip
        left.plot(means, means, color=GREY, ls=":", lw=1, label="mean participant")
        middle.axhline(0, color=GREY, lw=0.8)
        middle.errorbar(
            means, [each.gap.value for each in here], [each.gap.error for each in here],
            color=BLUE, lw=1.2, marker=".", ms=4,
        )  # fmt: skip
        right.fill_between(x, beta_law(*beta_parameters(0.5, variance)).pdf(x), color=GREY, alpha=0.5)
        left.set(ylabel="accuracy", ylim=(0, 1.02))
        left.set_title(f"variance {variance:g}", fontsize=10, loc="left")
        middle.set(ylabel="majority - local Slush")
        right.set(yticks=[], ylim=(0, None))
        if row == len(variances) - 1:
            for each in (left, middle):
                each.set_xlabel("mean accuracy of the learners")
            right.set_xlabel("accuracy of a learner")
    axes[0].legend(frameon=False, fontsize=7)
    axes[2].set_title("density at mean 0.5", fontsize=10, loc="left")
    return figure
