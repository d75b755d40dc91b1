"""First votes made together: cliques that answer the same, and traitors that are honest most of the time.

An ``Adversary`` is shown one observation a query and not which input it is asked about, so it cannot keep
to a story. A story is a row of first votes; ``Steadfast`` then tells it in the talk. Both stories here are
functions of a seed, so that all who share it tell the same.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Ints
from folkmoot.votes import UNCOLOURED, check_truth


def colluding_votes(inputs: int, classes: int, *, seed: int) -> Ints:
    """One colour for each input, drawn uniformly: unrelated to the truth, the same for all with the seed.

    Parameters
    ----------
    inputs : int
        How many inputs there are.
    classes : int
        The number of colours.
    seed : int
        Everybody that gives the same seed tells the same story.

    Returns
    -------
    ndarray of int, shape (input,)
        The first votes of each member of the clique.

    Examples
    --------
    >>> from folkmoot.adversaries import colluding_votes
    >>> colluding_votes(inputs=6, classes=3, seed=1)
    array([1, 1, 2, 2, 0, 0])
    >>> colluding_votes(inputs=6, classes=3, seed=1)
    array([1, 1, 2, 2, 0, 0])
    """
    columns = checks.integer("inputs", inputs, least=1)
    return _stream(seed).integers(0, checks.integer("classes", classes, least=2), columns)


def stealthy_votes(
    votes: npt.ArrayLike, truth: npt.ArrayLike, classes: int, *, share: float = 0.1, seed: int
) -> Ints:
    """Votes of traitors: their own, but wrong together on a ``share`` of the inputs.

    The inputs are drawn by the seed; on them all name the same wrong colour, as ``PerfectlyMalicious`` does.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input) or (input,)
        What the models of the traitors answer: colours, -1 for none.
    truth : array-like of int, shape (input,)
        The right colours.
    classes : int
        The number of colours.
    share : float, default 0.1
        The chance that an input is one of those they are wrong on.
    seed : int
        Draws these inputs; the same seed gives the same inputs.

    Returns
    -------
    ndarray of int, of the shape of ``votes``
        The first votes of the traitors.

    Examples
    --------
    >>> from folkmoot.adversaries import stealthy_votes
    >>> stealthy_votes([[1] * 10, [1] * 10], truth=[1] * 10, classes=2, share=0.2, seed=0)
    array([[1, 1, 0, 0, 1, 1, 1, 1, 1, 1],
           [1, 1, 0, 0, 1, 1, 1, 1, 1, 1]])
    """
    own = np.asarray(votes, dtype=np.int64)
    right = check_truth(truth, own.shape[-1], checks.integer("classes", classes, least=2))
    if own.min(initial=0) < UNCOLOURED or own.max(initial=0) >= classes:
        raise ValueError(f"votes must satisfy -1 <= colour < {classes}: got {own.min()} to {own.max()}")
    struck = _stream(seed).random(right.size) < checks.probability("share", share)
    return np.where(struck, (right + 1) % classes, own)


def _stream(seed: int) -> np.random.Generator:
    return np.random.default_rng(checks.integer("seed", seed, least=0))
