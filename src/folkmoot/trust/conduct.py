"""How a participant that has listened conducts itself in the talk: one rule each, for simulation and network.

It opens with what it decides by its trust (``opening``), asks in proportion to its trust
(``sampling_weights``), counts only answers that are like what it holds (``is_heeded``), and in the end lets
the talk change one decision in a hundred, those it was least sure of (``held_after``). The last two guard
against liars whose first votes were honest: these have earned trust and can only be told by what they say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.trust.trusting import Trust, decide
from folkmoot.votes import UNCOLOURED

LEAST_LIKENESS: Final = 0.8  # of an answer to what is held, for it to count
MOST_CHANGED: Final = 0.01  # of its own decisions, by the talk: so much accuracy can lies in it cost


class Opinion(Protocol):
    """What a participant thinks of all: a ``Trust`` learnt by listening, or a ``PeerReview``.

    Attributes
    ----------
    own : int
        The participant whose opinion it is.
    anchored : bool
        Whether it decides by it.
    weight : ndarray of float, shape (participant,)
        What each one's vote counts for.
    why : str
        One sentence: on what the opinion rests, or why there is none.

    Examples
    --------
    >>> from folkmoot.trust import Anchor, listen
    >>> from folkmoot.trust.conduct import Opinion
    >>> opinion: Opinion = listen(0, [[0, 1] * 50] * 3, Anchor.of_counts(right=8, held_out=10))
    >>> opinion.own, opinion.anchored
    (0, True)
    """

    @property
    def own(self) -> int:
        """The participant whose opinion it is."""

    @property
    def anchored(self) -> bool:
        """Whether it decides by it."""

    @property
    def weight(self) -> Floats:
        """What each one's vote counts for."""

    @property
    def why(self) -> str:
        """On what it rests, or why there is none."""


def opening(votes: npt.ArrayLike, trust: Trust, *, per_class: bool = False) -> Ints:
    """Give what a participant takes into the talk: its decisions by trust, or nothing if it has no anchor.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Everybody's first votes, -1 for none.
    trust : Trust
        The participant's view of them.
    per_class : bool, default False
        Decide by confusion matrices, as ``decide`` does.

    Returns
    -------
    ndarray of int, shape (input,)
        The colours it opens with, -1 for none. A participant without any stays out of the talk and is not
        counted among those who decide.

    Examples
    --------
    >>> from folkmoot.datasets import homogeneous_votes
    >>> from folkmoot.trust import Anchor, listen, opening
    >>> votes = homogeneous_votes(5, p=0.8, inputs=500).votes
    >>> opening(votes, listen(0, votes, None))[:4]
    array([-1, -1, -1, -1])
    >>> opening(votes, listen(0, votes, Anchor.of_counts(right=8, held_out=10)))[:4]
    array([1, 0, 1, 0])
    """
    if trust.anchored:
        return decide(votes, trust, per_class=per_class)
    return np.full(np.shape(votes)[1], UNCOLOURED)


def sampling_weights(trusts: Sequence[Opinion], speaking: npt.ArrayLike | None = None) -> Floats:
    """Turn trusts into the odds by which participants ask each other: in proportion to positive trust.

    Parameters
    ----------
    trusts : sequence of Trust or of PeerReview
        The view of each participant that asks.
    speaking : array-like of bool, shape (participant,), optional
        Which participants have a colour to tell. The others, which declare themselves uncoloured, are not
        asked. Default: all have.

    Returns
    -------
    ndarray of float, shape (asker, peer)
        How likely each asks each, up to a factor; nobody asks itself. The row of a participant that trusts
        nobody is 0.

    Examples
    --------
    >>> from folkmoot.datasets import group_votes
    >>> from folkmoot.trust import Anchor, listen_all, sampling_weights
    >>> votes = group_votes([(3, 0.8), (1, 0.2)], inputs=500).votes
    >>> trusts = listen_all(votes, [Anchor.of_counts(right=8, held_out=10)] * 3 + [None])
    >>> (sampling_weights(trusts) > 0).astype(int)
    array([[0, 1, 1, 0],
           [1, 0, 1, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 0]])
    """
    matrix = np.maximum(np.stack([trust.weight for trust in trusts]), 0.0)
    matrix[np.arange(len(trusts)), [trust.own for trust in trusts]] = 0.0
    if speaking is not None:
        matrix[:, ~np.asarray(speaking, dtype=np.bool_)] = 0.0
    return matrix


