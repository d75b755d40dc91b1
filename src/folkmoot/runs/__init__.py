"""Whole runs that commands start: a study of one moot, the demo, a moot of real processes."""
