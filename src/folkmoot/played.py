"""How a deliberation was played: what an ``Outcome`` knows of its origin, and the way to play an input again.

Whoever plays deliberations fills it in. It holds functions and not arrays where the arrays are seldom wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from folkmoot.arrays import Floats, Ints
from folkmoot.votes import Votes

__all__ = ["PlainSlush", "Played"]

Schedule: TypeAlias = Literal["one", "lockstep"]
Batch: TypeAlias = Literal["independent", "shared"]
Again: TypeAlias = Callable[[int, Votes, int, int], Ints]


class PlainSlush(NamedTuple):
    """The talk about one input where ``theory.SlushChain`` is its exact law.

    Two colours, Slush with one alpha, equal voices, everybody asks everybody alike, one at a time, and liars
    that all name one colour, always.

    Parameters
    ----------
    n : int
        How many take part, with the liars.
    k : int
        How many are asked in a query.
    alpha : int
        How many of these must agree.
    liars : int
        How many of the n always name one colour.
    named : int
        Which colour that is.
    sampling : Others or Everyone
        Whether an asker may draw itself.
    rounds : int
        The most rounds that are played.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> outcome.played.plain(0)
    PlainSlush(n=4, k=2, alpha=2, liars=0, named=0, sampling=Others(), rounds=50)
    """

    n: int
    k: int
    alpha: int
    liars: int
    named: int
    sampling: Any
    rounds: int


@dataclass(frozen=True, eq=False)
class Played:
    """How a deliberation was played.

    Parameters
    ----------
    protocol : SnowProtocol or None
        By which rule; None if they agreed on numbers.
    schedule : {"one", "lockstep"}
        One participant at a time, or all at once.
    seed : int
        What seeds its randomness.
    adversaries : mapping of int to Adversary
        Who lies, and how.
    first : callable
        Gives the first votes (participant, input) as they were handed in, those of liars as they chose them.
    query : callable
        Gives k and alpha of each participant (participant,) on an input; 0 and 0 of one that asks nobody.
    again : callable or None
        Plays input i with other first votes (participant, variant), so many times, from a seed; gives the
        decisions (variant, time). Liars keep the votes that they have.
    recorded : callable or None
        Plays input i so many times with its record, as ``deliberate(..., record=True)`` would; gives that
        outcome, and the place of the input in it.
    weights : ndarray of float, shape (participant,), optional
        What each one's answer weighs, to the median asker; None if all weigh the same.
    plain : callable
        Gives the ``PlainSlush`` of an input, or None where its law is not of that kind.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2), seed=3)
    >>> outcome.played.seed, outcome.played.first().ravel()
    (3, array([0, 0, 0, 1]))
    >>> outcome.played.query(0)
    (array([2, 2, 2, 2]), array([2, 2, 2, 2]))
    """

    protocol: Any
    schedule: Schedule
    seed: int
    adversaries: Mapping[int, Any]
    first: Callable[[], Votes]
    query: Callable[[int], tuple[Ints, Ints]]
    again: Again | None
    recorded: Callable[[int, int], tuple[Any, int]] | None
    plain: Callable[[int], PlainSlush | None]
    weights: Floats | None = None


def check_batch(batch: Batch) -> Batch:
    """The kind of batch, or ValueError if it is none."""
    if batch not in get_args(Batch):
        raise ValueError(f"batch must be 'independent' or 'shared': got {batch!r}")
    return batch


def check_schedule(schedule: Schedule) -> Schedule:
    """The schedule, or ValueError if it is none."""
    if schedule not in get_args(Schedule):
        raise ValueError(f"schedule must be 'one' or 'lockstep': got {schedule!r}")
    return schedule
