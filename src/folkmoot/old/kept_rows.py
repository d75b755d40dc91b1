"""Rows that participants keep after ``fit``, to fit their models to once more with rows that all agree on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from folkmoot.learning.consensus_estimator import ConsensusEstimator
from folkmoot.learning.participants import Task


class KeepingEstimator(ConsensusEstimator):
    """Base whose participants keep their rows after ``fit``."""

    prefit: bool
    _own_rows: list[Task] | None

    def __getstate__(self) -> dict[str, Any]:
        """Rows stay where they are: neither a pickle nor a file of the moot holds them."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_own_rows", None)
        return state

    def _rows_kept(self) -> list[Task]:
        tasks: list[Task] | None = getattr(self, "_own_rows", None)
        if tasks is None:
            how = (
                "fit(X, y, groups) with some rows for each"
                if self.prefit
                else "fit(X, y) again: rows are not kept in copies, pickles or files of a moot"
            )
            raise ValueError(f"improve needs labelled rows of each participant: {how}")
        return tasks

    def _check_pool(self, X: Any, own: Any) -> Any:
        if hasattr(X, "__len__") and not sparse.issparse(X) and len(X) == 0:
            raise ValueError("X_unlabelled must hold at least one input to agree on: got none")
        X = self._check_again(X)
        if _kind(X) != _kind(own):
            raise ValueError(
                f"X_unlabelled must be of the kind that was fitted on, {_kind(own)}: got {_kind(X)}"
            )
        return X


def _kind(X: Any) -> str:
    if sparse.issparse(X):
        return "a sparse matrix"
    if isinstance(X, np.ndarray):
        return "an array"
    return f"a {type(X).__module__.partition('.')[0]} {type(X).__name__}".replace("builtins ", "")
