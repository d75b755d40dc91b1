"""Scores by scikit-learn's names of every way to answer in a report.

A scorer asks an estimator. Here it is asked of answers that are known already: those of a line of the report,
where an undecided input has the first of its level labels, or else a wrong one: it counts as wrong by any
score, as it does in accuracy. The answer of ``predict`` there is that of the consensus alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names

from folkmoot import checks
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.comparing.comparing import MEAN
from folkmoot.learning.participants import first_sentence
from folkmoot.votes import NO_VOTE, Votes

if TYPE_CHECKING:
    from folkmoot.comparing.report import Line, Report

Scoring: TypeAlias = str | Sequence[str] | Mapping[str, Any]
Scorer: TypeAlias = Callable[[Any, Any, Any], float]


class _GivenLabels(ClassifierMixin, BaseEstimator):
    """A classifier with given answers; X are places in them."""

    def __init__(self, classes: Array, answers: Array) -> None:
        self.classes_ = classes
        self._answers = answers

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Array:
        return np.asarray(self._answers[np.asarray(X)[:, 0]])


class _GivenProbabilities(_GivenLabels):
    """One that knows how likely each class is, too."""

    def __init__(self, classes: Array, answers: Array, likely: Floats) -> None:
        super().__init__(classes, answers)
        self._likely = likely

    def predict_proba(self, X: Any) -> Floats:
        return np.asarray(self._likely[np.asarray(X)[:, 0]])


class _GivenNumbers(RegressorMixin, BaseEstimator):
    """A regressor with given numbers; X are places in them."""

    def __init__(self, numbers: Floats) -> None:
        self._numbers = numbers

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Floats:
        return np.asarray(self._numbers[np.asarray(X)[:, 0]])


def score_numbers(wanted: Mapping[str, Scorer], numbers: Floats, truth: Array) -> dict[str, float]:
    """Each score of numbers that were predicted; ValueError for one that is not of numbers."""
    told, places = _GivenNumbers(numbers), np.arange(len(truth))[:, None]
    found = {}
    for name, scorer in wanted.items():
        try:
            found[name] = float(scorer(told, places, truth))
        except (AttributeError, ValueError, TypeError) as error:
            raise checks.ArgumentError(
                "{scoring=} cannot be computed here: {why!s}", scoring=repr(name), why=first_sentence(error)
            ) from None
    return found


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


def of_one_class(name: str) -> bool:
    """Whether this is of the last of two classes alone, as f1, precision and recall are."""
    return f"{name}_macro" in get_scorer_names()


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

    def score(answers: Array, sure: Floats | None = None, *, strict: bool = False) -> dict[str, float | None]:
        if labels is None or likely is None:
            filled = np.where(np.isnan(answers), truth.mean(axis=0), answers)
            return dict(score_numbers(wanted, filled, truth))
        order = np.argsort(labels)
        said = labels[np.where(answers == NO_VOTE, _wrong(truth, len(labels)), answers)]
        told = (
            _GivenLabels(labels[order], said)
            if sure is None
            else _GivenProbabilities(labels[order], said, sure[:, order])
        )
        return _by(wanted, told, labels[truth], strict=strict)

    def scored(line: Line) -> dict[str, float | None]:
        if line.name == MEAN:
            return _mean([score(own) for own in honest])
        if line.name == consensus:
            return score(predicted, likely, strict=True)
        return {} if line.answers is None else score(np.asarray(line.answers))

    def further(line: Line) -> dict[str, float]:
        found = {name: value for name, value in scored(line).items() if value is not None}
        return {**line.scores, **found}

    return replace(report, lines=tuple(replace(line, scores=further(line)) for line in report.lines))


def _wrong(truth: Votes, classes: int) -> Ints:
    """A wrong class for every input: the one after the right one."""
    return np.asarray((truth.astype(np.int64) + 1) % classes)


def _by(
    wanted: Mapping[str, Scorer],
    told: _GivenLabels,
    right: Array,
    votes: Ints | None = None,
    *,
    strict: bool = False,
) -> dict[str, float | None]:
    """Each score, on the inputs that have a vote; None for what cannot be computed, unless ``strict``."""
    places = np.arange(len(right)) if votes is None else np.flatnonzero(votes != NO_VOTE)
    found: dict[str, float | None] = {}
    for name, scorer in wanted.items():
        try:
            with warnings.catch_warnings():  # about classes that are never answered: the score says that
                warnings.simplefilter("ignore")
                found[name] = float(scorer(told, places[:, None], right[places])) if places.size else None
        except (AttributeError, ValueError, TypeError) as error:
            if strict:
                why = first_sentence(error) + _instead(name, error)
                raise checks.ArgumentError(
                    "{scoring=} cannot be computed here: {why!s}", scoring=repr(name), why=why
                ) from None
            found[name] = None
    return found


def _instead(name: str, error: Exception) -> str:
    """A replacement for a score that needs one class."""
    fits = "pos_label" in str(error) and of_one_class(name)
    return f"; '{name}_macro' is of all classes" if fits else ""


def _mean(each: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """The mean of each score over those that have it."""
    names = each[0] if each else {}
    known = {name: [value for one in each if (value := one[name]) is not None] for name in names}
    return {name: float(np.mean(values)) if values else None for name, values in known.items()}
