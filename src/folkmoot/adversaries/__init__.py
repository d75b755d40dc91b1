"""Byzantine behaviours, with their sources. Pure: they are shown one observation and answer it."""

from folkmoot.adversaries.behaviours import (
    ConstantClass,
    ConstantNumber,
    Copycat,
    Edge,
    Equivocating,
    FarAway,
    PerfectlyFaulty,
    PerfectlyMalicious,
    RandomClass,
    RandomNumber,
    Silent,
    Sleeper,
    Stalling,
    colluding_votes,
)

__all__ = [
    "ConstantClass",
    "ConstantNumber",
    "Copycat",
    "Edge",
    "Equivocating",
    "FarAway",
    "PerfectlyFaulty",
    "PerfectlyMalicious",
    "RandomClass",
    "RandomNumber",
    "Silent",
    "Sleeper",
    "Stalling",
    "colluding_votes",
]
