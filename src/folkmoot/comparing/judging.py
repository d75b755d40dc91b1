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

    ``votes`` (participant, input): Classes, -1 for no vote. ``truth`` (input,): The right class of each
    input, -1 where it is not known.
    """
    if truth is not None:
        each = participant_accuracies(votes, truth)
    else:
        found = DawidSkene().aggregate(votes, Known(classes=classes)).skills
        each = np.full(len(votes), np.nan) if found is None else found
    return np.nan_to_num(each, nan=0.5)
