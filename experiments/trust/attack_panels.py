"""Pictures of trust under attack: accuracy and agreement by the number of liars, and the other tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from experiments.femnist.ensemble import MAJORITY, SLUSH
from experiments.femnist.writer_votes import CASE
from experiments.trust.attacks import ATTACKS, CLIQUE, NOBODY, STEALTHY, WRONG
from experiments.trust.curves import TrustCurve, find
from experiments.trust.goals import NAMES
from experiments.trust.points import ALONE, DAWID_SKENE, PER_CLASS, TALKED, UNGUARDED
from folkmoot.pictures.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES: Final[dict[str, dict[str, Any]]] = {
    MAJORITY: {"color": "black", "ls": "--"},
    DAWID_SKENE: {"color": ORANGE, "ls": "--"},
    SLUSH: {"color": RED, "ls": "-"},
    ALONE: {"color": GREEN, "ls": ":"},
    TALKED: {"color": BLUE, "ls": "-"},
    UNGUARDED: {"color": PURPLE, "ls": "-."},
    PER_CLASS: {"color": PURPLE, "ls": "-"},
}
_COLUMNS: Final = 4


def attacked(curves: Sequence[TrustCurve], participants: int) -> Figure:
    """Accuracy above agreement for every attack on the case of letters."""
    attacks = [each.name for each in ATTACKS if find(curves, CASE, each.name, TALKED).marks]
    figure, axes = panels(2 * -(-len(attacks) // _COLUMNS), _COLUMNS, size=(3.3, 2.1))
    for each in axes:
        each.set_axis_off()
    for place, attack in enumerate(attacks):
        top = 2 * _COLUMNS * (place // _COLUMNS) + place % _COLUMNS
        above, below = axes[top], axes[top + _COLUMNS]
        for each in (above, below):
            each.set_axis_on()
        _accuracy(above, curves, attack)
        _agreement(below, curves, attack, participants)
        if place % _COLUMNS == 0:
            above.set_ylabel("accuracy")
            below.set_ylabel("agreement")
    _legend(figure, axes)
    return figure


def other_tasks(curves: Sequence[TrustCurve]) -> Figure | None:
    """The other tasks at their largest numbers of liars; None if there are none."""
    tasks = [task for task in dict.fromkeys(each.task for each in curves) if task != CASE]
    if not tasks:
        return None
    figure, axes = panels(1, len(tasks), size=(4.2, 3.0))
    for each, task in zip(axes, tasks, strict=True):
        _task(each, curves, task)
    axes[0].set_ylabel("accuracy")
    _legend(figure, axes, columns=min(4, 2 * len(tasks)))
    return figure


def _legend(figure: Figure, axes: Sequence[Any], columns: int = 4) -> None:
    """One for all panels."""
    shown: dict[str, Any] = {}
    for each in axes:
        for line, label in zip(*each.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, line)
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=columns, frameon=False)


def _accuracy(axes: Any, curves: Sequence[TrustCurve], attack: str) -> None:
    for method, style in _STYLES.items():
        curve = find(curves, CASE, attack, method)
        if method == UNGUARDED:
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


def _agreement(axes: Any, curves: Sequence[TrustCurve], attack: str, participants: int) -> None:
    for method, style in _STYLES.items():
        marks = [each for each in find(curves, CASE, attack, method).marks if each.agreement is not None]
        if method == UNGUARDED:
            marks = [each for each in marks if each.liars]
        axes.plot([each.liars for each in marks], [each.agreement for each in marks], lw=1.6, **style)
    axes.axhline(0.97, color=GREY, lw=0.6, ls=":")
    axes.set(ylim=(0.45, 1.02), xlabel=f"liars of {participants}")


def _task(axes: Any, curves: Sequence[TrustCurve], task: str) -> None:
    """A column of marks for each attack."""
    most = max(mark.liars for each in curves if each.task == task for mark in each.marks)
    columns = [(NOBODY, 0), (WRONG, most), (CLIQUE, most), (STEALTHY, most)]
    for place, (method, style) in enumerate(_STYLES.items()):
        for column, (attack, liars) in enumerate(columns):
            mark = find(curves, task, attack, method).at(liars)
            if mark is not None and mark.accuracy is not None and method not in (ALONE, UNGUARDED):
                label = method if column == 0 else None
                at = column + 0.1 * (place - 3)
                axes.plot(at, mark.accuracy, "o", ms=5, color=style["color"], label=label)
    axes.set_xticks(range(len(columns)), [f"{f or ''}\n{name}".strip() for name, f in columns], fontsize=8)
    axes.set(ylim=(-0.02, 1.0))
    axes.set_title(NAMES[task], fontsize=10, loc="left")
