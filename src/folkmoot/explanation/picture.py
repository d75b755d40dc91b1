"""An explanation as a picture: participants as rows, rounds as columns, coloured by label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from folkmoot.explanation.words import called
from folkmoot.files.terminal import printable
from folkmoot.pictures.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from folkmoot.explanation.explanation import Explanation

# Okabe and Ito's colours, which colour-blind people can tell apart; after eight labels they come again.
_PALETTE: Final = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f",
)  # fmt: skip
_NONE: Final = "#eceff2"
_MOST_SHOWN: Final = 12  # labels in the legend
_MANY: Final = 40  # participants, whose rows are narrower
_MARKS: Final = {
    "lies": " (lies)",
    "absent": " (absent)",
    "failed": " (failed)",
}


def draw(why: Explanation, ax: Any = None) -> Figure:
    """The picture, in axes of one's own or in a figure of its own."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    if why.held is None:
        raise ValueError("plot needs to know what participants held: explain an outcome of deliberate(...)")
    rows, columns = why.held.shape
    figure, ax = canvas(
        ax, (min(16, 3.4 + 0.42 * columns), min(20, 1.6 + (0.26 if rows <= _MANY else 0.14) * rows))
    )
    colours = [_NONE, *(_PALETTE[i % len(_PALETTE)] for i in range(len(why.labels)))]
    norm = BoundaryNorm(np.arange(-1.5, len(why.labels)), len(colours))
    ax.pcolormesh(
        np.arange(columns + 1), np.arange(rows + 1), why.held, cmap=ListedColormap(colours), norm=norm,
        edgecolors="white", linewidth=0.8 if rows <= 60 else 0.2,
    )  # fmt: skip
    ax.invert_yaxis()
    names = [
        printable(participant.name) + _MARKS.get(participant.part, "") for participant in why.participants
    ]
    # Names and labels are other people's text: a dollar sign in them is no formula.
    ax.set_yticks(np.arange(rows) + 0.5, names, fontsize=9 if rows <= _MANY else 6, parse_math=False)
    shown = np.arange(columns)[:: max(1, columns // 30)]
    ax.set_xticks(shown + 0.5, [why.columns[i] for i in shown], fontsize=9)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if any(column.isdigit() for column in why.columns):
        ax.set_xlabel("round")
    answer = "undecided" if why.answer is None else called(why.answer)
    ax.set_title(f"{printable(why.called)}: {answer}", fontsize=11, loc="left", parse_math=False)
    used = [place for place in range(len(why.labels)) if (why.held == place).any()][:_MOST_SHOWN]
    handles = [Patch(color=colours[place + 1], label=called(why.labels[place])) for place in used]
    if (why.held == -1).any():
        handles.append(Patch(color=_NONE, label="none"))
    legend = ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure
