"""To test a moot with: members that break the rules, and the network in memory that whole moots run on.

``LIARS`` are kinds of members by name, each a ``Transport`` around that of a node. ``Network`` carries frames
on a virtual clock, with delays, losses, partitions and crashes from a seed; a ``Node`` cannot tell it from
TLS. Nothing in a node imports this package: in production it has no way to lie.
"""

from folkmoot.node.transports.memory import Network, Weather
from folkmoot.testing.liars import LIARS, Liar, Silent, Stalling, TwoFaced, Withholding

__all__ = ["LIARS", "Liar", "Network", "Silent", "Stalling", "TwoFaced", "Weather", "Withholding"]
