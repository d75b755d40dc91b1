"""Gold: inputs whose right colours are told. They anchor the participants and are not decided."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Bools
from folkmoot.trust.anchor import Anchor
from folkmoot.votes import UNCOLOURED, Votes, check_votes


class Gold(NamedTuple):
    """What gold says of each participant, and which inputs are left to be decided.

    Parameters
    ----------
    anchors : list of Anchor
        One for each participant, from its votes on gold.
    left : ndarray of bool, shape (input,)
        The inputs that are not gold.
    inputs : int
        How many inputs are gold.
    votes : ndarray of int, shape (participant, gold input)
        Everybody's votes on gold, -1 for none.
    truth : ndarray of int, shape (gold input,)
        The right colours.

    See Also
    --------
    split_gold : Makes it of votes.

    Examples
    --------
    >>> from folkmoot.trust import split_gold
    >>> gold = split_gold([[0, 1, 1, 0], [0, 0, 1, 1]], [0, 1, -1, -1], classes=2)
    >>> gold.left, gold.inputs
    (array([False, False,  True,  True]), 2)
    """

    anchors: list[Anchor]
    left: Bools
    inputs: int
    votes: Votes
    truth: Votes


def split_gold(votes: npt.ArrayLike, gold: npt.ArrayLike, classes: int) -> Gold:
    """Anchor everybody by its votes on gold, and say which inputs are left to be decided.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Everybody's first votes: colours, -1 for none.
    gold : array-like of int, shape (input,)
        The right colours of the inputs that are gold, -1 for all others.
    classes : int
        The number of colours.

    Returns
    -------
    Gold
        The anchors, and the inputs that are not gold.

    Raises
    ------
    ValueError
        If every input is gold.

    Examples
    --------
    The first participant is right on both gold inputs, the second on one of them.

    >>> from folkmoot.trust import split_gold
    >>> gold = split_gold([[0, 1, 1, 0], [0, 0, 1, 1]], [0, 1, -1, -1], classes=2)
    >>> [(anchor.right, anchor.held_out) for anchor in gold.anchors]
    [(2, 2), (1, 2)]
    """
    cast = check_votes(votes, classes)
    told = np.asarray(gold)
    known = told != UNCOLOURED
    if known.all():
        raise ValueError("every input is gold: there is nothing left to decide")
    anchors = [Anchor.of_holdout(row[known], told[known], classes) for row in cast]
    return Gold(anchors, ~known, int(known.sum()), cast[:, known], told[known].astype(np.int64))
