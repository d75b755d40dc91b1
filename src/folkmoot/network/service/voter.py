"""A node's model as a voter: labels become colours, and what it cannot answer becomes an abstention
with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from folkmoot.arrays import Array, Colours
from folkmoot.network.service.models import Model
from folkmoot.votes import UNCOLOURED


class ChunkVotes(NamedTuple):
    """Votes on a chunk. ``reason`` is told to all; ``detail`` may hold what is private, and stays here."""

    votes: Colours
    reason: str = ""
    detail: str = ""


class Voter:
    """Votes on chunks of inputs; whatever the model does, the node goes on."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def vote(self, inputs: Array, labels: Sequence[str]) -> ChunkVotes:
        """A colour for every row, or -1; and why, if the model could not answer some of them."""
        columns = self.model.columns
        if columns is not None and columns != inputs.shape[1]:
            why = "the inputs do not have the columns that its model takes"
            detail = f"the model takes {columns} columns, and the inputs have {inputs.shape[1]}"
            return ChunkVotes(np.full(len(inputs), UNCOLOURED, dtype=np.int8), why, detail)
        said, why, detail = self._ask(inputs)
        colour = {label: number for number, label in enumerate(labels)}
        votes = [UNCOLOURED if label is None else colour.get(label, UNCOLOURED) for label in said]
        strange = next((label for label in said if label is not None and label not in colour), None)
        if strange is not None and not why:
            why = "its model gives labels that are not among those of the motion"
            detail = f"the model says {strange!r:.60}, and the motion has {', '.join(labels):.200}"
        return ChunkVotes(np.array(votes, dtype=np.int8), why, detail)

    def _ask(self, inputs: Array) -> tuple[list[str | None], str, str]:
        try:
            return list(self.model.predict(inputs)), "", ""
        except Exception as error:
            why = "its model failed"
            detail = f"{type(error).__name__}: {' '.join(str(error).split())}"[:1000]
        # Many models refuse a whole batch for one missing value: let them answer the rest.
        whole = np.asarray(np.isfinite(inputs).all(axis=1))
        if whole.all() or not whole.any():
            return [None] * len(inputs), why, detail
        try:
            answers = iter(self.model.predict(inputs[whole]))
        except Exception:
            return [None] * len(inputs), why, detail
        why = f"its model cannot answer the {int((~whole).sum())} inputs with missing or infinite values"
        return [next(answers) if fine else None for fine in whole], why, detail
