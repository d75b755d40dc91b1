"""One participant, one vote: plurality and supermajority (definition "delta-supermajority rule")."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.outcome import Answer, most
from folkmoot.votes import UNCOLOURED, Votes, check_votes, class_count


def majority(votes: npt.ArrayLike, classes: int | None = None) -> Ints:
    """Take the colour that most participants voted for on each input.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Colours, -1 for no vote.
    classes : int, optional
        The number of colours. Default: one more than the largest vote, and at least 2.

    Returns
    -------
    ndarray of int, shape (input,)
        The colours; -1 on a tie or where nobody voted.

    Examples
    --------
    >>> from folkmoot.baselines import majority
    >>> majority([[0, 1, 1, 0], [0, 1, 0, 1], [1, 1, -1, -1]])
    array([ 0,  1, -1, -1])
    """
    return majority_answer(votes, classes).decision


def majority_answer(votes: npt.ArrayLike, classes: int | None = None) -> Answer:
    """The same with its ties."""
    cast = check_votes(votes, classes)
    counts = tally(cast, class_count(cast, classes))
    return most(counts, counts.sum(axis=1) > 0)


def supermajority(
    votes: npt.ArrayLike, classes: int | None = None, *, delta: int = 1, q: float | None = None
) -> Ints:
    """Take the colour that enough of all n participants voted for, abstaining or not.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Colours, -1 for no vote.
    classes : int, optional
        The number of colours. Default: one more than the largest vote, and at least 2.
    delta : int, default 1
        Enough is delta more than a bare majority, n // 2 + 1 + delta; for odd n this is the paper's
        ceil(n/2) + delta.
    q : float, optional
        Instead of delta: enough is ceil(q n).

    Returns
    -------
    ndarray of int, shape (input,)
        The colours; -1 where none has enough votes.

    Raises
    ------
    ValueError
        If both delta and q are given, or more votes would be needed than there are participants.

    Examples
    --------
    >>> from folkmoot.baselines import majority, supermajority
    >>> votes = [[0, 1, 1], [0, 1, 0], [0, 1, 1], [1, 1, 0], [0, 1, 0]]
    >>> majority(votes)
    array([0, 1, 0])
    >>> supermajority(votes)  # 4 of the 5 must agree
    array([ 0,  1, -1])
    >>> supermajority(votes, q=1)
    array([-1,  1, -1])
    """
    cast = check_votes(votes, classes)
    counts = tally(cast, class_count(cast, classes))
    # Always more than half of n, so that at most one colour has enough.
    enough = counts.max(axis=1) >= _needed(len(cast), delta, q)
    return np.where(enough, counts.argmax(axis=1), UNCOLOURED)


def vote_shares(votes: npt.ArrayLike, classes: int | None = None) -> Floats:
    """Estimate how likely each colour is on each input by those who voted for it: (count + 1/C) / (m + 1).

    m is the number of votes on the input. One vote, spread over all C colours, is added: the posterior mean
    under a Dirichlet prior that counts as much as one voter. No colour is ruled out.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Colours, -1 for no vote.
    classes : int, optional
        The number of colours, C. Default: one more than the largest vote, and at least 2.

    Returns
    -------
    ndarray of float, shape (input, colour)
        The shares; every row adds up to 1, and is 1/C all over where nobody voted.

    Examples
    --------
    >>> from folkmoot.baselines import vote_shares
    >>> vote_shares([[0, 1, -1], [0, 1, -1], [0, 0, -1]])
    array([[0.875, 0.125],
           [0.375, 0.625],
           [0.5  , 0.5  ]])
    """
    cast = check_votes(votes, classes)
    counts = tally(cast, class_count(cast, classes))
    smooth = counts + 1 / counts.shape[1]
    return np.asarray(smooth / (counts.sum(axis=1, keepdims=True) + 1), dtype=np.float64)


def tally(votes: Votes, classes: int, weights: Floats | None = None) -> Array:
    """How many votes, or how much weight, each colour has on each input: shape (input, colour)."""
    inputs = votes.shape[1]
    participant, place = np.nonzero(votes != UNCOLOURED)
    cells = place * classes + votes[participant, place]
    each = None if weights is None else weights[participant]
    return np.bincount(cells, weights=each, minlength=inputs * classes).reshape(inputs, classes)


def _needed(n: int, delta: int, q: float | None) -> int:
    if q is not None:
        if delta != 1:  # 1 is the default, so the caller gave both
            raise checks.ArgumentError("give delta or q, not both: got {delta=}, {q=}", delta=delta, q=q)
        return checks.required_votes(n, q=q)
    return checks.required_votes(n, delta)
