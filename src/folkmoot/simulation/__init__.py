"""The communication phase, simulated: exact in law, reproducible, at the speed of the machine."""
