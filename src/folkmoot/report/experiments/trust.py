"""Trust under attack: accuracy and agreement by the number of liars, a pair of panels for each attack."""

from __future__ import annotations

from typing import Any, Final

from matplotlib.figure import Figure

from folkmoot.paper.femnist.ensemble import MAJORITY, SLUSH
from folkmoot.paper.femnist.writer_votes import CASE
from folkmoot.paper.trust.against_liars import TrustResult
from folkmoot.paper.trust.attacks import ATTACKS, CLIQUE, NOBODY, STEALTHY, WRONG
from folkmoot.paper.trust.curves import TrustCurve, find
from folkmoot.paper.trust.goals import NAMES
from folkmoot.paper.trust.points import ALONE, DAWID_SKENE, HEEDING, PER_CLASS, TALKED
from folkmoot.report.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, panels

_STYLES: Final[dict[str, dict[str, Any]]] = {
    MAJORITY: {"color": "black", "ls": "--"},
    DAWID_SKENE: {"color": ORANGE, "ls": "--"},
    SLUSH: {"color": RED, "ls": "-"},
    ALONE: {"color": GREEN, "ls": ":"},
    TALKED: {"color": BLUE, "ls": "-"},
    HEEDING: {"color": PURPLE, "ls": "-."},
    PER_CLASS: {"color": PURPLE, "ls": "-"},
}
_COLUMNS: Final = 4


def draw(result: TrustResult) -> Figure:
    """Accuracy above agreement for every attack; below them the other tasks at their largest numbers."""
    attacks = [each.name for each in ATTACKS if find(result.curves, CASE, each.name, TALKED).marks]
    tasks = [task for task in dict.fromkeys(each.task for each in result.curves) if task != CASE]
    rows = 2 * -(-len(attacks) // _COLUMNS) + bool(tasks)
    figure, axes = panels(rows, _COLUMNS, size=(3.3, 2.1))
    for place, attack in enumerate(attacks):
        top = 2 * _COLUMNS * (place // _COLUMNS) + place % _COLUMNS
        _accuracy(axes[top], result, attack)
        _agreement(axes[top + _COLUMNS], result, attack)
        if place % _COLUMNS == 0:
            axes[top].set_ylabel("accuracy")
            axes[top + _COLUMNS].set_ylabel("agreement")
    for each in axes[2 * len(attacks) :]:
        each.set_axis_off()
    for each, task in zip(axes[_COLUMNS * (rows - 1) :], tasks, strict=False):
        each.set_axis_on()
        _task(each, result, task)
    shown: dict[str, Any] = {}
    for each in axes:
        for line, label in zip(*each.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, line)
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _accuracy(axes: Any, result: TrustResult, attack: str) -> None:
    for method, style in _STYLES.items():
        curve = find(result.curves, CASE, attack, method)
        if method == HEEDING:
            curve = TrustCurve(CASE, attack, method, [mark for mark in curve.marks if mark.liars])
        marks = [mark for mark in curve.marks if mark.accuracy is not None]
        if not marks:
            continue
        liars, values = [each.liars for each in marks], [each.accuracy or 0.0 for each in marks]
        spread = [each.spread or 0.0 for each in marks]
        axes.plot(liars, values, label=method, lw=1.6, **style)
        low = [value - wide for value, wide in zip(values, spread, strict=True)]
        high = [value + wide for value, wide in zip(values, spread, strict=True)]
        axes.fill_between(liars, low, high, color=style["color"], alpha=0.15, lw=0)
    axes.set(ylim=(-0.02, 1.0))
    axes.set_title(attack, fontsize=10, loc="left")


def _agreement(axes: Any, result: TrustResult, attack: str) -> None:
    for method, style in _STYLES.items():
        marks = [
            each for each in find(result.curves, CASE, attack, method).marks if each.agreement is not None
        ]
        if method == HEEDING:
            marks = [each for each in marks if each.liars]
        axes.plot([each.liars for each in marks], [each.agreement for each in marks], lw=1.6, **style)
    axes.axhline(0.97, color=GREY, lw=0.6, ls=":")
    axes.set(ylim=(0.45, 1.02), xlabel=f"liars of {result.participants}")


def _task(axes: Any, result: TrustResult, task: str) -> None:
    """A column of marks for each attack."""
    most = max(mark.liars for each in result.curves if each.task == task for mark in each.marks)
    columns = [(NOBODY, 0), (WRONG, most), (CLIQUE, most), (STEALTHY, most)]
    for place, (method, style) in enumerate(_STYLES.items()):
        for column, (attack, liars) in enumerate(columns):
            mark = find(result.curves, task, attack, method).at(liars)
            if mark is not None and mark.accuracy is not None and method not in (ALONE, HEEDING):
                label = method if column == 0 else None
                at = column + 0.1 * (place - 3)
                axes.plot(at, mark.accuracy, "o", ms=5, color=style["color"], label=label)
    axes.set_xticks(range(len(columns)), [f"{f or ''}\n{name}".strip() for name, f in columns], fontsize=8)
    axes.set(ylim=(-0.02, 1.0))
    axes.set_title(NAMES[task], fontsize=10, loc="left")
