"""Gold tasks: inputs among those voted on whose right class is known, for every aggregation that learns."""

from __future__ import annotations

import numpy as np

from folkmoot.aggregation.interface import Known, Rows
from folkmoot.arrays import Ints
from folkmoot.trust.checked import PUBLIC
from folkmoot.votes import UNCOLOURED, Votes


def gold_known(votes: Votes, gold: Ints, classes: int | None = None) -> Known:
    """What gold tasks tell: the truth of these inputs, and public rows with the votes on them.

    Parameters
    ----------
    votes : ndarray of int, shape (participant, input)
        The votes, -1 for none.
    gold : ndarray of int, shape (input,)
        The right classes of gold tasks, -1 elsewhere.
    classes : int, optional
        The number of classes.

    Returns
    -------
    Known
        For ``aggregate``, ``deliberate`` and ``compare``.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.aggregation.gold import gold_known
    >>> known = gold_known(np.array([[0, 1, 1], [0, 0, 1]]), np.array([0, 1, -1]))
    >>> known.rows.truth, known.rows.votes[1] == known.rows.truth
    (array([0, 1]), array([ True, False]))
    """
    there = np.flatnonzero(gold != UNCOLOURED)
    rows = Rows(votes=votes[:, there], truth=gold[there], owner=np.full(len(there), PUBLIC))
    return Known(truth=gold, classes=classes, rows=rows)
