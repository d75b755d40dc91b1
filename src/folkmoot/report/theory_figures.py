"""Pictures of the exact theory. Each function takes what it draws and returns a matplotlib figure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from folkmoot.pictures.palette import BLUE, GREEN, GREY, ORANGE, RED
from folkmoot.theory import SlushChain, accuracy_gap, majority_accuracy
from folkmoot.theory.bounds import absorption_bound, chvatal_bound


def absorption(chain: SlushChain) -> Figure:
    """B_b and R_b with the bounds b/n and Chvatal's (figure "Slush Absorption"), linear and log scale."""
    figure, (left, right) = _panels(2)
    b = np.arange(chain.honest + 1)
    left.plot(b, chain.blue, color=BLUE, **_dots(b.size), label=r"$B_b$, all end blue")
    left.plot(b, chain.red, color=RED, lw=1, label=r"$R_b$, all end red")
    if chain.byzantine == 0:
        top = b[(chain.n + 1) // 2 :].tolist()
        left.plot(top, [absorption_bound(chain.n, x) for x in top], color=ORANGE, label=r"$b/n$")
        bound = [1 - chvatal_bound(chain.n, chain.k, chain.alpha, x) for x in top]
        left.plot(top, bound, color=GREEN, label="Chvatal, one query")
    _label(left, "blue participants b", "probability", str(chain))
    left.legend(frameon=False)
    for logs, colour, name in ((chain.log_blue, BLUE, r"$B_b$"), (chain.log_red, RED, r"$R_b$")):
        finite = np.isfinite(logs)
        right.plot(b[finite], logs[finite] / math.log(10), color=colour, label=name)
    if right.get_ylim()[0] < -308:
        right.axhline(-308, color=GREY, lw=0.8, ls=":")
        right.annotate(
            "smallest double",
            (0.5, -308),
            (0, 3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            color=GREY,
            ha="center",
            fontsize=8,
        )
    _label(right, "blue participants b", r"$\log_{10}$ of the probability", "the same on a log scale")
    right.legend(frameon=False)
    return figure


def accuracy(
    chain: SlushChain, *, delta: int = 0, q: float | None = None, mark: float | None = None
) -> Figure:
    """P_S and P_Maj against the accuracy p of every honest participant."""
    figure, (axes,) = _panels(1)
    p = np.linspace(0.0, 1.0, 201)
    axes.plot(p, p, color=GREY, lw=0.8, ls="--", label="one participant")
    rule = _rule_name(delta, q)
    votes = [majority_accuracy(chain.n, x, delta=delta, q=q, byzantine=chain.byzantine) for x in p.tolist()]
    axes.plot(p, votes, color=ORANGE, label=rule)
    axes.plot(p, [chain.accuracy(x) for x in p.tolist()], color=BLUE, label="Slush")
    if mark is not None:
        axes.axvline(mark, color=GREY, lw=0.8, ls=":")
    _label(axes, "accuracy p of an honest participant", "accuracy of the network", str(chain))
    axes.legend(frameon=False)
    return figure


def threshold(chain: SlushChain, crossing: float, *, delta: int = 0, q: float | None = None) -> Figure:
    """log of |P_Maj - P_S| against p, coloured by who is ahead, with the crossing p_th."""
    figure, (axes,) = _panels(1)
    p = np.linspace(0.002, 0.998, 250)
    gaps = [accuracy_gap(chain, x, delta=delta, q=q) for x in p.tolist()]
    sign = np.array([gap.sign for gap in gaps])
    size = np.array([gap.log_magnitude for gap in gaps]) / math.log(10)
    for which, colour, name in ((-1, BLUE, "Slush ahead"), (1, ORANGE, f"{_rule_name(delta, q)} ahead")):
        axes.plot(np.where(sign == which, p, np.nan), size, color=colour, label=name)
    if 0 < crossing < 1:
        axes.axvline(crossing, color=GREY, lw=0.8, ls=":")
        left = crossing > 0.6
        axes.annotate(
            rf"$p_{{th}}$ = {crossing:.4f}",
            (crossing, 0.97),
            (-4 if left else 4, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
        )
    _label(axes, "accuracy p of an honest participant", r"$\log_{10}|P_{Maj} - P_S|$", str(chain))
    axes.legend(frameon=False)
    return figure


def rounds(chain: SlushChain, horizon: int | None = None) -> Figure:
    """Expected rounds from each b; with a horizon in steps, the chance to be open after it."""
    figure, panels = _panels(1 if horizon is None else 2)
    b = np.arange(chain.honest + 1)
    panels[0].plot(b, chain.expected_steps() / chain.honest, color=BLUE, **_dots(b.size))
    panels[0].set_ylim(bottom=0)
    _label(panels[0], "blue participants b", "expected rounds (steps per participant)", str(chain))
    if horizon is not None:
        panels[1].plot(b, chain.open_after(horizon), color=RED, **_dots(b.size))
        panels[1].set_ylim(bottom=0)
        _label(panels[1], "blue participants b", "chance of no agreement", f"after {horizon} steps")
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(5.6 * count, 4.0), layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(1, count)))


def _dots(count: int) -> dict[str, Any]:
    """Show the single states while they can be told apart."""
    return {"marker": "o", "markersize": 2.5} if count <= 120 else {}


def _label(axes: Axes, x: str, y: str, title: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _rule_name(delta: int, q: float | None) -> str:
    if q is not None:
        return f"supermajority q={q:g}"
    return "majority" if delta == 0 else f"supermajority, delta={delta}"
