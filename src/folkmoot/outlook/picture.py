"""A picture of quorum sets: the top tier on a ring, all others around it."""

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
    """
    tier = sorted(found.top_tier or frozenset().union(*system.cores()))
    inside = system.greatest_quorum()
    others = [name for name in system.names if name in inside and name not in set(tier)]
    figure, axes = canvas(ax, (8.0, 8.0))
    at = _ring(tier, 1.0) | _ring(others, 1.75)
    malicious = min(
        [*(found.misstating_sets or []), *(found.splitting_sets or [])], key=len, default=frozenset()
    )
    from matplotlib.collections import LineCollection

    for names, size, colour, line, width in ((others, 14, GREY, PALE, 0.3), (tier, 90, BLUE, BLUE, 0.9)):
        chosen = {name: system.quorum_sets[name] for name in names}
        named = {name: {*each.everyone()} & set(at) - {name} for name, each in chosen.items() if each}
        lines = [[at[name], at[peer]] for name, peers in named.items() for peer in sorted(peers)]
        axes.add_collection(LineCollection(lines, colors=line, linewidths=width, alpha=0.5, zorder=1))
        if names:
            spots = np.array([at[name] for name in names])
            colours = [RED if name in malicious else colour for name in names]
            axes.scatter(*spots.T, s=size, c=colours, zorder=2, edgecolors="white")
    for name in tier if len(tier) <= NAMED else []:
        beside = {"textcoords": "offset points", "ha": "center", "fontsize": 8, "zorder": 3}
        axes.annotate(title(name), at[name], (0, 9), **beside)
    axes.set(xlim=(-2, 2), ylim=(-2, 2.05), aspect="equal")
    axes.axis("off")
    says = {True: "all quorums intersect", False: "two quorums share nobody", None: "not finished"}
    follow = f", {len(others)} follow" if others else ""
    axes.set_title(f"{len(tier)} decide{follow}: {says[found.quorum_intersection]}", fontsize=11)
    return figure


def _ring(names: list[str], radius: float) -> dict[str, tuple[float, float]]:
    turns = np.linspace(0, 2 * np.pi, len(names), endpoint=False) + np.pi / 2
    spots = zip((radius * np.cos(turns)).tolist(), (radius * np.sin(turns)).tolist(), strict=True)
    return dict(zip(names, spots, strict=True))
