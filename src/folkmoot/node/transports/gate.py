"""Room for handshakes: strangers cannot take that of members, nor one stranger that of another.

Before a handshake is over only the address of a caller is known. An address at which a member was seen has
a budget and places apart. All other addresses share theirs, and each of them has a budget, too. So a member
that comes back finds room, whoever else calls. A member at an address that nobody has seen yet shares the
room of strangers; it reaches others by that, or by being dialled.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from folkmoot.node.transports.budget import Budget
from folkmoot.node.transports.tls import Connection, Limits

MOST_LOOKS: Final = 2000.0  # connections a second that are looked at; the others wait in the kernel
_MOST_SOURCES: Final = 1000


@dataclass(frozen=True)
class Guest:
    """Somebody who has dialled us, and has not said hello."""

    host: str
    expected: bool  # a member was seen there


class Gate:
    """Budgets of those who begin handshakes, and who has to leave when there are too many of them."""

    def __init__(self, limits: Limits, members: int) -> None:
        self.members = members
        self.looks = Budget(MOST_LOOKS, MOST_LOOKS)
        self._limits = limits
        self._sources: dict[tuple[bool, str], Budget] = {}
        self._strangers = Budget(10 * limits.accepts, 3 * self._burst)

    @property
    def _burst(self) -> float:
        return self._limits.accept_burst + 2 * self.members

    def lets_in(self, host: str, now: float, *, expected: bool) -> bool:
        """Whether somebody at this address may begin a handshake now."""
        source = expected, _network(host)
        if source not in self._sources:
            if len(self._sources) >= _MOST_SOURCES:
                self._sources = {each: kept for each, kept in self._sources.items() if each[0]}
            self._sources[source] = Budget(self._limits.accepts, self._burst)
        if self._sources[source].pay(now):
            return False
        return expected or not self._strangers.pay(now)

    def crowded_out(self, pending: Mapping[Connection, Guest]) -> Connection | None:
        """The one that has to leave if the last one was too much: of the address with most, the oldest."""
        newest = [*pending.values()][-1]
        alike = {each: guest for each, guest in pending.items() if guest.expected == newest.expected}
        if len(alike) <= self._limits.most_pending + self.members:
            return None
        by_source = Counter(_network(guest.host) for guest in alike.values())
        largest, _ = by_source.most_common(1)[0]
        return next(each for each, guest in alike.items() if _network(guest.host) == largest)


def _network(host: str) -> str:
    """Whose address it is: one of IPv6 is one of 2^64 that the same caller has."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else host
