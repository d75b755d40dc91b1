"""Clusters agreed among participants, some of whom lie: no labels, no server, no common names of clusters."""

from folkmoot.clustering.agreeing import cluster
from folkmoot.clustering.clustering import Clustering, ClusteringWarning

__all__ = ["Clustering", "ClusteringWarning", "cluster"]
