"""Votes of participants whose accuracies are known, drawn independently (sections 4 and 5.2 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Floats, Ints
from folkmoot.votes import Votes, check_truth


class SyntheticVotes(NamedTuple):
    """Votes of participants whose accuracies are known; it unpacks as a tuple.

    Parameters
    ----------
    votes : ndarray of int, shape (participant, input)
        The class that each participant names.
    truth : ndarray of int, shape (input,)
        The right class of each input.
    accuracies : ndarray of float, shape (participant,)
        The probability with which each participant is right.

    Examples
    --------
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, accuracies = homogeneous_votes(3, p=0.8, inputs=5)
    >>> truth
    array([0, 0, 1, 0, 1])
    >>> votes
    array([[0, 1, 0, 0, 1],
           [0, 1, 0, 0, 0],
           [0, 0, 1, 1, 1]])
    """

    votes: Votes
    truth: Ints
    accuracies: Floats


def homogeneous_votes(
    n: int, p: float, inputs: int, seed: int = 0, *, classes: int = 2, truth: npt.ArrayLike | None = None
) -> SyntheticVotes:
    """Draw the votes of n participants that are each right with probability ``p``, independently of all else.

    A wrong vote falls on each wrong class with the same probability.

    Parameters
    ----------
    n : int
        The number of participants.
    p : float
        The probability with which each is right.
    inputs : int
        The number of inputs that they vote on.
    seed : int, default 0
        The same seed gives the same votes.
    classes : int, default 2
        The number of classes.
    truth : array-like of int, shape (input,), optional
        The right class of each input. Default: every class is right equally often (give or take one
        input), in random order.

    Returns
    -------
    SyntheticVotes
        ``votes``, ``truth`` and ``accuracies``.

    Examples
    --------
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(3, p=0.8, inputs=1000)
    >>> (votes == truth).mean(axis=1).round(2)
    array([0.79, 0.81, 0.8 ])
    """
    everyone = checks.integer("n", n, least=1)
    accuracies = np.full(everyone, checks.probability("p", p))
    return _cast(accuracies, inputs, checks.generator(seed), classes, truth)


def group_votes(
    groups: Sequence[tuple[int, float]],
    inputs: int,
    seed: int = 0,
    *,
    classes: int = 2,
    truth: npt.ArrayLike | None = None,
) -> SyntheticVotes:
    """Draw the votes of performance groups: participants of the same accuracy within each group.

    ``truth`` (input,): The right class of each input. Default: as in ``homogeneous_votes``.
    """
    if not groups:
        raise ValueError("groups must hold at least one pair (n, p): got none")
    parts = []
    for i, pair in enumerate(groups):
        try:
            n, p = pair
        except (TypeError, ValueError):
            raise TypeError(f"groups[{i}] must be a pair (n, p): got {pair!r}") from None
        size = checks.integer(f"groups[{i}][0]", n, least=1)
        parts.append(np.full(size, checks.probability(f"groups[{i}][1]", p)))
    return _cast(np.concatenate(parts), inputs, checks.generator(seed), classes, truth)


def _cast(
    accuracies: Floats,
    inputs: object,
    rng: np.random.Generator,
    classes: object,
    truth: npt.ArrayLike | None,
) -> SyntheticVotes:
    columns = checks.integer("inputs", inputs, least=1)
    classes = checks.integer("classes", classes, least=2)
    right = (
        rng.permutation(np.arange(columns, dtype=np.int64) % classes)
        if truth is None
        else check_truth(truth, columns, classes)
    )
    shape = (accuracies.size, columns)
    votes = np.broadcast_to(right, shape).copy()
    wrong = rng.random(shape) >= accuracies[:, None]
    # Any other class is the right one plus 1..C-1, modulo C.
    votes[wrong] += rng.integers(1, classes, size=int(wrong.sum()))
    votes %= classes
    return SyntheticVotes(votes, right, accuracies)
