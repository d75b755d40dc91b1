"""Byzantine behaviours, one a file with its source. Pure: they are shown one observation and answer it."""

from __future__ import annotations

from typing import Final

from folkmoot.adversaries.adversary import Adversary, Knows, Sees, handed_in
from folkmoot.adversaries.constant_colour import ConstantColour
from folkmoot.adversaries.copycat import Copycat
from folkmoot.adversaries.equivocating import Equivocating
from folkmoot.adversaries.perfectly_faulty import PerfectlyFaulty
from folkmoot.adversaries.perfectly_malicious import PerfectlyMalicious
from folkmoot.adversaries.random_colour import RandomColour
from folkmoot.adversaries.silent import Silent
from folkmoot.adversaries.stalling import Stalling

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
}

__all__ = [
    "ATTACKS",
    "Adversary",
    "ConstantColour",
    "Copycat",
    "Equivocating",
    "Knows",
    "PerfectlyFaulty",
    "PerfectlyMalicious",
    "RandomColour",
    "Sees",
    "Silent",
    "Stalling",
    "handed_in",
]
