"""Pictures of outcomes: how fast the participants came to agree, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.outcome import Outcome
from folkmoot.pictures.canvas import canvas
from folkmoot.votes import NO_VOTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_convergence"]


def plot_convergence(outcome: Outcome, ax: Any = None) -> Figure:
    """Draw how fast the participants came to agree.

    Parameters
    ----------
    outcome : Outcome
        The outcome of ``deliberate(..., record=True)``.
    ax : matplotlib.axes.Axes, optional
        The axes to draw in. Default: a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        A line for each input (60 at the most): the share of honest participants on the class that wins, round
        by round. Undecided inputs are red.

    Raises
    ------
    ValueError
        If the outcome has no history: the deliberation was not recorded, or has no rounds.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, plot_convergence
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2), record=True)
    >>> plot_convergence(outcome).axes[0].get_ylabel()
    'share on the final class'
    """
    figure, axes = canvas(ax, (6.4, 4.0))
    draw_convergence(outcome, axes)
    return figure


def final_shares(outcome: Outcome, most: int) -> Iterator[tuple[Floats, bool]]:
    """For the first inputs: the share on the final class at the start and after each round; if undecided."""
    if outcome.history is None:
        raise ValueError(
            "a plot of rounds needs a record: deliberate(..., record=True), by a protocol that has rounds"
        )
    several = outcome.history.ndim == 4
    history, decision = (x[0] if several else x for x in (outcome.history, outcome.decision))
    history = history[:most]
    moved = (history[:, 1:] != history[:, :-1]).any(axis=(0, 2))
    last = int(np.flatnonzero(moved)[-1]) + 1 if moved.any() else 1  # after that nothing happens any more
    for i in range(len(history)):
        split = bool(decision[i] == NO_VOTE)
        colour = int(history[i, -1].argmax()) if split else int(decision[i])
        yield np.asarray(history[i, : last + 1, colour] / max(1, int(outcome.voters[i]))), split


def draw_convergence(outcome: Outcome, axes: Any, *, most: int = 60) -> None:
    """Draw the history of the first inputs into matplotlib axes; undecided ones in red."""
    last = 1
    for share, split in final_shares(outcome, most):
        axes.plot(share, color="#c0392b" if split else "#1f5fa8", alpha=0.5, lw=1)
        last = max(last, len(share) - 1)
    axes.set_xlim(0, last)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("rounds per participant")
    axes.set_ylabel("share on the final class")
    axes.spines[["top", "right"]].set_visible(False)
