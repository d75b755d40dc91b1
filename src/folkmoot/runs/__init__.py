"""Whole runs that commands start: a study of one moot, such as the demo, and a moot of real processes."""
