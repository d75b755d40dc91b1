"""One node on many inputs at once: the rule of a protocol, looked up for a whole batch.

A real query carries a peer's votes on all inputs. The rule itself stays where it is written. This only counts
the answers to each input and looks up what follows in the protocol's table (``machine.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from folkmoot.arrays import Classes
from folkmoot.protocols.machine import machine_of
from folkmoot.protocols.snow import SnowProtocol, reaches
from folkmoot.protocols.snowball import is_ahead
from folkmoot.votes import NO_VOTE


def winners(
    answers: Sequence[Classes],
    alpha: int,
    classes: int,
    *,
    asked: int,
    weights: Sequence[float] | None = None,
) -> Classes:
    """The class that won on each input, or NO_VOTE: ``winner`` for a batch.

    ``asked`` peers were asked; those who did not answer count for nobody. With ``weights``, one for each
    peer asked (those who answered first), the tally is weighted and rescaled to the number asked.
    """
    won = np.full(answers[0].shape, NO_VOTE, dtype=np.int8)
    if weights is None:
        small = np.uint8 if asked < 256 else np.uint16  # as narrow as will do: this is what a round costs
        for c in range(classes):
            count = np.zeros(won.shape, dtype=small)
            for answer in answers:
                count += (answer == c).view(np.uint8)
            # ``reaches`` for whole numbers, so that it stays with them: it would make each a double.
            np.copyto(won, np.int8(c), where=count >= alpha)
        return won
    whole = float(sum(weights))
    for c in range(classes):
        tally = np.zeros(won.shape)
        for answer, weight in zip(answers, weights, strict=False):
            np.add(tally, weight, out=tally, where=answer == c)
        won[reaches(tally, alpha, whole, asked)] = c
    return won


class Opinions:
    """The states of one node on the inputs of a batch."""

    def __init__(self, protocol: SnowProtocol[Any], classes: int, first: Classes) -> None:
        self._machine = machine_of(protocol, classes)
        # The table as one row, so that a batch is a single look-up: state, winner + 1, ahead.
        self._after = self._machine.after.ravel()
        self._class_of = self._machine.class_of.astype(np.int8)
        self._step = 2 * (classes + 1)
        self._state = self._machine.start[first.astype(np.int64) + 1]
        self._answers = self._class_of.take(self._state)
        self._wins = np.zeros((first.size, classes), np.int32) if self._machine.counts_wins else None
        self._asking: bool | None = None  # is any input still open? None: not looked at since the last step

    @property
    def answers(self) -> Classes:
        """The answers of the node."""
        return self._answers

    @property
    def decisions(self) -> Classes:
        """The final classes; if the protocol decides, only decided ones."""
        if not self._machine.decides:
            return self.answers
        return np.where(self._machine.asking[self._state] == 1, NO_VOTE, self.answers).astype(np.int8)

    @property
    def asking(self) -> bool:
        """Whether any input is still open for this node."""
        if self._asking is None:
            self._asking = bool(self._machine.asking[self._state].any())
        return self._asking

    def react(self, won: Classes) -> None:
        """Every input takes the step that the rule asks for after its winner."""
        place = self._state * self._step
        place += (won + np.int8(1)) * np.int64(2)
        if self._wins is not None:
            # A decided node counts no more.
            held = self._machine.class_of[self._state]
            (counted,) = np.nonzero((won != NO_VOTE) & (self._machine.asking[self._state] == 1))
            winner = won[counted].astype(np.int64)
            self._wins[counted, winner] += 1
            kept = held[counted]
            place[counted] += is_ahead(self._wins[counted, winner], kept, self._wins[counted, kept])
        self._state = self._after.take(place)
        self._answers = self._class_of.take(self._state)
        self._asking = None
