"""What a deliberation came to: decisions, how firmly they are held, and what it cost.

Ties and inputs without a majority are -1, never broken silently. Agreement is not correctness: an
``Outcome`` knows nothing of the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.accuracy import share_right
from folkmoot.arrays import Bools, Colours, Floats, Ints
from folkmoot.votes import UNCOLOURED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Change(NamedTuple):
    """One line of ``Outcome.explain``: who changed colour, when, and after which answers."""

    round: int
    participant: int
    before: int
    after: int
    tally: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The end of a deliberation over a batch of inputs.

    With ``repeats=1`` arrays have the shapes below; with more, a first axis for the repetition.
    """

    decisions: Colours  # (participant, input): the colour held at the end
    honest: Bools  # (participant,): who followed the protocol
    classes: int
    settled: Bools  # (input,): all honest agree for good, or have all decided
    rounds: Ints  # (input,): rounds per participant that were played
    queries: Ints  # (): requests to single peers in all
    history: npt.NDArray[np.int32] | None = None  # (input, round, colour): honest holders, with record=True
    replay: Callable[[int], list[Change]] | None = field(default=None, repr=False)

    @cached_property
    def counts(self) -> Ints:
        """(input, colour): how many honest participants hold each colour."""
        held = self.decisions[..., self.honest, :]
        return np.stack([(held == colour).sum(axis=-2) for colour in range(self.classes)], axis=-1)

    @cached_property
    def decision(self) -> Ints:
        """(input,): the colour that more than half of the honest participants hold, else -1."""
        best = self.counts.argmax(axis=-1)
        enough = 2 * self.counts.max(axis=-1) > self.honest.sum()
        return np.where(enough, best, UNCOLOURED)

    @cached_property
    def agreement(self) -> Floats:
        """(input,): the share of honest participants that hold the most common colour."""
        return np.asarray(self.counts.max(axis=-1) / self.honest.sum(), dtype=np.float64)

    @property
    def undecided(self) -> int:
        """Inputs (over all repetitions) without an honest majority."""
        return int((self.decision == UNCOLOURED).sum())

    def accuracy(self, truth: npt.ArrayLike) -> float:
        """Share of the inputs with a known truth (not -1) decided right; the mean over repetitions."""
        return float(self.accuracies(truth).mean())

    def accuracies(self, truth: npt.ArrayLike) -> Floats:
        """(repetition,): the same for each repetition, also where there is only one."""
        return np.atleast_1d(share_right(self.decision, truth))

    def explain(self, i: int) -> list[Change]:
        """Who changed its colour on input i, when, and after which answers (needs ``record=True``)."""
        if self.replay is None:
            raise ValueError("explain needs the record: deliberate(..., record=True)")
        inputs = self.decisions.shape[-1]
        if not 0 <= checks.integer("i", i) < inputs:
            raise ValueError(f"i must satisfy 0 <= i < {inputs}, the number of inputs: got i={i}")
        return self.replay(i)

    def plot(self) -> Figure:
        """The convergence: share of honest participants on the colour that wins, round by round."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        draw_convergence(self, figure.subplots())
        return figure


def draw_convergence(outcome: Outcome, axes: Any, *, most: int = 60) -> None:
    """Draw the history of the first inputs into matplotlib axes; undecided ones in red."""
    if outcome.history is None:
        raise ValueError("a plot needs the record: deliberate(..., record=True)")
    several = outcome.history.ndim == 4
    history, decision = (x[0] if several else x for x in (outcome.history, outcome.decision))
    for i in range(min(most, len(history))):
        split = decision[i] == UNCOLOURED
        colour = int(history[i, -1].argmax()) if split else int(decision[i])
        share = history[i, :, colour] / outcome.honest.sum()
        axes.plot(share, color="#c0392b" if split else "#1f5fa8", alpha=0.5, lw=1)
    axes.set_xlim(0, max(1, int(outcome.rounds.max())))
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("rounds per participant")
    axes.set_ylabel("share on the final colour")
    axes.spines[["top", "right"]].set_visible(False)
