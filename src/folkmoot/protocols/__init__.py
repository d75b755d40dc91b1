"""Protocols as pure rules, one file each: ``update(state, tally) -> state``. No I/O, clock or randomness."""

from folkmoot.protocols.slush import Slush
from folkmoot.protocols.snow import SnowProtocol, winner
from folkmoot.protocols.snowball import Snowball
from folkmoot.protocols.snowflake import Snowflake

__all__ = ["Slush", "SnowProtocol", "Snowball", "Snowflake", "winner"]
