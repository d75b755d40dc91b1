"""The communication phase, simulated: exact in law, reproducible, at the speed of the machine."""

from folkmoot.simulation.agreement import Agreement
from folkmoot.simulation.approximate import agree
from folkmoot.simulation.engine import deliberate
from folkmoot.simulation.sweeping import Sweep, sweep

__all__ = ["Agreement", "Sweep", "agree", "deliberate", "sweep"]
