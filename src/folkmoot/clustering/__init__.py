"""Clusters agreed among participants, some of whom lie: no labels, no server, no common names of clusters."""

from folkmoot.clustering.adversaries import (
    PARTITION_ATTACKS,
    ColludingPartition,
    MaliciousView,
    MergedPartition,
    PartitionAdversary,
    RandomPartition,
    ShiftedPartition,
    TurncoatPartition,
    partitions_handed_in,
)
from folkmoot.clustering.agreeing import cluster
from folkmoot.clustering.clustering import Clustering, ClusteringWarning
from folkmoot.clustering.consensus_partitions import bipartite_consensus, evidence_accumulation
from folkmoot.clustering.partitions import rand_indices

__all__ = [
    "PARTITION_ATTACKS",
    "Clustering",
    "ClusteringWarning",
    "ColludingPartition",
    "MaliciousView",
    "MergedPartition",
    "PartitionAdversary",
    "RandomPartition",
    "ShiftedPartition",
    "TurncoatPartition",
    "bipartite_consensus",
    "cluster",
    "evidence_accumulation",
    "partitions_handed_in",
    "rand_indices",
]
