"""A fitted model in a file of skops or ONNX as an estimator, with the labels and columns of a moot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from folkmoot.arrays import Array, Floats
from folkmoot.models.labels import classes_of, label_text, pairs_of
from folkmoot.sandbox.loading import PICKLES, Loaded, load


class FileModel(BaseEstimator):
    """A fitted model in a ``.skops`` or ``.onnx`` file.

    It is loaded when it is first needed, in this process. A node asks such a file in a sandbox.

    Parameters
    ----------
    file : str or Path
        The file.
    labels : sequence or mapping, optional
        The labels in the order of the model's probabilities, or the label that each of its answers means:
        ``{0: "benign", 1: "malignant"}``. Default: as the model says.
    columns : mapping, optional
        The names of the inputs' columns by those of the model, such as ``{"mean_radius": "mean radius"}``,
        where inputs are data frames.
    allow : sequence of str, default ()
        Types that a skops file may hold besides harmless ones.

    Examples
    --------
    >>> from folkmoot.models import FileModel
    >>> model = FileModel("heart.onnx", labels={0: "benign", 1: "malignant"})
    >>> model.predict([[14.2, 20.1]])  # doctest: +SKIP
    array(['benign'], dtype=object)
    """

    def __init__(
        self,
        file: str | Path,
        labels: Sequence[Any] | Mapping[Any, Any] | None = None,
        columns: Mapping[str, str] | None = None,
        allow: Sequence[str] = (),
    ) -> None:
        self.file = file
        self.labels = labels
        self.columns = columns
        self.allow = allow

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getstate__(self) -> dict[str, Any]:
        """Without the loaded model: whoever unpickles it loads the file again."""
        return {name: value for name, value in self.__dict__.items() if name != "_loaded"}

    def __getattr__(self, name: str) -> Any:
        if name == "classes_" and "file" in self.__dict__:
            if self.labels is not None:
                return np.asarray(classes_of(self.labels))
            if self._model().labels is not None:
                return np.asarray(self._model().labels)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Learn nothing, and load the file."""
        self._model()
        return self

    def predict(self, X: Any) -> Array:
        """A label or number per row; None is no vote."""
        said = np.asarray(self._model().predict(self._shown(X)))
        said = said[:, 0] if said.ndim == 2 and said.shape[1] == 1 else said
        if self.labels is None:
            return said
        labels = dict(pairs_of(self.labels))
        found = np.empty(len(said), dtype=object)
        found[:] = [labels.get(label_text(each)) for each in said]
        return found

    @available_if(lambda self: self._has_chances())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """(row, label): probabilities in the order of ``classes_``."""
        ask = self._model().chances
        given = np.asarray(None if ask is None else ask(self._shown(X)), dtype=np.float64)
        if self.labels is None:
            return given
        classes, own = classes_of(self.labels), self._model().labels
        pairs = pairs_of(self.labels)
        means = dict(pairs)
        order = (
            [label for _, label in pairs] if own is None else [means.get(label_text(each)) for each in own]
        )
        found = np.zeros((len(given), len(classes)))
        for place, label in enumerate(order):
            if label is not None:
                found[:, classes.index(label)] += given[:, place]
        return found

    def _has_chances(self) -> bool:
        return self._model().chances is not None and hasattr(self, "classes_")

    def _model(self) -> Loaded:
        found: Loaded | None = self.__dict__.get("_loaded")
        if found is None:
            path = Path(self.file)
            if path.suffix.lower() in PICKLES:
                raise ValueError(f"file must be .skops or .onnx: load {path} with joblib, and give the model")
            found = self._loaded = load(path.read_bytes(), str(path), list(self.allow))
        return found

    def _shown(self, X: Any) -> Any:
        """The inputs with the model's own names and order of columns; numbers where it knows no names."""
        names = list(self._model().names)
        if not hasattr(X, "columns"):
            return np.asarray(X) if not names else X
        frame = X.rename(columns={theirs: own for own, theirs in (self.columns or {}).items()})
        return frame[names] if names else frame.to_numpy()
