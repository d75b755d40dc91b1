"""What approximate agreement came to: the honest numbers, how far apart they still are, and what it cost.

The counterpart of ``Outcome`` for numbers. Agreement is not correctness: it knows nothing of the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from folkmoot.aggregation import Median
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.pictures.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Agreement:
    """The end of ``agree`` over a batch of inputs. The axis of outputs is there if ``values`` had one.

    Parameters
    ----------
    numbers : ndarray of float, shape (participant, input) or (participant, input, output)
        The number held at the end; NaN for the Byzantine.
    honest : ndarray of bool, shape (participant,)
        Who followed the rule.
    spread : ndarray of float, shape (input,)
        Highest less lowest honest number at the end, in the worst output.
    settled : ndarray of bool, shape (input,)
        Whether the spread is within the tolerance.
    rounds : ndarray of int, shape (input,)
        How many rounds were played.
    queries : int
        Requests to single peers in all; one carries all inputs.
    history : ndarray of float, shape (input, round), optional
        The spread at the start and after each round; None unless ``record=True``.

    Examples
    --------
    On the first input all are close enough from the start; the second takes a round, in which each of the
    four asks the three others.

    >>> from folkmoot import agree
    >>> from folkmoot.aggregation import Median
    >>> values = [[1.0, 0.0], [1.0, 5.0], [1.1, 9.0], [1.1, 9.5]]
    >>> agreement = agree(values, Median(), tolerance=0.2)
    >>> print(agreement.settled, agreement.rounds, agreement.decision)
    [ True  True] [0 1] [1.05 7.  ]
    >>> agreement.queries
    12
    """

    numbers: Floats
    honest: Bools
    spread: Floats
    settled: Bools
    rounds: Ints
    queries: int
    history: Floats | None = None

    @cached_property
    def decision(self) -> Floats:
        """(input[, output]): the median of the honest numbers, whether the input is settled or not."""
        held = self.numbers[self.honest]
        columns = held.reshape(*held.shape[:2], -1).transpose(1, 0, 2)
        return Median().combine(columns).reshape(held.shape[1:])

    @property
    def undecided(self) -> int:
        """Inputs that are not settled."""
        return int((~self.settled).sum())

    def plot(self, ax: Any = None) -> Figure:
        """The convergence: the honest spread, round by round, on a logarithmic scale; in ``ax`` if given."""
        figure, axes = canvas(ax, (6.4, 4.0))
        draw_spread(self, axes)
        return figure


def draw_spread(agreement: Agreement, axes: Any, *, most: int = 60) -> None:
    """Draw the history of the first inputs into matplotlib axes; those not settled in red."""
    if agreement.history is None:
        raise ValueError("a plot needs the record: agree(..., record=True)")
    for i in range(min(most, len(agreement.history))):
        line = agreement.history[i, : agreement.rounds[i] + 1]
        shown = np.where(line > 0, line, np.nan)  # a spread of 0 has no logarithm: the line ends before
        colour = "#1f5fa8" if agreement.settled[i] else "#c0392b"
        axes.plot(shown, color=colour, alpha=0.5, lw=1, marker=".", ms=4)
    if (agreement.history > 0).any():
        axes.set_yscale("log")
    axes.set_xlim(0, max(1, int(agreement.rounds.max())))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("rounds")
    axes.set_ylabel("spread of the honest numbers")
    axes.spines[["top", "right"]].set_visible(False)
