"""Centralised rules that see every vote at once: what a consensus result is compared with."""

from folkmoot.baselines.comparison import Verdict, centralised, participant_accuracies
from folkmoot.baselines.dawid_skene import DawidSkene, dawid_skene
from folkmoot.baselines.majority import majority, supermajority
from folkmoot.baselines.weighted import log_odds, weighted_majority

__all__ = [
    "DawidSkene",
    "Verdict",
    "centralised",
    "dawid_skene",
    "log_odds",
    "majority",
    "participant_accuracies",
    "supermajority",
    "weighted_majority",
]
