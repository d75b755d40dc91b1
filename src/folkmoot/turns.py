"""What happened on one input of a run: who asked whom, each answer, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Bools, Colours, Floats, Ints

__all__ = ["Change", "Turn", "Turns"]


class Change(NamedTuple):
    """One line of ``Turns.changes``: who changed its class, when, and after which answers.

    Parameters
    ----------
    round : int
        The round in which it happened; the first is 1.
    participant : int
        The participant that changed its colour.
    before : int
        The colour it held; -1 for none.
    after : int
        The colour it holds from then on.
    tally : tuple of float
        How many of the peers it asked answered each colour; with weights, the sum of theirs.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> outcome.turns(0).changes
    [Change(round=1, participant=3, before=1, after=0, tally=(2.0, 0.0))]
    """

    round: int
    participant: int
    before: int
    after: int
    tally: tuple[float, ...]


class Turn(NamedTuple):
    """One turn of ``Outcome.turns``: a participant asks, hears the answers, and may change its colour.

    Parameters
    ----------
    round : int
        The round; the first is 1.
    participant : int
        The participant that asks.
    asked : tuple of int
        The peers it asks, in the order in which they were drawn.
    answers : tuple of int
        The colour that each of them names; -1 for none.
    counted : tuple of bool
        Whether the asker counts each answer. In a talk by trust, answers to the whole batch that are too
        unlike what the asker holds do not count.
    tally : tuple of float
        How many of the counted answers name each colour; with weights, the sum of theirs, rescaled to
        ``len(asked)``.
    alpha : int
        What a tally must reach.
    won : int
        The colour whose tally reached alpha; -1 if none did.
    before : int
        The colour that the asker held; -1 for none.
    after : int
        The colour that it holds from then on; with ``schedule="lockstep"``, once the round is over.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> turn = outcome.turns(0)[-1]
    >>> turn.participant, turn.asked, turn.answers, turn.won, turn.before, turn.after
    (3, (0, 1), (0, 0), 0, 1, 0)
    """

    round: int
    participant: int
    asked: tuple[int, ...]
    answers: tuple[int, ...]
    counted: tuple[bool, ...]
    tally: tuple[float, ...]
    alpha: int
    won: int
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class Turns(Sequence[Turn]):
    """The turns of one input in the order in which they were taken: a sequence of ``Turn``, kept as arrays.

    A participant that has decided, or that can ask nobody, takes no turns.

    Parameters
    ----------
    round : ndarray of int, shape (turn,)
        The round; the first is 1.
    participant : ndarray of int, shape (turn,)
        Who asks.
    size : ndarray of int, shape (turn,)
        How many it asks: k, or fewer where it can ask fewer.
    alpha : ndarray of int, shape (turn,)
        What a tally must reach.
    asked : ndarray of int, shape (turn, most)
        Whom it asks; only the first ``size`` entries of a row mean something.
    answers : ndarray of int, shape (turn, most)
        What these answer, -1 for none.
    counted : ndarray of bool, shape (turn, most)
        Which of these answers count.
    tally : ndarray of float, shape (turn, colour)
        How many counted answers name each colour, or what they weigh, rescaled to ``size``.
    won : ndarray of int, shape (turn,)
        The colour that won the query, -1 for none.
    before : ndarray of int, shape (turn,)
        The colour that the asker held.
    after : ndarray of int, shape (turn,)
        The colour that it holds from then on.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> turns = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2)).turns(0)
    >>> len(turns), turns.participant, turns.after
    (1, array([3]), array([0]))
    >>> [change.participant for change in turns.changes]
    [3]
    """

    round: Ints
    participant: Ints
    size: Ints
    alpha: Ints
    asked: Ints
    answers: Colours
    counted: Bools
    tally: Floats
    won: Ints
    before: Ints
    after: Ints

    @classmethod
    def none(cls, classes: int) -> Turns:
        """No turns: nobody could ask anybody."""
        each, pairs = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int64)
        return cls(
            each, each, each, each, pairs, pairs.astype(np.int8), pairs.astype(np.bool_),
            np.empty((0, classes)), each, each, each,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.round)

    @overload
    def __getitem__(self, index: int) -> Turn: ...

    @overload
    def __getitem__(self, index: slice) -> list[Turn]: ...

    def __getitem__(self, index: int | slice) -> Turn | list[Turn]:
        if isinstance(index, slice):
            return [self._turn(each) for each in range(*index.indices(len(self)))]
        return self._turn(range(len(self))[index])

    def _turn(self, row: int) -> Turn:
        size = int(self.size[row])
        return Turn(
            round=int(self.round[row]),
            participant=int(self.participant[row]),
            asked=tuple(self.asked[row, :size].tolist()),
            answers=tuple(self.answers[row, :size].tolist()),
            counted=tuple(self.counted[row, :size].tolist()),
            tally=tuple(self.tally[row].tolist()),
            alpha=int(self.alpha[row]),
            won=int(self.won[row]),
            before=int(self.before[row]),
            after=int(self.after[row]),
        )

    @property
    def changes(self) -> list[Change]:
        """The turns in which somebody changed its class."""
        return [
            Change(turn.round, turn.participant, turn.before, turn.after, turn.tally)
            for turn in map(self._turn, np.flatnonzero(self.before != self.after).tolist())
        ]

    def renumbered(self, numbers: npt.ArrayLike) -> Turns:
        """Call participant i ``numbers[i]``.

        Parameters
        ----------
        numbers : array-like of int, shape (participant,)
            The new number of each.

        Returns
        -------
        Turns
            The same turns.
        """
        new = np.asarray(numbers, dtype=np.int64)
        return replace(self, participant=new[self.participant], asked=new[self.asked])
