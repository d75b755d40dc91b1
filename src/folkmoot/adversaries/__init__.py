"""Byzantine behaviours, with their sources. Pure: they are shown one observation and answer it."""

from folkmoot.adversaries.behaviours import (
    ConstantClass,
    ConstantNumber,
    FarAway,
    PerfectlyMalicious,
    Silent,
    colluding_votes,
)

__all__ = [
    "ConstantClass",
    "ConstantNumber",
    "FarAway",
    "PerfectlyMalicious",
    "Silent",
    "colluding_votes",
]
