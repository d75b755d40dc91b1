"""The common part of all models behind a service: inputs one by one, answers with reasons, and costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from folkmoot import checks
from folkmoot.arrays import Array, Floats
from folkmoot.models.labels import classes_of
from folkmoot.models.posting import Endpoint, check_url, key_from
from folkmoot.models.usage import Usage

OTHER: Final = "its model answered with something else than one of the labels"
MOST_PARALLEL: Final = 64  # requests at the same time


class ModelAnswer(NamedTuple):
    """The answer of a remote model to one input.

    Parameters
    ----------
    label : object
        The label, or the text or number where there are no labels; None is no vote.
    reason : str
        Why there is no vote: one of a few fixed lines, which are public.
    detail : str
        The same with what the server says, in which a key is struck out.
    text : str, optional
        The answer of a language model, word for word.
    chances : tuple of float, optional
        A probability for each label, if they were asked for.

    Examples
    --------
    >>> from folkmoot.models.remote import ModelAnswer
    >>> ModelAnswer("spam").label
    'spam'
    """

    label: Any = None
    reason: str = ""
    detail: str = ""
    text: str | None = None
    chances: tuple[float, ...] | None = None


class RemoteModel(BaseEstimator):
    """A model that is asked over HTTP; a subclass says how in ``answers``."""

    labels: Any
    api_key_env: str | None
    timeout: float
    parallel: int
    retries: int

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name == "classes_" and self.__dict__.get("labels") is not None:
            return np.asarray(classes_of(self.labels))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def usage(self) -> Usage:
        """Counts of requests, failures and tokens so far."""
        found: Usage = self.__dict__.setdefault("_usage", Usage())
        return found

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Learn nothing, and check the parameters."""
        self.check()
        return self

    def predict(self, X: Any) -> Array:
        """An answer per input: a label, or what the service says if there are no labels; None is no vote."""
        found = np.empty(len(inputs := inputs_of(X)), dtype=object)
        found[:] = [each.label for each in self.answers(inputs)]
        return found

    def predict_proba(self, X: Any) -> Floats:
        """(input, label): probabilities in the order of ``classes_``; a row of NaN is no vote."""
        if self.labels is None:
            raise ValueError("labels must be given for probabilities: got None")
        classes = len(classes_of(self.labels))
        said = self.answers(X, chances=True)
        none = (math.nan,) * classes
        return np.array([each.chances or none for each in said]).reshape(len(said), classes)

    def check(self) -> object:
        """ValueError or TypeError, in one line, if a parameter does not fit."""
        raise NotImplementedError

    def answers(self, X: Any, *, chances: bool = False, until: float | None = None) -> list[ModelAnswer]:
        """Ask about each input, with a reason for each that gets no vote.

        ``chances`` asks for probabilities, too. After ``until``, a time of ``time.monotonic``, no request is
        begun or waited for: what is not answered then is no vote.
        """
        raise NotImplementedError

    def _endpoint(self, url: object, name: str) -> Endpoint:
        """The endpoint of the service, after all limits of a request are checked."""
        where = check_url(url, name)
        for each, least in (("parallel", 1), ("retries", 0)):
            checks.integer(each, getattr(self, each), least=least)
        if self.parallel > MOST_PARALLEL:
            raise checks.ArgumentError(
                f"{{parallel}} must satisfy parallel <= {MOST_PARALLEL}: got {{parallel=}}",
                parallel=self.parallel,
            )
        if not isinstance(self.timeout, (int, float)) or not 0 < self.timeout < math.inf:
            raise ValueError(f"timeout must be a positive number of seconds: got timeout={self.timeout!r}")
        if self.labels is not None and len(classes_of(self.labels)) < 2:
            raise ValueError(f"labels must be two or more: got {self.labels!r:.200}")
        return Endpoint(where, key_from(self.api_key_env), self.timeout, self.retries, self.usage)


def inputs_of(X: Any) -> list[Any]:
    """The inputs one by one: texts, records, or rows of numbers; a data frame's rows are records."""
    if hasattr(X, "to_dict") and hasattr(X, "columns"):
        return list(X.to_dict("records"))
    if isinstance(X, (str, Mapping)):
        raise TypeError(f"X must be a list of inputs: got one; write [{X!r:.60}]")
    found: Sequence[Any] = X.tolist() if hasattr(X, "tolist") else X
    return list(found)
