"""Tables 1 to 3: exact thresholds as points, printed ones as crosses; and table 2 continued to its limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from folkmoot.paper.theory.threshold_tables import Entry, ThresholdsResult
from folkmoot.report.palette import BLUE, GREY, RED, SERIES, panels


def draw(result: ThresholdsResult) -> Figure:
    """Tables 1 and 3 by delta (rows of table 3 side by side), table 2 by n on the way to its limit."""
    figure, (first, second, third) = panels(1, 3, size=(4.6, 4.0))
    for axes, table, title in (
        (first, 1, "table 1, n=101"),
        (third, 3, r"table 3, n=101, $\alpha$=14, k=20"),
    ):
        rows: dict[str, list[Entry]] = {}
        for entry in result.entries:
            if entry.table == table:
                rows.setdefault(entry.row, []).append(entry)
        for i, ((name, entries), colour) in enumerate(zip(rows.items(), SERIES, strict=False)):
            label = name.replace("alpha", r"$\alpha$")
            x = [delta + (i - 1.5) * 0.08 * (table == 3) for delta in range(len(entries))]
            axes.plot(x, [e.exact for e in entries], color=colour, marker="o", ms=4, label=label)
            axes.plot(x, [e.printed for e in entries], color=colour, marker="x", ls="none", ms=8)
            _lines(axes, x, entries, colour)
        _ends(axes, title, r"$\delta$ of the supermajority", list(range(len(entries))))
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    printed = [entry for entry in result.entries if entry.table == 2]
    second.plot(result.sizes, result.continued, color=BLUE, marker="o", ms=4, label="exact")
    x = [int(entry.row.removeprefix("n=")) for entry in printed]
    second.plot(x, [e.printed for e in printed], color=RED, marker="x", ls="none", ms=8, label="printed")
    _lines(second, x, printed, RED)
    second.axhline(result.limit, color=BLUE, lw=0.8, ls="--", label=f"limit {result.limit:.4f}")
    second.axhline(result.q, color=GREY, lw=0.8, ls=":", label=f"q = {result.q}")
    second.set_xscale("log")
    _ends(second, rf"table 2, q={result.q}, $\alpha$=7, k=10", "participants n", None)
    second.legend(frameon=False, fontsize=8, loc="center right")
    return figure


def _lines(axes: Any, x: Sequence[float], entries: list[Entry], colour: str) -> None:
    """From each printed value to the exact one, where they are not the same to two decimals."""
    for where, entry in zip(x, entries, strict=True):
        if abs(entry.exact - entry.printed) > 0.01:
            axes.plot([where] * 2, [entry.printed, entry.exact], color=colour, lw=0.8, ls=":", label="_gap")


def _ends(axes: Any, title: str, x: str, ticks: list[int] | None) -> None:
    axes.set(title=title, xlabel=x, ylabel=r"$p_{th}$ (points exact, crosses printed)", ylim=(0.42, 1.0))
    if ticks is not None:
        axes.set_xticks(ticks)
