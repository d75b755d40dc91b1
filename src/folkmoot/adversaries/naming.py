"""Adversaries as people type them: ``silent``, ``copycat``, ``far-away``."""

from __future__ import annotations

from typing import Final

from folkmoot.adversaries.behaviours import (
    ConstantClass,
    ConstantNumber,
    Copycat,
    Edge,
    Equivocating,
    FarAway,
    Misstating,
    PerfectlyFaulty,
    PerfectlyMalicious,
    RandomClass,
    RandomNumber,
    Silent,
    Sleeper,
    Stalling,
)
from folkmoot.adversaries.interface import Adversary, NumberAdversary

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
    "edge": Edge,
    "silent": Silent,
}
