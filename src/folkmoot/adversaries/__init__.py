"""Byzantine behaviours, one a file with its source. Pure: they are shown one observation and answer it."""

from __future__ import annotations

from typing import Final

from folkmoot.adversaries.adversary import Adversary, Knows, Sees, handed_in
from folkmoot.adversaries.collusion import colluding_votes, stealthy_votes
from folkmoot.adversaries.constant_colour import ConstantColour
from folkmoot.adversaries.copycat import Copycat
from folkmoot.adversaries.equivocating import Equivocating
from folkmoot.adversaries.misstating import Misstating
from folkmoot.adversaries.numbers.constant_number import ConstantNumber
from folkmoot.adversaries.numbers.far_away import FarAway
from folkmoot.adversaries.numbers.number_adversary import NumberAdversary, Observation, numbers_handed_in
from folkmoot.adversaries.numbers.random_number import RandomNumber
from folkmoot.adversaries.partitions.clique_partition import CliquePartition
from folkmoot.adversaries.partitions.merged_partition import MergedPartition
from folkmoot.adversaries.partitions.partition_adversary import (
    LiarsView,
    PartitionAdversary,
    partitions_handed_in,
)
from folkmoot.adversaries.partitions.random_partition import RandomPartition
from folkmoot.adversaries.partitions.shifted_partition import ShiftedPartition
from folkmoot.adversaries.partitions.turncoat_partition import TurncoatPartition
from folkmoot.adversaries.perfectly_faulty import PerfectlyFaulty
from folkmoot.adversaries.perfectly_malicious import PerfectlyMalicious
from folkmoot.adversaries.random_colour import RandomColour
from folkmoot.adversaries.silent import Silent
from folkmoot.adversaries.sleeper import Sleeper
from folkmoot.adversaries.stalling import Stalling
from folkmoot.adversaries.steadfast import Steadfast

# The names used at the prompt (--attack).
ATTACKS: Final[dict[str, type[Adversary]]] = {
    "malicious": PerfectlyMalicious,
    "constant": ConstantColour,
    "random": RandomColour,
    "silent": Silent,
    "faulty": PerfectlyFaulty,
    "stalling": Stalling,
    "equivocating": Equivocating,
    "copycat": Copycat,
    "sleeper": Sleeper,
}

# Those that lie about ballots (``folkmoot.outlook.FBA``), beside all of these.
BALLOT_ATTACKS: Final[dict[str, type[Adversary]]] = {"misstating": Misstating}

# Those that lie in numbers (``folkmoot.agree``).
NUMBER_ATTACKS: Final[dict[str, type[NumberAdversary]]] = {
    "constant": ConstantNumber,
    "random": RandomNumber,
    "far-away": FarAway,
    "stalling": Stalling,
    "silent": Silent,
}

# Those that lie about clusters (``folkmoot.cluster``).
PARTITION_ATTACKS: Final[dict[str, PartitionAdversary]] = {
    "random": RandomPartition(),
    "clique": CliquePartition(),
    "noisy-clique": CliquePartition(noise=0.2),
    "merged": MergedPartition(),
    "shifted": ShiftedPartition(),
    "adaptive": TurncoatPartition(),
}

__all__ = [
    "ATTACKS",
    "BALLOT_ATTACKS",
    "NUMBER_ATTACKS",
    "PARTITION_ATTACKS",
    "Adversary",
    "CliquePartition",
    "ConstantColour",
    "ConstantNumber",
    "Copycat",
    "Equivocating",
    "FarAway",
    "Knows",
    "LiarsView",
    "MergedPartition",
    "Misstating",
    "NumberAdversary",
    "Observation",
    "PartitionAdversary",
    "PerfectlyFaulty",
    "PerfectlyMalicious",
    "RandomColour",
    "RandomNumber",
    "RandomPartition",
    "Sees",
    "ShiftedPartition",
    "Silent",
    "Sleeper",
    "Stalling",
    "Steadfast",
    "TurncoatPartition",
    "colluding_votes",
    "handed_in",
    "numbers_handed_in",
    "partitions_handed_in",
    "stealthy_votes",
]
