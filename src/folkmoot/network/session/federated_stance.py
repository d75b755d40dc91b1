"""What one node holds in a federated motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from folkmoot.arrays import Array, Colours
from folkmoot.federated.ballots import NONE
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.stance import Holding
from folkmoot.votes import UNCOLOURED


class FederatedStance(Holding):
    """What one node holds: what it has decided, else what it wants, else its first vote."""

    counts = False
    asking = True

    def __init__(self, minutes: Minutes) -> None:
        super().__init__(minutes)
        self.decided: Colours = np.full(minutes.motion.inputs, UNCOLOURED, dtype=np.int8)

    @property
    def colours(self) -> Colours:
        """What it holds at present."""
        return self._held

    def prepare(self) -> None:
        """Nothing takes long."""

    def begin_with(self, votes: Array) -> None:
        """Take these votes into the talk."""
        self._held = votes

    def settle_threshold(self, peers: Sequence[Colours]) -> None:
        """There is none: quorum sets decide."""

    def hold(self, decided: Colours, wanted: Colours) -> None:
        """Hold something else."""
        self.decided = decided
        held = np.where(wanted != NONE, wanted, self._held)
        self._held = np.where(decided != NONE, decided, held).astype(np.int8)

    def conclusion(self) -> Array:
        """What this node has decided."""
        return self.decided
