"""A plain function as a model, for moots of models that are fitted already."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from folkmoot.arrays import Array


class FunctionModel(BaseEstimator):
    """A function that answers a batch of inputs, as a model of a participant with ``prefit=True``.

    Parameters
    ----------
    function : callable
        Called with the inputs; it returns one answer for each. ``None`` or NaN is no answer.
    classes : sequence, optional
        The labels that it may give. Without them the estimator needs a few labelled rows: ``fit(X, y)``.

    Examples
    --------
    >>> from folkmoot import ConsensusClassifier, FunctionModel
    >>> def loud(texts):
    ...     return ["shout" if text.isupper() else "talk" for text in texts]
    >>> def marked(texts):
    ...     return ["shout" if "!" in text else "talk" for text in texts]
    >>> models = [FunctionModel(each, classes=["shout", "talk"]) for each in (loud, marked)]
    >>> moot = ConsensusClassifier(models, prefit=True).fit()
    >>> moot.predict(["STOP!", "well, well"])
    array(['shout', 'talk'], dtype='<U5')
    """

    def __init__(self, function: Callable[[Any], Any], classes: Any = None) -> None:
        self.function = function
        self.classes = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name == "classes_" and self.__dict__.get("classes") is not None:
            return np.asarray(self.classes)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(self, X: Any, y: Any = None) -> FunctionModel:  # noqa: ARG002
        """Learn nothing: a function answers as it does.

        Parameters
        ----------
        X : array-like
            Not used.
        y : array-like, optional
            Not used.

        Returns
        -------
        FunctionModel
            Itself.
        """
        return self

    def predict(self, X: Any) -> Array:
        """Call the function with a copy of the inputs, since others answer these, too.

        Parameters
        ----------
        X : array-like
            The inputs.

        Returns
        -------
        ndarray, shape (input,)
            Its answers.
        """
        said = self.function(copy(X))
        return said if isinstance(said, np.ndarray) else np.asarray(list(said))
