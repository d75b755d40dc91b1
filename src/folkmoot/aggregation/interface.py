"""What an aggregation is: one pure function from a table of votes, and what is known besides, to answers.

A table holds what every participant said of every input: classes (integers, -1 where there is no vote), or
probabilities or numbers (NaN where there is none). *Public* aggregations use the table alone, or what all
know, so they give everybody the same answers. None of them knows a protocol.

Classes are counted per input: an input has at most as many different answers as participants. So memory
follows the votes that were cast, never the number of labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.votes import UNCOLOURED

Kind: TypeAlias = Literal["labels", "probabilities", "numbers"]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known besides the votes.

    ``aggregate`` makes it of its arguments.

    Parameters
    ----------
    truth : ndarray of int, shape (input,), optional
        The right class of each input, -1 where it is not known.
    classes : int, optional
        How many classes there are. Default: one more than the largest that somebody voted for.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.aggregation import DawidSkene, Known
    >>> votes = np.array([[0, 1, 0], [1, 1, 1], [1, 0, 1]])
    >>> DawidSkene().aggregate(votes, Known(truth=np.array([1, 1, -1]))).decision
    array([1, 1, 1])
    """

    truth: Ints | None = None
    classes: int | None = None


NOTHING = Known()


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers to the inputs of a table.

    Parameters
    ----------
    decision : ndarray, shape (input,), or (input, d) for numbers of several dimensions
        The class of each input, -1 where it is undecided; or the number, NaN where nobody gave one.
    choices : ndarray of int, shape (input, choice), optional
        The classes among which an input was decided, -1 beyond the last of them. None for numbers.
    shares : ndarray of float, shape (input, choice), optional
        How much of the vote each choice has. They add up to 1 where anybody voted, and are 0 elsewhere. A
        weighted aggregation weighs the votes; Dawid-Skene and a pool give probabilities.
    tied : ndarray of bool, shape (input, choice), optional
        The choices that are tied for the first place, where there are several; none elsewhere.
    skills : ndarray of float, shape (participant,), optional
        The accuracy of each participant, where the aggregation estimates it; NaN for one without votes.

    Examples
    --------
    >>> from folkmoot import aggregate
    >>> answers = aggregate([[0, 1, 4], [0, 4, 4], [4, 1, 0]])
    >>> answers.decision
    array([0, 1, 4])
    >>> answers.choices
    array([[0, 4],
           [1, 4],
           [0, 4]])
    """

    decision: Array
    choices: Ints | None = None
    shares: Floats | None = None
    tied: Bools | None = None
    skills: Floats | None = None

    def probabilities(self, classes: int) -> Floats:
        """(input, class): the shares as one column per class."""
        if self.choices is None or self.shares is None:
            raise ValueError("numbers have no classes: these answers hold no probabilities")
        return spread(self.choices, self.shares, classes)

    def level(self, classes: int) -> Bools:
        """(input, class): the classes that are tied for the first place, where there are several."""
        if self.choices is None or self.tied is None:
            raise ValueError("numbers have no ties: these answers hold none")
        return spread(self.choices, self.tied.astype(np.float64), classes) > 0


class Aggregation(ABC):
    """What turns a table of votes into answers.

    A subclass says in ``takes`` which kinds of tables it takes.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.aggregation import Aggregation, Answers
    >>> class First(Aggregation):
    ...     def aggregate(self, table, known=None):
    ...         return Answers(decision=table[0])
    >>> First().aggregate(np.array([[0, 1], [1, 1]])).decision
    array([0, 1])
    """

    takes: ClassVar[tuple[Kind, ...]] = ("labels",)

    @abstractmethod
    def aggregate(self, table: Array, known: Known = NOTHING) -> Answers:
        """The answers to a checked table."""


def spread(choices: Ints, values: Floats, classes: int) -> Floats:
    """(input, choice) values of classes as (input, class)."""
    result = np.zeros((len(choices), classes))
    row, place = np.nonzero(choices != UNCOLOURED)
    result[row, choices[row, place]] = values[row, place]
    return result


def ballots(votes: Ints) -> tuple[Ints, Ints]:
    """Number the different answers to each input, in ascending order.

    Returns (input, choice): the classes that somebody voted for, -1 beyond the last. And
    (participant, input): the place of each vote among them, -1 for no vote.
    """
    participants, inputs = votes.shape
    order = np.argsort(votes, axis=0, kind="stable")
    ranked = np.take_along_axis(votes, order, axis=0)
    new = np.ones_like(ranked, dtype=np.bool_)
    new[1:] = ranked[1:] != ranked[:-1]
    new &= ranked != UNCOLOURED
    rank = np.cumsum(new, axis=0) - 1  # -1 as long as there are only missing votes
    places = np.empty_like(votes)
    np.put_along_axis(places, order, rank, axis=0)
    width = max(1, int(rank[-1].max(initial=0)) + 1) if participants else 1
    choices = np.full((inputs, width), UNCOLOURED, dtype=np.int64)
    at, column = np.nonzero(new)
    choices[column, rank[at, column]] = ranked[at, column]
    return choices, places


def counted(places: Ints, width: int, weights: Floats | None = None) -> Floats:
    """(input, choice): how many votes each choice has, or how much of (participant, input) weights."""
    inputs = places.shape[1]
    participant, column = np.nonzero(places != UNCOLOURED)
    cells = column * width + places[participant, column]
    each = None if weights is None else weights[participant, column]
    sums = np.bincount(cells, weights=each, minlength=inputs * width)
    return sums.astype(np.float64, copy=False).reshape(inputs, width)


def decided(
    choices: Ints,
    scores: Array,
    shares: Floats,
    possible: Bools,
    within: float = 0,
    skills: Floats | None = None,
) -> Answers:
    """The choice with the largest score; a tie, of scores ``within`` of the largest, is undecided."""
    here = (choices != UNCOLOURED) & possible[:, None]
    raised = np.where(here, scores, -np.inf)
    best = here & (raised >= raised.max(axis=1, keepdims=True) - within)
    many = best.sum(axis=1)
    first = np.take_along_axis(choices, best.argmax(axis=1)[:, None], axis=1)[:, 0]
    return Answers(
        decision=np.where(many == 1, first, UNCOLOURED),
        choices=choices,
        shares=np.where(choices != UNCOLOURED, shares, 0.0),
        tied=best & (many > 1)[:, None],
        skills=skills,
    )
