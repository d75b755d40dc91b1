"""Accuracy of participants: by the truth, or else estimated by Dawid-Skene."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from folkmoot.aggregation import DawidSkene, Known
from folkmoot.arrays import Floats
from folkmoot.outcome import participant_accuracies
from folkmoot.votes import Votes


def judged_accuracies(votes: Votes, classes: int, truth: npt.ArrayLike | None = None) -> Floats:
    """Find everybody's accuracy by the truth, or else as Dawid-Skene estimates it.

    Parameters
    ----------
    votes : ndarray of int, shape (participant, input)
        Classes, -1 for no vote.
    classes : int
        The number of classes.
    truth : array-like of int, shape (input,), optional
        The right class of each input, -1 where it is not known.

    Returns
    -------
    ndarray of float, shape (participant,)
        The accuracies; 1/2 where nothing is known.

    Examples
    --------
    >>> from folkmoot.comparing.judging import judged_accuracies
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(5, p=0.8, inputs=500)
    >>> judged_accuracies(votes, classes=2, truth=truth).round(2)
    array([0.81, 0.81, 0.78, 0.83, 0.79])
    >>> judged_accuracies(votes, classes=2).round(1)  # from the votes alone
    array([0.8, 0.8, 0.8, 0.8, 0.8])
    """
    if truth is not None:
        each = participant_accuracies(votes, truth)
    else:
        found = DawidSkene().aggregate(votes, Known(classes=classes)).skills
        each = np.full(len(votes), np.nan) if found is None else found
    return np.nan_to_num(each, nan=0.5)
