"""One participant's view of its peers, as a table in a notebook: those that count for most come first."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from folkmoot.pictures.notebook import titled

_MOST: Final = 12  # peers that are shown


class ShownView:
    """What has ``own``, ``weight`` and ``why``; ``_beside`` adds columns."""

    own: int
    weight: Any
    why: str

    def _beside(self) -> dict[str, list[str]]:
        """What else is shown of each participant, by the name of its column."""
        return {}

    def _repr_html_(self) -> str:
        weight = np.asarray(self.weight, dtype=np.float64).reshape(len(self.weight), -1).mean(axis=1)
        columns = {"weight": [f"{each:+.2f}" for each in weight], **self._beside()}
        order = np.argsort(-np.abs(weight), kind="stable")
        rows = [[str(i), *(cells[i] for cells in columns.values())] for i in order[:_MOST]]
        more = len(order) - len(rows)
        whose = "anybody" if self.own < 0 else f"participant {self.own}"
        notes = [*([f"... and {more} more, which count for less"] if more else []), self.why]
        return titled(f"How {whose} reads {len(order)} participants", ["participant", *columns], rows, notes)


def yes(values: Any) -> list[str]:
    """Cells of what is true or not."""
    return ["yes" if each else "no" for each in values]


def shares(values: Any, errors: Any = None) -> list[str]:
    """Cells of shares, with their standard errors if these are known."""
    cells = ["-" if np.isnan(each) else f"{each:.3f}" for each in values]
    if errors is None:
        return cells
    return [
        cell if cell == "-" or np.isnan(error) else f"{cell} ± {error:.3f}"
        for cell, error in zip(cells, errors, strict=True)
    ]
