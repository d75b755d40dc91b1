"""How fast the participants came to agree: shares round by round, and their picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.votes import UNCOLOURED

if TYPE_CHECKING:
    from folkmoot.outcome import Outcome


def final_shares(outcome: Outcome, most: int) -> Iterator[tuple[Floats, bool]]:
    """For the first inputs: the share on the final colour at the start and after each round; if undecided."""
    if outcome.history is None:
        raise ValueError("a plot needs the record: deliberate(..., record=True)")
    several = outcome.history.ndim == 4
    history, decision = (x[0] if several else x for x in (outcome.history, outcome.decision))
    history = history[:most]
    moved = (history[:, 1:] != history[:, :-1]).any(axis=(0, 2))
    last = int(np.flatnonzero(moved)[-1]) + 1 if moved.any() else 1  # after that nothing happens any more
    for i in range(len(history)):
        split = bool(decision[i] == UNCOLOURED)
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
    axes.set_ylabel("share on the final colour")
    axes.spines[["top", "right"]].set_visible(False)
