"""Pictures of what each shown row buys: accuracy by rows shown, nobody lying and under every kind of liar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.peer_review.beside import Forest, Listened
from experiments.peer_review.goals import MOST_LIARS, base, mean_of
from experiments.peer_review.lies import LIES, lie_named
from experiments.peer_review.points import VOTINGS, Point
from experiments.peer_review.shown_rows import ALL
from experiments.trust.attacks import NOBODY
from experiments.trust.goals import NAMES
from folkmoot.pictures.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = dict(zip(VOTINGS, (BLUE, PURPLE), strict=True))


def bought(points: Sequence[Point], forests: Sequence[Forest], listened: Sequence[Listened]) -> Figure:
    """Nobody lies: a panel for each task."""
    tasks = list(dict.fromkeys(each.task for each in points))
    figure, axes = panels(1, len(tasks), size=(4.4, 3.4))
    for each, task in zip(axes, tasks, strict=True):
        _panel(each, NAMES[task], points, forests, listened, task, NOBODY, 0)
    axes[0].set_ylabel("accuracy")
    _legend(figure, axes, len(tasks))
    return figure


def under_attack(
    points: Sequence[Point], forests: Sequence[Forest], listened: Sequence[Listened], task: str
) -> Figure:
    """The most liars of every kind: a panel for each."""
    lied = [each for each in points if each.task == task and each.liars]
    most = max((each.liars for each in lied), default=MOST_LIARS)
    kinds = [each.name for each in LIES if any(point.lie == each.name for point in lied)]
    columns = 4
    figure, axes = panels(-(-max(len(kinds), 1) // columns), columns, size=(3.3, 2.6))
    for each in axes[len(kinds) :]:
        each.set_axis_off()
    for place, kind in enumerate(kinds):
        _panel(axes[place], f"{most} {kind}", points, forests, listened, task, kind, most)
        if place % columns == 0:
            axes[place].set_ylabel("accuracy")
    _legend(figure, axes, columns)
    return figure


def _legend(figure: Figure, axes: Sequence[Any], columns: int) -> None:
    """One for all panels, in as many columns as these have."""
    shown: dict[str, Any] = {}
    for each in axes:
        for line, label in zip(*each.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, line)
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=columns, frameon=False)


def _panel(
    axes: Any,
    title: str,
    points: Sequence[Point],
    forests: Sequence[Forest],
    listened: Sequence[Listened],
    task: str,
    lie: str,
    liars: int,
) -> None:
    """Rows shown from left to right, evenly spaced; the majority and trust need none."""
    here = [each for each in points if (each.task, each.lie, each.liars) == (task, lie, liars)]
    counts = sorted({each.rows for each in here})
    told = lie_named(lie)
    for voting in VOTINGS:
        for forest in (False, True):
            at, means = [], []
            for place, rows in enumerate(counts):
                there = [
                    each for each in here if (each.rows, each.voting, each.forest) == (rows, voting, forest)
                ]
                mean = mean_of(there, lambda each: each.accuracy)
                if mean is not None:
                    at.append(place + 1)
                    means.append(mean)
            if means:
                style = {"ls": "none", "marker": "*", "ms": 9} if forest else {"marker": "o", "ms": 3}
                label = f"peer review, {voting}" + (", forest as a voter" if forest else "")
                axes.plot(at, means, color=_COLOURS[voting], label=label, **style)
    grown = [
        [
            each.accuracy
            for each in forests
            if (each.task, each.rows, each.liars) == (task, rows, 0 if told.claims == "right" else liars)
            and (told.claims in ("right", each.claims))
        ]
        for rows in counts
    ]
    if counts and all(grown):
        axes.plot(
            range(1, len(counts) + 1), [float(np.mean(each)) for each in grown],
            color=GREEN, ls="--", label="forest on shown rows",
        )  # fmt: skip
    plain = mean_of([each for each in here if each.voting == VOTINGS[0]], lambda each: each.majority)
    trust = [
        each.accuracy
        for each in listened
        if (each.task, each.story, each.liars) == (task, told.story, liars) and each.accuracy is not None
    ]
    best = [each.accuracy for each in forests if (each.task, each.rows, each.liars) == (task, ALL, 0)]
    for level, colour, label in (
        (plain, "black", "majority"),
        (float(np.mean(trust)) if trust else None, ORANGE, "trust by listening"),
        (float(np.mean(best)) if best else None, GREY, "pooled forest"),
        (float(np.mean(list(base(points, task).values()))) if liars else None, RED, "majority, nobody lying"),
    ):
        if level is not None:
            axes.axhline(level, color=colour, lw=1.0, ls=":", label=label)
    axes.set_xticks(range(1, len(counts) + 1), ["all" if each == ALL else str(each) for each in counts])
    axes.set_xlabel("rows shown by each")
    axes.set_title(title, fontsize=10, loc="left")
