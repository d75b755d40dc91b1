"""The communication phase, simulated: exact in law, reproducible, at the speed of the machine."""

from folkmoot.simulation.engine import deliberate
from folkmoot.simulation.sweeping import Sweep, sweep

__all__ = ["Sweep", "deliberate", "sweep"]
