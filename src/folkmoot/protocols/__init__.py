"""Protocols as pure rules, one file each: ``update(state, tally) -> state``. No I/O, clock or randomness."""

from folkmoot.protocols.slush import Slush

__all__ = ["Slush"]
