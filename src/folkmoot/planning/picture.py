"""The picture of a plan: accuracy against cost, beside answers without rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from folkmoot.pictures.canvas import canvas
from folkmoot.pictures.palette import BLUE, GREEN, GREY, ORANGE, PALE, RED
from folkmoot.protocols.naming import PROTOCOLS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from folkmoot.planning.plan_table import Plan


def draw_plan(plan: Plan, ax: Any = None) -> Figure:
    """Accuracy against messages, a line a protocol, into new axes or into ``ax``."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    figure, ax = canvas(ax, (6.6, 4.2))
    ax.spines[["top", "right"]].set_visible(False)
    for colour, marker, name in zip((BLUE, RED, GREEN), "os^", PROTOCOLS, strict=False):
        ours = sorted((each for each in plan.settings if each.protocol == name), key=lambda e: e.messages)
        if not ours:
            continue
        ax.errorbar(
            [each.messages for each in ours],
            [each.accuracy for each in ours],
            yerr=[each.standard_error or 0.0 for each in ours],
            color=colour,
            marker=marker,
            markersize=4 if marker == "o" else 7,
            mfc=colour if marker == "o" else "none",
            lw=1,
            label=name,
        )
    first = plan.settings[0]
    ax.plot(first.messages, first.accuracy, "o", ms=12, mfc="none", mec="black")
    ax.annotate(
        f"k = {first.k}, alpha = {first.alpha}, {first.rounds} rounds",
        (first.messages, first.accuracy),
        (10, -30),
        textcoords="offset points",
        fontsize=9,
        bbox={"fc": "white", "ec": "none", "pad": 1},
    )
    ax.plot(plan.broadcast.messages, plan.majority, "D", color=ORANGE, label="majority: all tell all, once")
    ax.axhline(plan.mean_participant, color=PALE, lw=1, ls="--", label="mean participant")
    if plan.target is not None:
        ax.axhline(plan.target.accuracy, color=GREY, lw=1, ls=":", label="target")
    ax.set(xscale="log", xlabel="messages per batch", ylabel="accuracy")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_locator(NullLocator())
    malicious = f", {plan.byzantine} Byzantine" if plan.byzantine else ""
    ax.set_title(f"{plan.n} participants{malicious}", fontsize=10, loc="left")
    ax.legend(frameon=False, fontsize=8, loc="center right")
    return figure
