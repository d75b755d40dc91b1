"""How a participant that has listened conducts itself in the talk: one rule each, for simulation and network.

It opens with what it decides by its trust (``opening``), asks in proportion to its trust
(``sampling_weights``), counts only answers that are like what it holds (``is_heeded``), and in the end keeps
its own decisions if the talk would have changed too many of them (``kept``). The last two guard against
liars whose first votes were honest: these have earned trust and can only be told by what they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.trust.trusting import Trust, decide
from folkmoot.votes import UNCOLOURED

LEAST_LIKENESS: Final = 0.8  # of an answer to what is held, for it to count
MOST_CHANGED: Final = 0.02  # of its own decisions, for a participant to go along with the talk


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


def sampling_weights(trusts: Sequence[Trust], speaking: npt.ArrayLike | None = None) -> Floats:
    """Turn trusts into the odds by which participants ask each other: in proportion to positive trust.

    Parameters
    ----------
    trusts : sequence of Trust
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


def kept(opened: npt.ArrayLike, talked: npt.ArrayLike, *, most: float = MOST_CHANGED) -> Bools:
    """Tell who keeps the decisions it opened with, because the talk changed too many of them.

    Answers can be alike enough to count and still be lies where it matters. What a participant decided by
    itself is as good as its trust, so a talk that changes more of it than a little is not believed.

    Parameters
    ----------
    opened : array-like of int, shape (participant, input)
        What each took into the talk, -1 for none.
    talked : array-like of int, shape (..., participant, input)
        What each holds after it.
    most : float, default 0.02
        The share of its decisions that a participant lets the talk change.

    Returns
    -------
    ndarray of bool, shape (..., participant)
        Who keeps all that it opened with.

    Examples
    --------
    One decision of a hundred is changed, then three; inputs that were open do not count.

    >>> import numpy as np
    >>> from folkmoot.trust import kept
    >>> opened = np.array([0] * 100 + [-1] * 20)
    >>> talked = np.tile(opened, (2, 1))
    >>> talked[:, 100:] = 1
    >>> talked[0, :1], talked[1, :3] = 1, 1
    >>> kept([opened, opened], talked)
    array([False,  True])
    """
    first, last = np.asarray(opened), np.asarray(talked)
    if first.shape != last.shape[-2:]:
        raise ValueError(f"talked must end in the shape of opened {first.shape}: got {last.shape}")
    decided = first != UNCOLOURED
    changed = (decided & (last != first)).sum(axis=-1)
    return np.asarray(changed > checks.probability("most", most) * decided.sum(axis=-1))
