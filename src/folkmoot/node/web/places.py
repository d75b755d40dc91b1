"""Places for connections: clients without a token never keep out those that have one.

A connection takes a file that a peer may need, so their number is bounded. When all places are taken, a new
connection gets that of the oldest one that has shown no token.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final, TypeAlias

from uvicorn.protocols.http.h11_impl import H11Protocol

Client: TypeAlias = tuple[str, int]  # its address
MOST: Final = 128  # connections
TAKEN: Final = 64  # new connections in one turn of the loop: each has its turn before it can be the oldest


class Places:
    """The connections to the page."""

    def __init__(self, counts: Counter[str]) -> None:
        self._strangers: dict[Client, asyncio.Transport] = {}  # the oldest first
        self._known: set[Client] = set()
        self._counts = counts

    def take(self, client: Client | None, transport: asyncio.Transport) -> None:
        """A connection was made; one that is gone already has no address."""
        full = len(self._strangers) + len(self._known) >= MOST
        if full:
            self._counts["refused_page_places"] += 1
        if client is None or (full and not self._strangers):
            transport.abort()
            return
        if full:
            self._strangers.pop(next(iter(self._strangers))).abort()
        self._strangers[client] = transport

    def showed_token(self, client: Client | None) -> None:
        """It may stay as long as it likes."""
        if client is not None and self._strangers.pop(client, None) is not None:
            self._known.add(client)

    def leave(self, client: Client | None, transport: asyncio.Transport) -> None:
        """It is gone."""
        if client is None:
            return
        self._known.discard(client)
        if self._strangers.get(client) is transport:
            del self._strangers[client]

    def protocol(self) -> type[H11Protocol]:
        """uvicorn's protocol, with these places."""
        places = self

        class Placed(H11Protocol):
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                places.take(self.client, transport)

            def connection_lost(self, exc: Exception | None) -> None:
                places.leave(self.client, self.transport)
                super().connection_lost(exc)

        return Placed
