"""A model that anybody can fit to rows that are shown, heard in peer review as one more voter.

It learns from owners that the judge accepts, and is heard if rows that it has not seen bear it out
(``widening``). So a judge need not be behind those who fit a model to the same rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import _safe_indexing

from folkmoot.aggregation.interface import Known, Rows
from folkmoot.aggregation.panel import PUBLIC
from folkmoot.aggregation.space import space_of
from folkmoot.arrays import Bools, Floats, Ints, Singles

_FOLDS: Final = 5  # models fitted to tell what they say of rows that they have not seen: more cost time
_TREES: Final = 100  # fifty take half the time, and are heard less among those that spare shown rows (-.004)
LEAST: Final = 20  # rows from which a forest is fitted by default: fewer teach a model little


def fitted_expert(model: Any, rows: Rows, truth: Ints, classes: int, known: Known) -> FittedExpert | None:
    """The expert of a table: the model, or by default a forest; None where no rows or too few are shown."""
    if model is not None:
        return FittedExpert(model, rows, truth, classes, known)
    if len(truth) < LEAST or (space := space_of(rows.inputs)) is None:
        return None
    inputs = space.placed(known.inputs)
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(_TREES, oob_score=True)
    return FittedExpert(
        forest, replace(rows, inputs=space.placed(rows.inputs)), truth, classes, replace(known, inputs=inputs)
    )


class FittedExpert:
    """The expert of a table: its votes on the rows that are shown and on the inputs, by who is accepted."""

    def __init__(self, model: Any, rows: Rows, truth: Ints, classes: int, known: Known) -> None:
        if rows.inputs is None or known.inputs is None:
            raise ValueError("expert learns from inputs: give those of the rows and of the table, in Known")
        self._model, self._rows, self._truth, self._classes, self._known = model, rows, truth, classes, known
        self._fitted: dict[bytes, tuple[Singles, Any]] = {}

    def on_rows(self, accepted: Bools) -> Singles:
        """(row, class): its votes less 1/C on accepted rows, by models that have not seen them."""
        return self._learnt(accepted)[0]

    def on_inputs(self, accepted: Bools) -> Singles:
        """(input, class): its votes less 1/C, by the model of all accepted rows."""
        return self._says(self._learnt(accepted)[1], self._known.inputs, None)

    def deaf_to(self, who: Bools) -> FittedExpert:  # noqa: ARG002
        """The same: it hears nobody."""
        return self

    def overall(self, accepted: Bools) -> Floats:
        """(participant,): it hears nobody's votes."""
        return np.zeros(len(accepted))

    def _learnt(self, accepted: Bools) -> tuple[Singles, Any]:
        key = accepted.tobytes()
        if key not in self._fitted:
            taught = (self._rows.owner == PUBLIC) | accepted[self._rows.owner]
            model = self._fit(taught)
            self._fitted[key] = self._unseen(model, taught), model
        return self._fitted[key]

    def _unseen(self, model: Any, taught: Bools) -> Singles:
        """(row, class): votes less 1/C on the rows that a model learnt from, by what had not seen them.

        A forest's trees have each not seen a third of the rows. Other models are fitted again, by folds.
        """
        said = np.zeros((len(taught), self._classes), dtype=np.float32)
        if getattr(model, "oob_score", False):
            by_others = np.nan_to_num(model.oob_decision_function_, nan=1 / len(model.classes_))
            said[np.ix_(taught, model.classes_)] = by_others
            said[taught] -= np.float32(1 / self._classes)
            return said
        fold = _folds(self._truth, taught)
        for part in range(_FOLDS):
            out = np.flatnonzero(fold == part)
            if len(out):
                said[out] = self._says(self._fit(taught & (fold != part)), self._rows.inputs, out)
        return said

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


def _folds(truth: Ints, taught: Bools) -> Ints:
    """(row,): the fold of each row that may be learnt from, classes spread over all folds; -1 for others."""
    places = np.flatnonzero(taught)
    fold = np.full(len(truth), -1)
    fold[places[np.argsort(truth[places], kind="stable")]] = np.arange(len(places)) % _FOLDS
    return fold
