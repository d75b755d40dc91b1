"""One node's talk about many inputs at once: the rule of a protocol, looked up for a whole batch.

A real query carries a peer's votes on all inputs. The rule itself stays where it is written; what is here
only counts the answers to each input and looks up what follows in the protocol's table (``machine.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.protocols.machine import machine_of
from folkmoot.protocols.query import Query
from folkmoot.votes import UNCOLOURED

Colours = npt.NDArray[np.int8]
SLACK = 1.0 - 1e-12  # a weighted tally that reaches alpha but for rounding has reached it


def winners(
    answers: Sequence[Colours],
    alpha: int,
    classes: int,
    *,
    asked: int,
    weights: Sequence[float] | None = None,
) -> Colours:
    """The colour that won on each input, or UNCOLOURED: ``winner`` for a batch.

    ``asked`` peers were asked; those who did not answer count for nobody. With ``weights``, one for each
    peer asked (those who answered first), the tally is weighted and rescaled to the number asked.
    """
    won = np.full(answers[0].shape, UNCOLOURED, dtype=np.int8)
    if weights is None:
        for colour in range(classes):
            count = np.zeros(won.shape, dtype=np.int16)
            for answer in answers:
                count += answer == colour
            won[count >= alpha] = colour
        return won
    whole = float(sum(weights))
    if whole <= 0.0:
        return won
    for colour in range(classes):
        tally = np.zeros(won.shape)
        for answer, weight in zip(answers, weights, strict=False):
            tally[answer == colour] += weight
        won[tally * asked >= alpha * whole * SLACK] = colour
    return won


class Opinions:
    """What one node holds on every input of a batch, as a state of the protocol each."""

    def __init__(self, protocol: Query[Any], classes: int, first: Colours) -> None:
        self._machine = machine_of(protocol, classes)
        self._state = self._machine.start[first.astype(np.int64) + 1]
        self._wins = np.zeros((first.size, classes), np.int64) if self._machine.counts_wins else None

    @property
    def colours(self) -> Colours:
        """What the node answers."""
        return self._machine.colour[self._state].astype(np.int8)

    @property
    def decisions(self) -> Colours:
        """What it holds at the end: its colours; where the protocol decides, only what it has decided."""
        if not self._machine.decides:
            return self.colours
        return np.where(self._machine.asking[self._state] == 1, UNCOLOURED, self.colours).astype(np.int8)

    @property
    def asking(self) -> bool:
        """Whether any input is still open for this node."""
        return bool(self._machine.asking[self._state].any())

    def react(self, won: Colours) -> None:
        """Every input takes the step that the rule asks for after its winner."""
        winner = won.astype(np.int64)
        ahead = np.zeros(winner.shape, np.int64)
        if self._wins is not None:
            # A decided node counts no more, and who holds nothing is behind whatever wins.
            held = self._machine.colour[self._state]
            (counted,) = np.nonzero((winner != UNCOLOURED) & (self._machine.asking[self._state] == 1))
            self._wins[counted, winner[counted]] += 1
            more = self._wins[counted, winner[counted]] > self._wins[counted, held[counted]]
            ahead[counted] = more | (held[counted] == UNCOLOURED)
        self._state = self._machine.after[self._state, winner + 1, ahead]
