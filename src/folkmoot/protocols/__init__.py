"""Protocols as pure rules, one file each: ``update(state, tally) -> state``. No I/O, clock or randomness."""

from folkmoot.protocols.query import Query, winner
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.snowball import Snowball
from folkmoot.protocols.snowflake import Snowflake

__all__ = ["Query", "Slush", "Snowball", "Snowflake", "winner"]
