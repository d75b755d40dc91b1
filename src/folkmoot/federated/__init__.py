"""Who decides for whom, by each node's own choice: quorum sets, and what a moot of them tolerates."""

from folkmoot.federated.analysis import Analysis, analyse
from folkmoot.federated.node_list import NodeList, read_nodes
from folkmoot.federated.proposing import propose
from folkmoot.federated.protocol import Federated, read_federated
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.federated.search import NotFinishedError
from folkmoot.federated.system import QuorumSystem
from folkmoot.federated.trust_files import read_trust

__all__ = [
    "Analysis",
    "Federated",
    "NodeList",
    "NotFinishedError",
    "QuorumSet",
    "QuorumSystem",
    "analyse",
    "propose",
    "read_federated",
    "read_nodes",
    "read_trust",
]
