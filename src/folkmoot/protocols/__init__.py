"""Protocols as pure rules, one file each: ``update(state, tally) -> state``. No I/O, clock or randomness."""
