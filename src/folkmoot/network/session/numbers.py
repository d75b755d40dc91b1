"""TALKING about numbers: a node combines what it hears and holds by the rule of ``agree``, one step a round.

It combines numbers only if it holds more than 3f on an input, its own among them: then the trimmed mean drops
f or more at either end, and what is left lies in the range of the honest ones. A node whose model gave no
number takes one from the others in the same way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from folkmoot.aggregation import Rule
from folkmoot.arrays import Array, Bools, Colours, Floats
from folkmoot.network.session.asking import Asking
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.stance import Holding
from folkmoot.node.membership.roster import faults


def combined(rule: Rule, values: Floats, least: int) -> Floats:
    """(input, output): what follows from ``values`` (who, input, output), the own first; NaN is no number.

    An input with fewer numbers than ``least`` stays as it is.
    """
    held = np.array(values[0])
    there: Bools = ~np.asarray(np.isnan(values).any(axis=2))
    counts = there.sum(axis=0)
    for count in np.unique(counts[counts >= least]).tolist():
        rows = np.flatnonzero(counts == count)
        block = values[:, rows].transpose(1, 0, 2)[there[:, rows].T]
        held[rows] = rule.combine(block.reshape(len(rows), count, -1))
    return held


class NumberStance(Holding):
    """What one node holds in a motion about numbers or probabilities."""

    counts = False
    asking = True

    def __init__(self, minutes: Minutes) -> None:
        super().__init__(minutes)
        self.least = 3 * faults(minutes.seat.n) + 1  # numbers that may be combined
        self.enough = np.zeros(minutes.motion.asked, dtype=np.bool_)  # has an input been combined?

    def prepare(self) -> None:
        """Nothing takes long."""

    def begin_with(self, votes: Array) -> None:
        """Take these numbers into the talk."""
        self._held = votes

    def settle_threshold(self, peers: Sequence[Colours]) -> None:
        """There is none."""

    def conclusion(self) -> Array:
        """What is held where enough were heard; a first number that nobody was asked about is none."""
        return np.where(self.enough[:, None], self._held, np.nan)


class NumberTalking(Asking):
    """The rounds of one node about numbers."""

    _stance: NumberStance

    def __init__(
        self, minutes: Minutes, patience: Patience, stance: NumberStance, rng: random.Random
    ) -> None:
        super().__init__(minutes, patience, stance, rng)
        self._rule = minutes.motion.aggregation()

    def _prepare_to_react(self) -> None:
        stance = self._stance
        told = ~np.isnan(np.stack([stance.held, *self._answers.values()])).any(axis=2)
        stance.enough |= told.sum(axis=0) >= stance.least

    def _react(self) -> int:
        stance = self._stance
        before = stance.held
        after = combined(self._rule, np.stack([before, *self._answers.values()]), stance.least)
        same = (after == before) | (np.isnan(after) & np.isnan(before))
        changed = int((~same).any(axis=1).sum())
        if changed:
            stance.change_to(after)
        return changed

    def apart(self) -> float | None:
        """How far apart the numbers heard last are, on the worst input; None if there are none."""
        told = [each for each in self.latest[1] if not np.isnan(each).all()]
        if not told:
            return None
        values = np.stack(told)
        high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
        low = np.where(np.isnan(values), np.inf, values).min(axis=0)
        return float((high - low)[high >= low].max())
