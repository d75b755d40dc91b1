"""The stalling attack: what stays split, and what is right, by the number of attackers."""

from __future__ import annotations

from matplotlib.figure import Figure

from folkmoot.paper.theory.liveness import LivenessResult
from folkmoot.report.palette import SERIES, panels


def draw(result: LivenessResult) -> Figure:
    """Left: inputs on which the honest stay split. Right: accuracy; dashed under perfectly malicious ones."""
    figure, (left, right) = panels(1, 2, size=(5.0, 3.6))
    names = list(dict.fromkeys(each.protocol for each in result.lines))
    for each in result.lines:
        colour = SERIES[names.index(each.protocol)]
        stalling = each.attack == "stalling"
        style = "-" if stalling else "--"
        label = each.protocol if stalling else None
        left.plot(result.byzantine, each.unsettled, style, color=colour, marker=".", label=label)
        right.plot(result.byzantine, each.accuracy, style, color=colour, marker=".")
    left.set(
        xlabel="attackers", ylabel=f"inputs still split after {result.rounds} rounds", ylim=(-0.02, 1.02)
    )
    right.set(xlabel="attackers", ylabel="accuracy", ylim=(-0.02, 1.02))
    left.legend(frameon=False, fontsize=8)
    right.set_title("solid: stalling, dashed: perfectly malicious", fontsize=9, loc="left")
    return figure
