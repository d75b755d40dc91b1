"""The independent truth: every rule written a second time, in fractions or in plain loops."""
