"""What agreed labels rest on, for a participant that asks before it takes a model fitted to them."""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.votes import UNCOLOURED


def promised(chances: Floats, old: Ints, labels: Ints | None = None) -> Floats:
    """Tell how much more of a pool labels are expected to get right than models' own answers.

    Parameters
    ----------
    chances : ndarray of float, shape (participant, input, class)
        How likely each finds the classes.
    old : ndarray of int, shape (participant, input)
        What its model answers; -1 for nothing.
    labels : ndarray of int, shape (participant, input), optional
        Its labels. Default: the likeliest class of each input.

    Returns
    -------
    ndarray of float, shape (participant,)
        The mean chance of the labels less that of the model's answers.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust.footing import promised
    >>> promised(np.array([[[0.75, 0.25], [0.5, 0.5]]]), np.array([[1, -1]]))
    array([0.5])
    """
    before = np.take_along_axis(chances, old[..., None], axis=2)[..., 0]
    right = chances.max(axis=2)
    if labels is not None:
        right = np.take_along_axis(chances, labels[..., None], axis=2)[..., 0]
    return np.asarray(right.mean(axis=1) - np.where(old == UNCOLOURED, 0.0, before).mean(axis=1))


def announced_too(said: Array, labels: Ints, weights: Floats, own: int) -> float:
    """Tell which share of one's labels the others say as well.

    Parameters
    ----------
    said : ndarray of int, shape (participant, input)
        What everybody says; -1 for nothing.
    labels : ndarray of int, shape (input,)
        One's own labels.
    weights : ndarray of float, shape (participant,)
        What each one's word counts for.
    own : int
        Who one is: one's own word does not count.

    Returns
    -------
    float
        The mean share over the others, by their weights; 0 if nobody's word counts.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust.footing import announced_too
    >>> said = np.array([[0, 1], [0, 1], [0, 0]])
    >>> announced_too(said, np.array([0, 1]), np.array([5.0, 3.0, 1.0]), 0)
    0.875
    """
    same = (said == labels).mean(axis=1)
    others = np.where(np.arange(len(weights)) == own, 0.0, weights)
    return float((same * others).sum() / max(float(others.sum()), 1e-300))
