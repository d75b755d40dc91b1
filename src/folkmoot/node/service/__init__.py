"""A running node: what it offers to those who talk to it, and what does the work."""
