"""The exact theory of sections 4 and 5, simulated learners, the stalling attack and a chart of settings."""
