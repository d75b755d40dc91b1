"""Who listens to whom, drawn: those who decide on a ring, those who follow around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from folkmoot.outlook.analysis import Analysis
from folkmoot.outlook.system import QuorumSystem
from folkmoot.pictures.canvas import canvas
from folkmoot.pictures.palette import BLUE, GREY, PALE, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED: Final = 40  # beyond so many names nobody could read them


def draw_listening(
    system: QuorumSystem, found: Analysis, title: Callable[[str], str] = str, ax: Any = None
) -> Figure:
    """Draw who names whom: the top tier on the inner ring, followers on the outer one.

    Red are those of the smallest set whose lies split the others. Blue lines are those of the top tier.

    Parameters
    ----------
    system : QuorumSystem
        The nodes.
    found : Analysis
        What was found out about them.
    title : callable
        What to call a node.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure
    """
    tier = sorted(found.top_tier or frozenset().union(*system.cores()))
    inside = system.greatest_quorum()
    others = [name for name in system.names if name in inside and name not in set(tier)]
    figure, axes = canvas(ax, (8.0, 8.0))
    at = {**_ring(tier, 1.0), **_ring(others, 1.75)}
    split = [*(found.liars or []), *(found.splitting_sets or [])]
    liars = min(split, key=len, default=frozenset())
    from matplotlib.collections import LineCollection

    for names, colour, width in ((others, PALE, 0.3), (tier, BLUE, 0.9)):
        lines = []
        for name in names:
            chosen = system.quorum_sets[name]
            named = () if chosen is None else chosen.everyone()
            lines += [[at[name], at[other]] for other in named if other in at and other != name]
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=width, alpha=0.5, zorder=1))
    for names, size, colour in ((others, 14, GREY), (tier, 90, BLUE)):
        if names:
            spots = np.array([at[name] for name in names])
            colours = [RED if name in liars else colour for name in names]
            axes.scatter(spots[:, 0], spots[:, 1], s=size, c=colours, zorder=2, edgecolors="white")
    for name in tier if len(tier) <= NAMED else []:
        x, y = at[name]
        axes.annotate(
            title(name), (x, y), (0, 9), textcoords="offset points", ha="center", fontsize=8, zorder=3
        )
    axes.set(xlim=(-2, 2), ylim=(-2, 2.05), aspect="equal")
    axes.axis("off")
    says = {True: "all quorums intersect", False: "two quorums share nobody", None: "not finished"}
    follow = f", {len(others)} follow" if others else ""
    axes.set_title(f"{len(tier)} decide{follow}: {says[found.quorum_intersection]}", fontsize=11)
    return figure


def _ring(names: list[str], radius: float) -> dict[str, tuple[float, float]]:
    turns = np.linspace(0, 2 * np.pi, len(names), endpoint=False) + np.pi / 2
    return {
        name: (float(radius * np.cos(turn)), float(radius * np.sin(turn)))
        for name, turn in zip(names, turns, strict=True)
    }
