"""Peculiar base learners for tests: one that notes what it was shown, one that obeys, one that fails."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Witness(ClassifierMixin, BaseEstimator):
    """Keeps the rows and weights it was fitted on; answers the most common class."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.X_, self.y_, self.weights_ = np.asarray(X), np.asarray(y), sample_weight
        self.classes_, counts = np.unique(y, return_counts=True)
        self.answer_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X: Any) -> Any:
        return np.full(X.shape[0], self.answer_)


class Broken(ClassifierMixin, BaseEstimator):
    """Fits, and cannot predict."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: ARG002
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:  # noqa: ARG002
        raise OSError("the disk of this hospital is full")


class Column(ClassifierMixin, BaseEstimator):
    """Fitted from the start: says what stands in one column of an input, so its votes are known."""

    def __init__(self, column: int = 0, classes: int = 2) -> None:
        self.column = column
        self.classes = classes

    @property
    def classes_(self) -> Any:
        return np.arange(self.classes)

    def fit(self, X: Any, y: Any) -> Self:  # noqa: ARG002
        return self

    def predict(self, X: Any) -> Any:
        return np.asarray(X)[:, self.column].astype(int)
