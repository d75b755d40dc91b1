"""A model that anybody can fit to rows that are shown, heard in peer review as one more voter.

It is weighed like a participant, by what it says of rows of owners from whom it has not learnt. So a judge
that hears it need not be behind those who fit a model to the same rows. It learns only from owners that the
judge accepts.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import _safe_indexing

from folkmoot.aggregation.interface import Known, Rows
from folkmoot.aggregation.panel import PUBLIC
from folkmoot.arrays import Bools, Ints, Singles

_FOLDS: Final = 5  # models fitted to tell what they say of rows that they have not seen: more cost time


class FittedExpert:
    """The expert of a table: its votes on the rows that are shown and on the inputs, by who is accepted."""

    def __init__(self, model: Any, rows: Rows, truth: Ints, classes: int, known: Known) -> None:
        if rows.inputs is None or known.inputs is None:
            raise ValueError("expert learns from inputs: give those of the rows and of the table, in Known")
        self._model, self._rows, self._truth, self._classes, self._known = model, rows, truth, classes, known
        self._fitted: dict[bytes, tuple[Singles, Any]] = {}

    def on_rows(self, accepted: Bools) -> Singles:
        """(row, class): its votes less 1/C, each by a model that has not seen a row of the same fold."""
        return self._learnt(accepted)[0]

    def on_inputs(self, accepted: Bools) -> Singles:
        """(input, class): its votes less 1/C, by the model of all accepted rows."""
        return self._says(self._learnt(accepted)[1], self._known.inputs, None)

    def _learnt(self, accepted: Bools) -> tuple[Singles, Any]:
        key = accepted.tobytes()
        if key not in self._fitted:
            owner = self._rows.owner
            taught, fold = (owner == PUBLIC) | accepted[owner], _folds(owner)
            said = np.zeros((len(owner), self._classes), dtype=np.float32)
            for part in np.unique(fold):
                out = np.flatnonzero(fold == part)
                said[out] = self._says(self._fit(taught & (fold != part)), self._rows.inputs, out)
            self._fitted[key] = said, self._fit(taught)
        return self._fitted[key]

    def _fit(self, by: Bools) -> Any:
        """The model of these rows; None if they are of fewer than two classes."""
        places = np.flatnonzero(by)
        if len(np.unique(self._truth[places])) < 2:
            return None
        model = clone(self._model)
        _set_random_states(model, np.random.RandomState(self._known.seed % 2**32))
        return model.fit(_safe_indexing(self._rows.inputs, places), self._truth[places])

    def _says(self, model: Any, inputs: Any, places: Ints | None) -> Singles:
        some = inputs if places is None else _safe_indexing(inputs, places)
        many = some.shape[0] if hasattr(some, "shape") else len(some)
        said = np.zeros((many, self._classes), dtype=np.float32)
        if model is None:
            return said
        if hasattr(model, "predict_proba"):
            said[:, model.classes_] = model.predict_proba(some)
        else:
            said[np.arange(many), model.predict(some)] = 1
        return said - np.float32(1 / self._classes)


def _folds(owner: Ints) -> Ints:
    """(row,): whole owners, dealt out in turn; public rows, and rows of a single owner, one by one."""
    if len(there := np.unique(owner)) == 1:
        return np.arange(len(owner)) % _FOLDS
    turn = np.searchsorted(there, owner)
    return np.where(owner == PUBLIC, np.arange(len(owner)), turn) % _FOLDS
