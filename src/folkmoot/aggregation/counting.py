"""Final votes are counted: classes by plurality, numbers by their median."""

from __future__ import annotations

from folkmoot.aggregation.interface import Answers, Known
from folkmoot.aggregation.median import Median
from folkmoot.aggregation.plurality import Plurality
from folkmoot.arrays import Array


def count_final_votes(votes: Array, known: Known) -> Answers:
    """The plurality of classes, or the median of numbers."""
    return (Median() if votes.dtype.kind == "f" else Plurality()).aggregate(votes, known)
