"""Aggregations, one per file with its source: from a table of votes to one answer per input."""

from folkmoot.aggregation.auto import Auto
from folkmoot.aggregation.dawid_skene import DawidSkene
from folkmoot.aggregation.geometric_median import GeometricMedian
from folkmoot.aggregation.gold import gold_known
from folkmoot.aggregation.holdout_trust import HoldoutTrust
from folkmoot.aggregation.interface import Known, Rows
from folkmoot.aggregation.krum import Krum
from folkmoot.aggregation.listen import Listen
from folkmoot.aggregation.mean import Mean
from folkmoot.aggregation.median import Median
from folkmoot.aggregation.peer_review import PeerReview
from folkmoot.aggregation.plurality import Plurality
from folkmoot.aggregation.pool import Pool
from folkmoot.aggregation.trimmed_mean import TrimmedMean
from folkmoot.aggregation.weighted import Weighted

__all__ = [
    "Auto",
    "DawidSkene",
    "GeometricMedian",
    "HoldoutTrust",
    "Known",
    "Krum",
    "Listen",
    "Mean",
    "Median",
    "PeerReview",
    "Plurality",
    "Pool",
    "Rows",
    "TrimmedMean",
    "Weighted",
    "gold_known",
]
