"""First votes: what the participants' models answer, as one table for an aggregation.

No answer is ``None``, NaN, a label that is none of the classes, or a model that fails. It is a gap in the
table: -1 among classes, NaN among probabilities and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sklearn.utils.validation import column_or_1d

from folkmoot.aggregation.rule import LARGEST
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.learning.participants import Participant, first_sentence, warn_about
from folkmoot.learning.tables import columns_of, is_missing, rows_in
from folkmoot.votes import NO_VOTE, Votes


def check_labels(y: Any) -> Array:
    """One label per row, as numbers or words; object arrays become what they hold."""
    values: Array = column_or_1d(y)
    if values.dtype == object:
        missing = next((i for i, value in enumerate(values.tolist()) if is_missing(value)), None)
        if missing is not None:
            raise ValueError(f"y must hold a label for every row: y[{missing}] is missing")
        values = np.array(values.tolist())
    return values


def known_classes(participants: list[Participant]) -> Array | None:
    """The union of the classes that fitted models know; they must be of one kind."""
    there = [(p.name, np.asarray(p.model.classes_)) for p in participants if hasattr(p.model, "classes_")]
    if not there:
        return None
    first, reference = there[0]
    for name, classes in there[1:]:
        same_kind(reference, classes, f"participant {first!r} says", f"participant {name!r} says")
    alone = [
        name
        for name, classes in there
        if not any(np.isin(classes, other).any() for who, other in there if who != name)
    ]
    warn_about(alone if len(there) > 1 else [], "knows none of the classes that the others know")
    return np.unique(np.concatenate([classes for _, classes in there]))


def same_kind(left: Array, right: Array, who: str, whom: str) -> None:
    """Numbers with numbers, words with words: 1 and '1' are not the same answer."""
    if (left.dtype.kind in "biuf") != (right.dtype.kind in "biuf"):
        raise ValueError(
            f"participants must agree on what the classes are: {who} {_few(left)}, {whom} {_few(right)}"
        )


def with_strangers(classes: Array, y: Array) -> Array:
    """The classes, and any labels of y that nobody knows (everybody is wrong on those)."""
    same_kind(classes, np.unique(y), "the moot says", "y says")
    strangers = np.setdiff1d(y, classes)
    return np.concatenate((classes, strangers)) if strangers.size else classes


def as_classes(answers: Array, labels: Array) -> Votes:
    """The place of each answer in ``labels``; -1 for what is none of them."""
    place = {label: i for i, label in enumerate(labels.tolist())}
    return np.array([place.get(answer, NO_VOTE) for answer in answers.tolist()], dtype=np.int64)


def _few(classes: Array) -> str:
    more = ", ..." if len(classes) > 5 else ""
    return "[" + ", ".join(map(repr, classes[:5].tolist())) + more + "]"


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


_FAILED: Final = "predict failed; the others go on without it"
_STRANGE: Final = "some answers are none of the classes and count as no vote"


@dataclass(frozen=True, eq=False)
class FirstVotes:
    """A table of first votes."""

    # (participant, input) classes or numbers, or (participant, input, class) probabilities, or
    # (participant, input, output) numbers.
    table: Array
    faults: dict[int, str]  # the participants that could not answer at all, and why
    inputs: Any

    @property
    def cast(self) -> Bools:
        """(participant, input): whether there is a vote."""
        if self.table.dtype.kind == "i":
            return np.asarray(self.table != NO_VOTE)
        there = ~np.isnan(self.table)
        return np.asarray(there.all(axis=2) if there.ndim == 3 else there)


def labels_cast(answers: Sequence[Array | str], labels: Array, names: Sequence[str], X: Any) -> FirstVotes:
    """Everybody's labels as places in ``labels``; warnings name who failed and who named others."""
    votes = _table(answers, names, X, lambda each: places(each, labels), (), NO_VOTE)
    strange = [
        names[i]
        for i, (each, found) in enumerate(zip(answers, votes.table, strict=True))
        if i not in votes.faults and (found == NO_VOTE).any() and _names_others(np.asarray(each), found)
    ]
    warn_about(strange, _STRANGE)
    return votes


def places(answers: Array, labels: Array) -> Ints | str:
    """The place of each answer in the labels, -1 for what is none of them; or what went wrong."""
    if answers.ndim != 1:
        return f"predict returned the shape {answers.shape}"
    numbers = "biuf"
    if (answers.dtype.kind in numbers) == (labels.dtype.kind in numbers) and "O" not in (
        answers.dtype.kind,
        labels.dtype.kind,
    ):
        order = np.argsort(labels)  # labels that nobody has learnt stand behind the others
        at = order[np.minimum(np.searchsorted(labels, answers, sorter=order), len(labels) - 1)]
        return np.where(labels[at] == answers, at, NO_VOTE)
    try:
        return as_classes(answers, labels)
    except TypeError:
        return "predict returned something that cannot be a label"


def _names_others(answers: Array, found: Ints) -> bool:
    """Whether any answer that is no vote is a label: None and NaN are no answer."""
    rest = answers[found == NO_VOTE].tolist()
    return any(answer is not None and answer == answer for answer in rest)


def probabilities_cast(
    answers: Sequence[Array | str], classes: int, names: Sequence[str], X: Any
) -> FirstVotes:
    """Everybody's probabilities of so many classes; a warning names who failed."""
    return _table(answers, names, X, lambda each: each, (classes,), np.nan)


def numbers_cast(
    answers: Sequence[Array | str], outputs: int | None, names: Sequence[str], X: Any
) -> FirstVotes:
    """Everybody's numbers, of ``outputs`` each or of the usual shape; a warning names who failed."""
    shapes = [each.shape[1:] for each in answers if not isinstance(each, str)]
    usual = max(set(shapes), key=shapes.count)  # of fitted models nobody has said
    if outputs is not None:
        usual = () if outputs == 1 else (outputs,)

    def read(each: Array) -> Array | str:
        if each.shape[1:] != usual:
            return f"predict returned the shape {each.shape}"
        if each.dtype.kind not in "biuf" or (np.abs(each) > LARGEST).any():  # NaN is no answer
            return "predict returned something that is not a finite number"
        return each

    votes = _table(answers, names, X, read, usual, np.nan)
    if len(votes.faults) == len(answers):
        raise ValueError(f"no participant can answer; the first, {names[0]!r}, says {votes.faults[0]}")
    return votes


def _table(
    answers: Sequence[Array | str],
    names: Sequence[str],
    X: Any,
    read: Callable[[Array], Array | str],
    shape: tuple[int, ...],
    gap: float,
) -> FirstVotes:
    """Answers as they are read, of this shape per input; a gap for those that failed, whom it warns of."""
    inputs = next(len(each) for each in answers if not isinstance(each, str))
    table = np.full((len(answers), inputs, *shape), gap)
    faults: dict[int, str] = {}
    for i, each in enumerate(answers):
        found = each if isinstance(each, str) else read(each)
        if isinstance(found, str):
            faults[i] = found
        else:
            table[i] = found
    warn_about([f"{names[i]} ({fault})" for i, fault in faults.items()], _FAILED)
    return FirstVotes(table, faults, X)
