"""``canvas``: where a picture is drawn, in axes of the caller's or in a figure of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from folkmoot.machine import absent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["canvas"]


def canvas(ax: Any, size: tuple[float, float]) -> tuple[Figure, Any]:
    """Choose where to draw: every ``plot`` of the package takes ``ax`` and hands it to this."""
    try:
        from matplotlib.axes import Axes
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(absent(error), name=error.name) from None
    if ax is None:
        from folkmoot.pictures.figure import Picture

        figure = Picture(figsize=size, layout="constrained")
        return figure, figure.subplots()
    if not isinstance(ax, Axes):
        raise TypeError(
            "ax must be matplotlib axes, such as the second of plt.subplots(), or None: "
            f"got {type(ax).__name__}"
        )
    found: Any = ax.get_figure()
    return found, ax
