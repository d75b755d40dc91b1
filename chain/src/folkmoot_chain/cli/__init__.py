"""``folkmoot-chain``: the moot on a chain."""
