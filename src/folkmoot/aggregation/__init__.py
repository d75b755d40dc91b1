"""Aggregations, one per file with its source: from a table of votes to one answer per input."""

from __future__ import annotations

from typing import Final

from folkmoot.aggregation.aggregating import aggregate
from folkmoot.aggregation.auto import Auto
from folkmoot.aggregation.dawid_skene import DawidSkene
from folkmoot.aggregation.geometric_median import GeometricMedian
from folkmoot.aggregation.gold import gold_known
from folkmoot.aggregation.holdout_trust import HoldoutTrust
from folkmoot.aggregation.interface import Aggregation, Answers, FinalVotes, Known, OwnAggregation, Rows
from folkmoot.aggregation.krum import Krum
from folkmoot.aggregation.listen import Listen
from folkmoot.aggregation.mean import Mean
from folkmoot.aggregation.median import Median
from folkmoot.aggregation.naming import AGGREGATIONS, aggregation_called
from folkmoot.aggregation.own import watching
from folkmoot.aggregation.peer_review import PeerReview
from folkmoot.aggregation.plurality import Plurality
from folkmoot.aggregation.pool import Pool
from folkmoot.aggregation.rule import LARGEST, Rule, Trimming
from folkmoot.aggregation.trimmed_mean import TrimmedMean
from folkmoot.aggregation.weighted import Weighted

RULES: Final[dict[str, type[Rule]]] = {
    "trimmed-mean": TrimmedMean,
    "median": Median,
    "geometric-median": GeometricMedian,
    "krum": Krum,
    "mean": Mean,
}

__all__ = [
    "AGGREGATIONS",
    "LARGEST",
    "RULES",
    "Aggregation",
    "Answers",
    "Auto",
    "DawidSkene",
    "FinalVotes",
    "GeometricMedian",
    "HoldoutTrust",
    "Known",
    "Krum",
    "Listen",
    "Mean",
    "Median",
    "OwnAggregation",
    "PeerReview",
    "Plurality",
    "Pool",
    "Rows",
    "Rule",
    "TrimmedMean",
    "Trimming",
    "Weighted",
    "aggregate",
    "aggregation_called",
    "gold_known",
    "watching",
]
