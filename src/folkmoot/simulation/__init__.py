"""The communication phase, simulated: exact in law, reproducible, at the speed of the machine."""

from folkmoot.simulation.engine import deliberate

__all__ = ["deliberate"]
