"""The inputs of a motion as they come: which chunks to fetch, to vote on, and what the votes are so far."""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.network.wire.motion import Motion
from folkmoot.votes import UNCOLOURED

_AHEAD: Final = 2  # chunks under way at a time: what a node holds of the inputs


class Fetching:
    """First votes under way, chunk by chunk."""

    def __init__(self, motion: Motion) -> None:
        self.votes: Colours = np.full(motion.inputs, UNCOLOURED, dtype=np.int8)
        self.due: dict[int, float] = {}  # chunk -> when to ask for it (again)
        self._motion = motion
        self._next = 0
        self._voted: set[int] = set()

    @property
    def complete(self) -> bool:
        """Whether all chunks have been voted on."""
        return len(self._voted) == len(self._motion.chunks)

    def more(self) -> list[int]:
        """The chunks to begin with now."""
        begin = []
        while self._next < len(self._motion.chunks) and self._next - len(self._voted) < _AHEAD:
            begin.append(self._next)
            self._next += 1
        return begin

    def arrived(self, index: int) -> bool:
        """A chunk is there; False if it was not asked for."""
        return self.due.pop(index, None) is not None

    def voted(self, index: int, votes: Colours) -> None:
        """The model has voted on a chunk."""
        start = index * self._motion.chunk_rows
        self.votes[start : start + len(votes)] = votes
        self._voted.add(index)
