"""Class probabilities of a participant, for any model."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from folkmoot.arrays import Array, Floats
from folkmoot.learning.labels import as_classes
from folkmoot.learning.participants import Participant, first_sentence
from folkmoot.learning.tables import columns_of, rows_in
from folkmoot.votes import NO_VOTE, Votes

_LEAD: Final = 1 / 64  # a label that is named stays the likeliest, however often it is wrong


def has_probabilities(participant: Participant) -> bool:
    """Whether its model says how likely classes are. One that knows a single class would be sure of it."""
    model = participant.model
    return hasattr(model, "predict_proba") and hasattr(model, "classes_") and not participant.constant


def chances_of(participant: Participant, X: Any, classes: Array) -> Floats | str:
    """(input, class): how likely a participant finds each of the classes; or what went wrong.

    No answer is NaN: a label that is none of the classes, or a row of NaN of a model with probabilities.
    One whose model gives labels only finds its label as likely as the answers to its holdout were often
    right, by Laplace's rule; without a holdout, as likely as one vote makes it. The other classes share the
    rest.
    """
    if has_probabilities(participant):
        return _by_model(participant, X, classes)
    answers = participant.predict(X)
    if isinstance(answers, str):
        return answers
    try:
        votes = as_classes(answers, classes)
    except TypeError:
        return "predict returned something that cannot be a label"
    if votes.ndim != 1:
        return f"predict returned the shape {answers.shape}"
    return _one_hot(votes, len(classes), _sureness(participant, classes))


def gaps_level(chances: Floats) -> Floats:
    """(input, class): the same, with all classes alike where there is no answer."""
    return np.where(np.isnan(chances), 1 / chances.shape[1], chances)


def _by_model(participant: Participant, X: Any, classes: Array) -> Floats | str:
    try:
        given = np.asarray(participant.model.predict_proba(columns_of(X, participant.columns)), np.float64)
    except Exception as error:  # any model may be here, and it may fail in any way
        return f"{type(error).__name__}: {first_sentence(error)}"
    known = np.asarray(participant.model.classes_)
    if given.shape != (rows_in(X), len(known)):
        return f"predict_proba returned the shape {given.shape}"
    there = ~np.isnan(given).all(axis=1)
    if not (np.isfinite(given[there]).all() and (given[there] >= 0).all()):
        return "predict_proba returned numbers that are not probabilities"
    place = as_classes(known, classes)
    full = np.zeros((len(given), len(classes)))
    full[:, place[place != NO_VOTE]] = given[:, place != NO_VOTE]
    total = full.sum(axis=1, keepdims=True)
    return np.where(total > 0, full / np.where(total > 0, total, 1), np.nan)


def _sureness(participant: Participant, classes: Array) -> float:
    """The probability of a label that a participant names."""
    if not participant.held_out:
        return (1 + 1 / len(classes)) / 2  # as the share of a single vote
    return max(participant.accuracy_of_answers(classes), (1 + _LEAD) / len(classes))


def _one_hot(votes: Votes, classes: int, sure: float) -> Floats:
    """(input, class): ``sure`` for the vote, the rest shared; NaN for no vote."""
    chances = np.full((len(votes), classes), (1 - sure) / (classes - 1))
    cast = votes != NO_VOTE
    chances[np.flatnonzero(cast), votes[cast]] = sure
    chances[~cast] = np.nan
    return chances
