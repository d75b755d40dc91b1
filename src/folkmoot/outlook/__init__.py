"""Protocols of the paper's outlook, not favoured by measurement: leaders, hierarchies, quorum sets.

They are for ``deliberate`` alone, in plain numpy, and nothing else knows of them. Each protocol has
``run(votes, ...) -> Outcome``, which ``deliberate(votes, protocol, ...)`` calls.
"""

from folkmoot.outlook.analysis import Analysis, analyse
from folkmoot.outlook.fba import FBA, read_quorum_sets
from folkmoot.outlook.hierarchy import Hierarchy
from folkmoot.outlook.leaders import Leaders, leader_order, leader_sample
from folkmoot.outlook.node_list import NodeList, read_nodes
from folkmoot.outlook.proposing import propose
from folkmoot.outlook.quorum_set import QuorumSet
from folkmoot.outlook.search import NotFinishedError
from folkmoot.outlook.system import QuorumSystem

__all__ = [
    "FBA",
    "Analysis",
    "Hierarchy",
    "Leaders",
    "NodeList",
    "NotFinishedError",
    "QuorumSet",
    "QuorumSystem",
    "analyse",
    "leader_order",
    "leader_sample",
    "propose",
    "read_nodes",
    "read_quorum_sets",
]
