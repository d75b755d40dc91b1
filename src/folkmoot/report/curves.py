"""The curves of a study for ``player/curves.js``: the same numbers as in the pictures for papers.

::

    {"title": ..., "x": what is below the axis,
     "lines": [{"name": ..., "colour": 0, "look": "strong", "points": [[x, share], ...]}, ...],
     "many": true where single lines have no name to show}
    {"title": ..., "x": ..., "labels": [...], "columns": [{"name": ..., "counts": [...]}, ...]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from folkmoot.datasets.summary import Summary
from folkmoot.explanation.convergence import final_shares
from folkmoot.outcome import Outcome

Look = Literal["", "strong", "dashed", "dotted", "pale"]
_BLUE, _RED = 0, 2  # colours of player.css


class Curve(NamedTuple):
    """A line by measured points."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: int
    look: Look = ""


def curves(title: str, x: str, lines: Sequence[Curve]) -> dict[str, Any]:
    """Lines with different names."""
    return {"title": title, "x": x, "lines": [_line(line) for line in lines], "many": False}


def convergence(title: str, outcome: Outcome, most: int) -> dict[str, Any]:
    """The share of the winning class by round; undecided inputs in red."""
    lines = [
        Curve(f"input {i}", list(enumerate(shares)), _RED if split else _BLUE, "pale")
        for i, (shares, split) in enumerate(final_shares(outcome, most))
    ]
    return {
        "title": title,
        "x": "rounds per participant",
        "lines": [_line(line) for line in lines],
        "many": True,
    }


def rows_by_class(title: str, summary: Summary) -> dict[str, Any]:
    """Rows of each participant by class."""
    return {
        "title": title,
        "x": f"{len(summary.participants)} participants, by number of rows",
        "labels": [str(label) for label in summary.classes],
        "columns": [
            {"name": str(name), "counts": counts}
            for _, name, counts in sorted(
                zip(summary.sizes.tolist(), summary.participants, summary.counts.tolist(), strict=True),
                key=lambda each: -each[0],
            )
        ],
    }


def _line(line: Curve) -> dict[str, Any]:
    return {
        "name": line.name,
        "colour": line.colour,
        "look": line.look,
        "points": [[float(x), round(float(value), 5)] for x, value in line.points],
    }
