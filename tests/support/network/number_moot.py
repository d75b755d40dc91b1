"""A moot about numbers or probabilities on the memory transport, with known answers of each participant."""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot.arrays import Array
from folkmoot.network.wire.motion import Motion
from support.network.moot_in_memory import ChunkVotes, InMemory, Moot


class NumberMoot(Moot):
    """Nodes with known numbers (participant, input), or levels (participant, input, class)."""

    def __init__(self, values: Array, seed: int, **options: Any) -> None:
        self.values = values
        voters = {place: ChunkVotes(row) for place, row in enumerate(values)}
        super().__init__(np.zeros(values.shape[:2], dtype=np.int8), seed, voters=voters, **options)

    def motion(self, asker: int = 0, batch: Any = None, **changes: Any) -> tuple[Motion, InMemory]:
        """A motion about them; all others are asked."""
        labels = tuple("abcdefgh"[: self.values.shape[2]]) if self.values.ndim == 3 else ()
        answers = "probabilities" if labels else "numbers"
        settings = {"answers": answers, "tol": 0.5, "k": self.n - 1, "labels": labels}
        numbers = {"protocol": "trimmed-mean", "alpha": 0, "beta": 1}
        return super().motion(asker, batch, **settings | numbers | changes)
