"""Rules of aggregation, one a file with its source: from the numbers a node holds to its next number."""

from __future__ import annotations

from typing import Final

from folkmoot.aggregation.geometric_median import GeometricMedian
from folkmoot.aggregation.krum import Krum
from folkmoot.aggregation.mean import Mean
from folkmoot.aggregation.median import Median
from folkmoot.aggregation.rule import LARGEST, Rule, Trimming
from folkmoot.aggregation.trimmed_mean import TrimmedMean

RULES: Final[dict[str, type[Rule]]] = {
    "trimmed-mean": TrimmedMean,
    "median": Median,
    "geometric-median": GeometricMedian,
    "krum": Krum,
    "mean": Mean,
}

__all__ = [
    "LARGEST",
    "RULES",
    "GeometricMedian",
    "Krum",
    "Mean",
    "Median",
    "Rule",
    "TrimmedMean",
    "Trimming",
]
