"""``canvas``: where a picture is drawn, in axes of the caller's or in a figure of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from folkmoot.machine import absent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["canvas"]


def canvas(ax: Any, size: tuple[float, float]) -> tuple[Figure, Any]:
    """Choose where to draw: every ``plot`` of the package takes ``ax`` and hands it to this.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        The axes of the caller; None for a figure of its own.
    size : (float, float)
        Width and height of such a figure, in inches.

    Returns
    -------
    tuple of matplotlib.figure.Figure and matplotlib.axes.Axes
        The figure, which ``plot`` returns, and the axes to draw in. A figure of its own is a ``Picture``,
        which a notebook shows.

    Raises
    ------
    TypeError
        If ``ax`` is neither.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from folkmoot.pictures.canvas import canvas
    >>> left, right = Figure().subplots(1, 2)
    >>> figure, axes = canvas(right, (4.0, 3.0))
    >>> axes is right, figure is right.get_figure()
    (True, True)
    """
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
