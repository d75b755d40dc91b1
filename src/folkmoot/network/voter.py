"""A node's model as a voter: labels become colours, and what it cannot answer becomes an abstention
with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.network.models import Model
from folkmoot.network.packing import Colours
from folkmoot.votes import UNCOLOURED


class Voter:
    """Votes on chunks of inputs; whatever the model does, the node goes on."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def vote(self, inputs: npt.NDArray[Any], labels: Sequence[str]) -> tuple[Colours, str]:
        """A colour for every row, or -1; and why, if the model could not answer some of them."""
        columns = self.model.columns
        if columns is not None and columns != inputs.shape[1]:
            why = f"its model takes {columns} columns, and the inputs have {inputs.shape[1]}"
            return np.full(len(inputs), UNCOLOURED, dtype=np.int8), why
        said, why = self._ask(inputs)
        colour = {label: number for number, label in enumerate(labels)}
        votes = [UNCOLOURED if label is None else colour.get(label, UNCOLOURED) for label in said]
        strange = next((label for label in said if label is not None and label not in colour), None)
        if strange is not None and not why:
            why = f"its model says {strange!r:.60}, which is not among the labels of the motion"
        return np.array(votes, dtype=np.int8), why

    def _ask(self, inputs: npt.NDArray[Any]) -> tuple[list[str | None], str]:
        try:
            return list(self.model.predict(inputs)), ""
        except Exception as error:
            why = f"its model failed: {type(error).__name__}: {' '.join(str(error).split())}"[:200]
        # Many models refuse a whole batch for one missing value: let them answer the rest.
        whole = np.isfinite(inputs).all(axis=1)
        if whole.all() or not whole.any():
            return [None] * len(inputs), why
        try:
            answers = iter(self.model.predict(inputs[whole]))
        except Exception:
            return [None] * len(inputs), why
        why = f"its model cannot answer the {int((~whole).sum())} inputs with missing or infinite values"
        return [next(answers) if fine else None for fine in whole], why
