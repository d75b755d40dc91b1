"""Protocols of the paper's outlook that measurement did not favour: leaders, hierarchies, FBA.

They are for ``deliberate`` alone, in plain numpy, and nothing else knows of them. Each protocol has
``run(votes, ...) -> Outcome``, which ``deliberate(votes, protocol, ...)`` calls.
"""

from folkmoot.outlook.fba import FBA
from folkmoot.outlook.hierarchy import Hierarchy
from folkmoot.outlook.leaders import Leaders
from folkmoot.outlook.quorum_set import QuorumSet

__all__ = ["FBA", "Hierarchy", "Leaders", "QuorumSet"]
