"""To test a moot with: members that break the rules, as processes and on the network in memory.

Nothing in a node imports this package: in production it has no way to lie.
"""
