"""Rows by participant and class: a table to print and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array, Ints
from folkmoot.pictures.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MOST_LINES = 12  # participants that the printed table shows
_MOST_COLUMNS = 12  # classes that it gives a column each
_MOST_COLOURS = 20  # classes that have different colours


@dataclass(frozen=True, eq=False)
class Summary:
    """Rows by participant and class: ``print`` it or ``plot`` it.

    Parameters
    ----------
    participants : ndarray, shape (participant,)
        Names of the participants.
    classes : ndarray, shape (class,)
        Names of the classes.
    counts : ndarray of int, shape (participant, class)
        Rows of each participant by class.

    Examples
    --------
    >>> from folkmoot.datasets.splits import split_by_group
    >>> print(split_by_group(["north", "south", "north"]).summary(["ill", "well", "well"]))
    2 participants, 3 rows, 2 classes
    rows each:    1 to 2, median 1.5
    classes each: 1 to 2, median 1.5
    <BLANKLINE>
    participant  rows  ill  well
    north           2    1     1
    south           1    0     1
    """

    participants: Array
    classes: Array
    counts: Ints

    @property
    def sizes(self) -> Ints:
        """Rows by participant."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64)

    @property
    def classes_each(self) -> Ints:
        """The number of classes of each participant."""
        return np.asarray((self.counts > 0).sum(axis=1), dtype=np.int64)

    def __str__(self) -> str:
        head = (
            f"{len(self.participants)} participants, {self.counts.sum()} rows, {len(self.classes)} classes\n"
            f"rows each:    {_spread(self.sizes)}\n"
            f"classes each: {_spread(self.classes_each)}"
        )
        by_class = len(self.classes) <= _MOST_COLUMNS
        titles = ["participant", "rows", *(map(str, self.classes) if by_class else ["classes"])]
        shown = min(len(self.participants), _MOST_LINES)
        numbers = self.counts if by_class else self.classes_each[:, None]
        lines = [titles] + [
            [str(self.participants[i]), str(self.sizes[i]), *map(str, numbers[i])] for i in range(shown)
        ]
        widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
        table = [
            "  ".join([line[0].ljust(widths[0]), *(map(str.rjust, line[1:], widths[1:]))]) for line in lines
        ]
        if shown < len(self.participants):
            table.append(f"... and {len(self.participants) - shown} more")
        return "\n".join([head, "", *table])

    def plot(self, ax: Any = None) -> Figure:
        """Stacked bars, or a heat map where there are too many classes; in ``ax`` if given."""
        wide = min(14.0, max(7.0, 3.0 + 0.12 * len(self.participants)))
        figure, axes = canvas(ax, (wide, 4.4))
        if len(self.classes) <= _MOST_COLOURS:
            self._draw_bars(axes)
        else:
            self._draw_heat_map(axes)
        self._name_participants(axes)
        return figure

    def _draw_bars(self, axes: Axes) -> None:
        from matplotlib import colormaps

        colours = colormaps["tab10" if len(self.classes) <= 10 else "tab20"]
        # Many thin bars read better without gaps between them.
        width = 0.8 if len(self.participants) <= 40 else 1.0
        floor = np.zeros(len(self.participants))
        for c, name in enumerate(self.classes):
            axes.bar(
                np.arange(floor.size), self.counts[:, c], width, floor, color=colours(c), label=_short(name)
            )
            floor += self.counts[:, c]
        axes.set_ylabel("rows")
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.01)
        # The legend reads from top to bottom as the bars do.
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(
            handles[::-1],
            labels[::-1],
            title="class",
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
        )

    def _draw_heat_map(self, axes: Axes) -> None:
        image = axes.imshow(
            self.counts.T, aspect="auto", interpolation="nearest", cmap="Blues", origin="lower"
        )
        every = -(-len(self.classes) // 31)
        axes.set_yticks(
            np.arange(0, len(self.classes), every), [str(c) for c in self.classes[::every]], fontsize=7
        )
        axes.set_ylabel("class")
        axes.figure.colorbar(image, ax=axes, label="rows")

    def _name_participants(self, axes: Axes) -> None:
        every = -(-len(self.participants) // 26)
        names = [_short(name) for name in self.participants[::every]]
        crowded = sum(map(len, names)) > 70
        axes.set_xticks(
            np.arange(0, len(self.participants), every),
            names,
            rotation=90 if crowded else 0,
            fontsize=8 if crowded else 10,
        )
        axes.set_xlabel("participant")


def summarise(groups: npt.ArrayLike, y: npt.ArrayLike, participants: npt.ArrayLike | None = None) -> Summary:
    """Count rows by group and label; ``participants`` also names those that hold no row."""
    whose, labels = np.asarray(groups), np.asarray(y)
    if whose.ndim != 1 or whose.shape != labels.shape:
        raise ValueError(
            f"y must hold one label per row of groups ({whose.shape}): got the shape {labels.shape}"
        )
    names = np.unique(whose) if participants is None else np.asarray(participants)
    order = np.argsort(names, kind="stable")
    row = order[np.searchsorted(names, whose, sorter=order)]
    classes, column = np.unique(labels, return_inverse=True)
    counts = np.zeros((names.size, classes.size), dtype=np.int64)
    np.add.at(counts, (row, column), 1)
    return Summary(names, classes, counts)


def _short(name: object) -> str:
    text = str(name)
    return text if len(text) <= 24 else f"{text[:23]}…"


def _spread(values: Ints) -> str:
    return f"{values.min()} to {values.max()}, median {np.median(values):g}" if values.size else "none"
