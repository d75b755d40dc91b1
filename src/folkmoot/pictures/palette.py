"""Colours and panels that the pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE: Final = "#1f5fa8"
RED: Final = "#c0392b"
GREY: Final = "#7f7f7f"
PALE: Final = "#9aa5b1"  # what is only there to compare with
ORANGE: Final = "#e08a1e"
GREEN: Final = "#2e8b57"
PURPLE: Final = "#8e44ad"
SERIES: Final = (BLUE, ORANGE, GREEN, PURPLE, RED, "#17a2b8", "#b9770e", GREY)


def panels(rows: int, columns: int, *, size: tuple[float, float] = (4.6, 3.4)) -> tuple[Figure, list[Any]]:
    """A figure with so many axes, in reading order, without the box around them."""
    from folkmoot.pictures.figure import Picture

    figure = Picture(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes
