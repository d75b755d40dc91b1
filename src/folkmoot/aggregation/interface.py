"""Aggregations: pure functions from a table of votes, and other knowledge, to answers.

A table holds the answers of participants to inputs: classes (integers, -1 where there is no vote), or
probabilities or numbers (NaN where there is none). *Public* aggregations use the table alone, or what all
know, so they give everybody the same answers. None of them knows a protocol.

Classes are counted per input: an input has at most as many different answers as participants. So memory
follows the votes that were cast, never the number of labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from folkmoot.arrays import Array, Bools, Floats, Ints, Progress
from folkmoot.outcome import most
from folkmoot.votes import NO_VOTE

Kind: TypeAlias = Literal["labels", "probabilities", "numbers"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows whose truth is known to somebody, and what everybody said of them.

    With peer review all see all of them; otherwise each participant knows only those it owns, and only its
    own votes on them.

    Parameters
    ----------
    votes : ndarray, shape (participant, row), or (participant, row, class) for probabilities
        Each participant's answer to each row, as in a table of votes. A participant's votes on rows that it
        owns are those of a model that has not seen them.
    truth : ndarray, shape (row,)
        The right class or number, as the owner says.
    owner : ndarray of int, shape (row,)
        The owner of each row; -1 for a public row, whose truth all believe.
    inputs : array-like or frame, shape (row, feature), optional
        The rows themselves, where they are shown.
    kept : float, default 1
        How likely a label is told as it is: less than 1 with local differential privacy.

    Examples
    --------
    Participant 0 owns two rows, and participant 1 is wrong on the second of them.

    >>> import numpy as np
    >>> from folkmoot.aggregation import Rows
    >>> rows = Rows(votes=np.array([[0, 1], [0, 0]]), truth=np.array([0, 1]), owner=np.array([0, 0]))
    >>> rows.votes[1] == rows.truth
    array([ True, False])
    """

    votes: Array
    truth: Array
    owner: Ints
    inputs: Any = None
    kept: float = 1.0


@dataclass(frozen=True, eq=False)
class Known:
    """Knowledge besides the votes.

    ``aggregate`` makes it of its arguments, and an estimator of what its participants hold.

    Parameters
    ----------
    truth : ndarray of int, shape (input,), optional
        The right class of each input, -1 where it is not known.
    classes : int, optional
        How many classes there are. Default: one more than the largest that somebody voted for.
    rows : Rows, optional
        Rows that participants hold back or show. Own aggregations learn from these.
    inputs : array-like or frame, shape (input, feature), optional
        The inputs of the table.
    judges : ndarray of int, shape (judge,), optional
        The participants whose final votes are wanted. Default: all.
    seed : int, default 0
        Seeds what an aggregation draws.
    progress : callable, optional
        Called with (done, all) as judges come to their final votes.

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
    rows: Rows | None = None
    inputs: Any = None
    judges: Ints | None = None
    seed: int = 0
    progress: Progress | None = None


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

    def tied_classes(self, classes: int) -> Bools:
        """(input, class): the classes that are tied for the first place, where there are several."""
        if self.choices is None or self.tied is None:
            raise ValueError("numbers have no ties: these answers hold none")
        return spread(self.choices, self.tied.astype(np.float64), classes) > 0


def smoothed(shares: Floats, voters: Array) -> Floats:
    """(input, class): shares with one vote more, spread over all C classes; 1/C all over without voters.

    The posterior mean under a Dirichlet prior that counts as much as one voter: no class is ruled out.
    """
    many = voters[:, None]
    return np.asarray((shares * many + 1 / shares.shape[1]) / (many + 1))


class Aggregation(ABC):
    """A rule that turns a table of votes into answers.

    A subclass says in ``takes`` which kinds of tables it takes.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.aggregation.interface import Aggregation, Answers
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


@dataclass(frozen=True, eq=False)
class FinalVotes:
    """Each participant's vote in the end, by its own aggregation.

    Parameters
    ----------
    votes : ndarray, shape (participant, input)
        The final vote of each: classes, -1 for none, or numbers, NaN for none. A participant that is no judge
        has none.
    probabilities : ndarray of float, shape (participant, input, class), optional
        How likely each finds each class.
    weights : ndarray of float, shape (participant, participant), optional
        The weight of each first vote for each participant (one row per judge).
    fell_back : mapping of int to str
        The participants that could not tell whom to believe, and so took the plurality, and why.
    told : str, default ""
        One line on how the aggregation was chosen, where it was.
    alone : tuple of int, default ()
        The participants whose own model is better on their own inputs, where that was asked.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.aggregation.interface import FinalVotes
    >>> FinalVotes(np.array([[0, 1], [0, 0]]), fell_back={1: "it holds no rows back"}).fell_back
    {1: 'it holds no rows back'}
    """

    votes: Array
    probabilities: Floats | None = None
    weights: Floats | None = None
    fell_back: Mapping[int, str] = field(default_factory=dict)
    told: str = ""
    alone: tuple[int, ...] = ()


class OwnAggregation(Aggregation):
    """An aggregation by which each participant comes to final votes of its own.

    Final votes are counted by plurality, or numbers by their median: that is the decision.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.aggregation import Known
    >>> from folkmoot.aggregation.interface import FinalVotes, OwnAggregation
    >>> class Stubborn(OwnAggregation):
    ...     def final_votes(self, table, known):
    ...         return FinalVotes(table)
    >>> Stubborn().aggregate(np.array([[0, 1], [0, 1], [1, 1]]), Known()).decision
    array([0, 1])
    """

    learns: ClassVar[bool] = True  # from rows whose truth is known

    @abstractmethod
    def final_votes(self, table: Array, known: Known) -> FinalVotes:
        """Tell what each judge holds in the end."""

    def aggregate(self, table: Array, known: Known = NOTHING) -> Answers:
        """Count the final votes."""
        from folkmoot.aggregation.counting import count_final_votes

        return count_final_votes(self.final_votes(table, known).votes, known)


def spread(choices: Ints, values: Floats, classes: int) -> Floats:
    """(input, choice) values of classes as (input, class)."""
    result = np.zeros((len(choices), classes))
    row, place = np.nonzero(choices != NO_VOTE)
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
    new &= ranked != NO_VOTE
    rank = np.cumsum(new, axis=0) - 1  # -1 as long as there are only missing votes
    places = np.empty_like(votes)
    np.put_along_axis(places, order, rank, axis=0)
    width = max(1, int(rank[-1].max(initial=0)) + 1) if participants else 1
    choices = np.full((inputs, width), NO_VOTE, dtype=np.int64)
    at, column = np.nonzero(new)
    choices[column, rank[at, column]] = ranked[at, column]
    return choices, places


def counted(places: Ints, width: int, weights: Floats | None = None) -> Floats:
    """(input, choice): how many votes each choice has, or how much of (participant, input) weights."""
    inputs = places.shape[1]
    participant, column = np.nonzero(places != NO_VOTE)
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
    here = (choices != NO_VOTE) & possible[:, None]
    place, tied = most(np.where(here, scores, -np.inf), here.any(axis=1), within)
    named = np.take_along_axis(choices, np.maximum(place, 0)[:, None], axis=1)[:, 0]
    return Answers(
        decision=np.where(place == NO_VOTE, NO_VOTE, named),
        choices=choices,
        shares=np.where(choices != NO_VOTE, shares, 0.0),
        tied=tied,
        skills=skills,
    )
