"""Members that attack a moot, to test one with: nodes that lie, as processes and in memory.

Nothing below imports this package: a node in production has no way to lie.
"""
