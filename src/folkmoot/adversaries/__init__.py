"""Byzantine behaviours, one a file with its source. Pure: they are shown one observation and answer it."""

from __future__ import annotations

from typing import Final

from folkmoot.adversaries.behaviours import (
    ConstantClass,
    Copycat,
    Equivocating,
    Misstating,
    PerfectlyFaulty,
    PerfectlyMalicious,
    RandomClass,
    Silent,
    Sleeper,
    Stalling,
    Steadfast,
    colluding_votes,
    stealthy_votes,
)
from folkmoot.adversaries.interface import Adversary, Knows, Sees, handed_in
from folkmoot.adversaries.numbers import (
    ConstantNumber,
    FarAway,
    NumberAdversary,
    Observation,
    RandomNumber,
    numbers_handed_in,
)
from folkmoot.adversaries.partitions import (
    CliquePartition,
    LiarsView,
    MergedPartition,
    PartitionAdversary,
    RandomPartition,
    ShiftedPartition,
    TurncoatPartition,
    partitions_handed_in,
)

# The names used at the prompt (--attack).
ATTACKS: Final[dict[str, type[Adversary]]] = {
    "malicious": PerfectlyMalicious,
    "constant": ConstantClass,
    "random": RandomClass,
    "silent": Silent,
    "faulty": PerfectlyFaulty,
    "stalling": Stalling,
    "equivocating": Equivocating,
    "copycat": Copycat,
    "sleeper": Sleeper,
}

# Those that lie about ballots (``folkmoot.outlook.FBA``), beside all of these.
BALLOT_ATTACKS: Final[dict[str, type[Adversary]]] = {"misstating": Misstating}

# Those that lie in numbers (``numbers_handed_in``).
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
    "ConstantClass",
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
    "RandomClass",
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
