"""Scores by scikit-learn's names of every way to answer in a report.

A scorer asks an estimator. Here it is asked of answers that are known already: those of a line of the report,
where an undecided input has the first of its level labels, or else a wrong one. It counts as wrong by any
score, as it does in accuracy. The answer of ``predict`` there is that of the consensus alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.metaestimators import available_if

from folkmoot import checks
from folkmoot.arrays import Array, Floats
from folkmoot.comparing.comparing import MEAN
from folkmoot.learning.participants import first_sentence
from folkmoot.votes import NO_VOTE

if TYPE_CHECKING:
    from folkmoot.comparing.report import Line, Report

Scoring: TypeAlias = str | Sequence[str] | Mapping[str, Any]
Scorer: TypeAlias = Callable[[Any, Any, Any], float]


class _Given(BaseEstimator):
    """A classifier or regressor with given answers; X are places in them."""

    def __init__(self, answers: Array, classes: Array | None = None, likely: Floats | None = None) -> None:
        self._answers, self._likely = answers, cast("Floats", likely)
        if classes is not None:
            self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if hasattr(self, "classes_") else "regressor"
        return tags

    def predict(self, X: Any) -> Array:
        return np.asarray(self._answers[np.asarray(X)[:, 0]])

    @available_if(lambda self: self._likely is not None)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        return self._likely[np.asarray(X)[:, 0]]


def scorers(scoring: Scoring) -> dict[str, Scorer]:
    """The scorers by name; ValueError, with the nearest name, for one that scikit-learn does not know."""
    if isinstance(scoring, Mapping):
        return {
            str(name): scorer if callable(scorer) else _scorer(scorer) for name, scorer in scoring.items()
        }
    names = (
        [scoring] if isinstance(scoring, str) else list(scoring) if isinstance(scoring, Sequence) else None
    )
    if not names:
        raise checks.ArgumentError(
            "{scoring} must be a name of scikit-learn's scorers, several, or a mapping of names to scorers: "
            "got {scoring!r}",
            scoring=scoring,
        )
    return {str(name): _scorer(name) for name in names}


def _scorer(name: object) -> Scorer:
    known = get_scorer_names()
    if isinstance(name, str) and name in known:
        return get_scorer(name)  # type: ignore[no-any-return]
    near = get_close_matches(str(name), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "sklearn.metrics.get_scorer_names() lists them"
    raise checks.ArgumentError(
        "{scoring} must name scikit-learn's scorers: got {name!r}; {hint!s}", name=name, hint=hint
    )


def with_scores(
    report: Report,
    wanted: Mapping[str, Scorer],
    truth: Array,
    honest: Array,
    *,
    labels: Array | None,
    predicted: Array,
    likely: Floats | None,
) -> Report:
    """The report with these scores on every line; none where a line has no answers, or no probabilities.

    ``honest`` are the honest participants' own answers; ``predicted`` and ``likely`` those of ``predict`` and
    ``predict_proba``. If nobody answers, a wrong label counts, or the mean of the truth.
    """
    consensus = report.main.name

    def score(answers: Array, sure: Floats | None = None, *, strict: bool = False) -> dict[str, float]:
        if labels is None:
            given = _Given(np.where(np.isnan(answers), truth.mean(axis=0), answers))
            return _scores(wanted, given, truth, strict=True)
        order = np.argsort(labels)
        wrong = (truth.astype(np.int64) + 1) % len(labels)
        named = labels[np.where(answers == NO_VOTE, wrong, answers)]
        given = _Given(named, labels[order], None if sure is None else sure[:, order])
        return _scores(wanted, given, labels[truth], strict=strict)

    def further(line: Line) -> dict[str, float]:
        if line.name == MEAN:
            each = [score(own) for own in honest]
            return {name: float(np.mean([one[name] for one in each])) for name in (each[0] if each else ())}
        if line.name == consensus:
            return score(predicted, likely, strict=True)
        return {} if line.answers is None else score(np.asarray(line.answers))

    lines = tuple(replace(line, scores={**line.scores, **further(line)}) for line in report.lines)
    return replace(report, lines=lines)


def _scores(wanted: Mapping[str, Scorer], given: _Given, right: Array, *, strict: bool) -> dict[str, float]:
    """Each score that can be computed; all of them if ``strict``."""
    places = np.arange(len(right))[:, None]
    found = {}
    for name, scorer in wanted.items():
        try:
            with warnings.catch_warnings():  # about classes that are never answered: the score says that
                warnings.simplefilter("ignore")
                found[name] = float(scorer(given, places, right))
        except (AttributeError, ValueError, TypeError) as error:
            if strict:
                why = first_sentence(error) + _instead(name, error)
                raise checks.ArgumentError(
                    "{scoring=} cannot be computed here: {why!s}", scoring=repr(name), why=why
                ) from None
    return found


def _instead(name: str, error: Exception) -> str:
    """A replacement for a score of one class, as f1, precision and recall are."""
    of_one_class = f"{name}_macro" in get_scorer_names()
    return f"; '{name}_macro' is of all classes" if "pos_label" in str(error) and of_one_class else ""
