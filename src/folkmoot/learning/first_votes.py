"""First votes: what the participants' models answer, as one table for an aggregation.

No answer is ``None``, NaN, a label that is none of the classes, or a model that fails. It is a gap in the
table: -1 among classes, NaN among probabilities and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from folkmoot.aggregation.rule import LARGEST
from folkmoot.arrays import Array, Bools, Ints
from folkmoot.learning.labels import as_classes
from folkmoot.learning.participants import Participant, tell
from folkmoot.learning.probabilities import chances_of
from folkmoot.votes import NO_VOTE

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
    inputs = next(len(each) for each in answers if not isinstance(each, str))
    votes = np.full((len(answers), inputs), NO_VOTE, dtype=np.int64)
    faults: dict[int, str] = {}
    strange = []
    for i, each in enumerate(answers):
        found = each if isinstance(each, str) else places(each, labels)
        if isinstance(found, str):
            faults[i] = found
            continue
        votes[i] = found
        if not isinstance(each, str) and (found == NO_VOTE).any() and _names_others(each, found):
            strange.append(names[i])
    _tell_faults(faults, names)
    tell(strange, _STRANGE)
    return FirstVotes(votes, faults, X)


def places(answers: Array, labels: Array) -> Ints | str:
    """The place of each answer in the ordered labels, -1 for what is none of them; or what went wrong."""
    if answers.ndim != 1:
        return f"predict returned the shape {answers.shape}"
    numbers = "biuf"
    if (answers.dtype.kind in numbers) == (labels.dtype.kind in numbers) and "O" not in (
        answers.dtype.kind,
        labels.dtype.kind,
    ):
        at = np.minimum(np.searchsorted(labels, answers), len(labels) - 1)
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
    answers: Sequence[Array | str], labels: Array, names: Sequence[str], X: Any
) -> FirstVotes:
    """Everybody's probabilities of ``labels``; a warning names who failed."""
    inputs = next(len(each) for each in answers if not isinstance(each, str))
    table = np.full((len(answers), inputs, len(labels)), np.nan)
    faults: dict[int, str] = {}
    for i, each in enumerate(answers):
        if isinstance(each, str):
            faults[i] = each
        else:
            table[i, :, : each.shape[1]] = each
            table[i, :, each.shape[1] :] = 0.0  # labels that nobody knows
    _tell_faults(faults, names)
    return FirstVotes(table, faults, X)


def numbers_cast(
    answers: Sequence[Array | str], outputs: int | None, names: Sequence[str], X: Any
) -> FirstVotes:
    """Everybody's numbers, of ``outputs`` each or of the usual shape; a warning names who failed."""
    shapes = [each.shape[1:] for each in answers if not isinstance(each, str)]
    usual = max(set(shapes), key=shapes.count)  # of fitted models nobody has said
    if outputs is not None:
        usual = () if outputs == 1 else (outputs,)
    inputs = next(len(each) for each in answers if not isinstance(each, str))
    table = np.full((len(answers), inputs, *usual), np.nan)
    faults: dict[int, str] = {}
    for i, each in enumerate(answers):
        if isinstance(each, str):
            faults[i] = each
        elif each.shape[1:] != usual:
            faults[i] = f"predict returned the shape {each.shape}"
        elif each.dtype.kind not in "biuf" or (np.abs(each) > LARGEST).any():  # NaN is no answer
            faults[i] = "predict returned something that is not a finite number"
        else:
            table[i] = each
    _tell_faults(faults, names)
    if len(faults) == len(answers):
        raise ValueError(f"no participant can answer; the first, {names[0]!r}, says {faults[0]}")
    return FirstVotes(table, faults, X)


def _tell_faults(faults: dict[int, str], names: Sequence[str]) -> None:
    tell([f"{names[i]} ({fault})" for i, fault in faults.items()], _FAILED)


def say_chances(participant: Participant, X: Any, classes: Array) -> Array | str:
    """Class probabilities of a participant."""
    return chances_of(participant, X, classes)