def heeded(held: npt.ArrayLike, answers: npt.ArrayLike, *, least: float = LEAST_LIKENESS) -> Bools:
    """Tell whose answers in a talk are near enough to what a participant holds itself to be counted.

    First votes earn trust, and a liar can vote honestly and lie afterwards. But all participants that have an
    anchor hold nearly the same. So an answer to a whole batch that differs on more than 1 - ``least`` of it
    is not an honest one.

    Parameters
    ----------
    held : array-like of int, shape (input,)
        The colours that the participant holds, -1 for none.
    answers : array-like of int, shape (peer, input)
        What its peers answered. Inputs where either side is uncoloured do not count.
    least : float, default 0.8
        The share of the inputs on which an answer must be the same.

    Returns
    -------
    ndarray of bool, shape (peer,)
        Whether each peer's answers are counted.

    Examples
    --------
    >>> from folkmoot.trust import heeded
    >>> heeded([0, 1, 1, 0], [[0, 1, 1, -1], [1, 0, 0, 0]])
    array([ True, False])
    """
    mine, theirs = np.asarray(held), np.atleast_2d(np.asarray(answers))
    if mine.shape != theirs.shape[1:]:
        raise ValueError(f"answers must be on the same inputs {mine.shape}: got the shape {theirs.shape}")
    share = checks.probability("least", least)
    return np.array([is_heeded(mine, each, share) for each in theirs], dtype=np.bool_)


def is_heeded(held: Array, answer: Array, least: float) -> Any:
    """Whether one answer to a whole batch counts: the comparison of ``heeded``, which numba compiles as well.

    Of the inputs on which both hold a colour, a share of at least ``least`` must be alike.
    """
    told = np.count_nonzero((held != UNCOLOURED) & (answer != UNCOLOURED))
    same = np.count_nonzero((held != UNCOLOURED) & (held == answer))
    return same >= least * told


def held_after(
    opened: npt.ArrayLike, talked: npt.ArrayLike, sure: npt.ArrayLike, *, most: float = MOST_CHANGED
) -> Ints:
    """Give what a participant holds after a talk: what the talk says, but most of its decisions stay.

    Answers can be alike enough to count and still be lies where it matters. What a participant decided by
    itself is as good as its trust. So the talk may change a share of its decisions, those it was least sure
    of; the others stay. Whoever lies in the talk, and whatever they know, its accuracy cannot fall by more
    than that share.

    Parameters
    ----------
    opened : array-like of int, shape (input,)
        What it took into the talk, -1 for none.
    talked : array-like of int, shape (..., input)
        What the talk made of it.
    sure : array-like of float, shape (input,)
        How sure it was of what it opened with, such as ``margins``.
    most : float, default 0.01
        The share of its decisions, rounded down, that it lets the talk change: none of fewer than 100.

    Returns
    -------
    ndarray of int, shape (..., input)
        What it holds. Inputs on which it had decided nothing are as the talk left them, and where the talk
        came to nothing it has its own decision.

    Examples
    --------
    Of a hundred decisions the talk would change three. One may go: the one with the least margin.

    >>> import numpy as np
    >>> from folkmoot.trust import held_after
    >>> opened, talked, sure = np.zeros(100, dtype=int), np.zeros(100, dtype=int), np.ones(100)
    >>> talked[[10, 20, 30]], sure[20] = 1, 0.1
    >>> np.flatnonzero(held_after(opened, talked, sure))
    array([20])
    """
    first, last, lead = np.asarray(opened), np.asarray(talked), np.asarray(sure, dtype=np.float64)
    if first.shape != last.shape[-1:] or first.shape != lead.shape:
        raise ValueError(
            f"opened, talked and sure must be on the same inputs: got the shapes {first.shape}, {last.shape} "
            f"and {lead.shape}"
        )
    decided = first != UNCOLOURED
    allowed = math.floor(checks.probability("most", most) * int(decided.sum()) + 1e-9)
    changed = decided & (last != first) & (last != UNCOLOURED)
    order = np.argsort(lead, kind="stable")
    place = np.cumsum(changed[..., order], axis=-1)  # of each change, from the least sure on
    stays = np.zeros_like(changed)
    stays[..., order] = changed[..., order] & (place > allowed)
    return np.where(stays | (decided & (last == UNCOLOURED)), first, last)
