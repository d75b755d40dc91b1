"""The design chart: accuracy, queries and open inputs over k and alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from folkmoot.paper.theory.design import DesignResult
from folkmoot.report.palette import SERIES, panels


def draw(result: DesignResult) -> Figure:
    """Four maps over (k, alpha), and accuracy by rounds for a few settings."""
    figure, axes = panels(2, 3, size=(4.6, 3.8))
    last = result.rounds.index(50) if 50 in result.rounds else len(result.rounds) - 1
    _map(axes[0], result, "accuracy when all agree", [each.accuracy for each in result.settings])
    title = f"accuracy with {result.byzantine} liars (blank: too many)"
    _map(axes[1], result, title, [each.with_liars for each in result.settings])
    _map(axes[2], result, "queries a participant", [each.queries for each in result.settings], log=True)
    title = f"open after {result.rounds[last]} rounds"
    opens = [max(each.open_after[last], 1e-12) for each in result.settings]
    _map(axes[3], result, title, opens, log=True)
    chosen = [each for each in result.settings if each.k == 10]
    for place, each in enumerate(chosen):
        axes[4].plot(
            result.rounds, each.right_after, marker=".", color=SERIES[place], label=f"alpha={each.alpha}"
        )
        axes[5].plot(each.queries, each.accuracy, "o", color=SERIES[place])
        axes[5].annotate(f" {each.alpha}", (each.queries, each.accuracy), fontsize=8)
    axes[4].set(xscale="log", xlabel="rounds a participant (k = 10)", ylabel="more than half right by then")
    axes[4].set_xticks(result.rounds, [str(each) for each in result.rounds])
    axes[4].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes[5].set(xscale="log", xlabel="queries a participant (k = 10, alpha beside it)", ylabel="accuracy")
    few, many = min(each.queries for each in chosen), max(each.queries for each in chosen)
    ticks = [tick for tick in (20, 50, 100, 200, 500, 1000, 2000) if few / 1.5 <= tick <= many * 1.5]
    axes[5].set_xticks(ticks, [str(tick) for tick in ticks])
    axes[5].set_xticks([], minor=True)
    return figure


def _map(axes: Any, result: DesignResult, title: str, values: list[Any], *, log: bool = False) -> None:
    ks = sorted({each.k for each in result.settings})
    alphas = sorted({each.alpha for each in result.settings})
    table = np.full((len(alphas), len(ks)), np.nan)
    for each, value in zip(result.settings, values, strict=True):
        if value is not None:
            table[alphas.index(each.alpha), ks.index(each.k)] = value
    norm = LogNorm() if log else None
    shown = axes.imshow(table, origin="lower", aspect="auto", cmap="viridis", norm=norm)
    every = max(1, len(ks) // 8)
    axes.set_xticks(range(0, len(ks), every), [str(k) for k in ks[::every]])
    axes.set_yticks(range(0, len(alphas), 3), [str(alpha) for alpha in alphas[::3]])
    axes.set(xlabel="k", ylabel="alpha")
    axes.set_title(title, fontsize=10, loc="left")
    axes.figure.colorbar(shown, ax=axes)
