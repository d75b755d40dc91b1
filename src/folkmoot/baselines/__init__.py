"""Centralised rules that see every vote at once: what a consensus result is compared with."""

from folkmoot.baselines.consensus_partitions import bipartite_consensus, evidence_accumulation
from folkmoot.baselines.majority import majority, supermajority, vote_shares
from folkmoot.baselines.weighted import weighted_majority

__all__ = [
    "bipartite_consensus",
    "evidence_accumulation",
    "majority",
    "supermajority",
    "vote_shares",
    "weighted_majority",
]
