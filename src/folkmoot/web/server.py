"""uvicorn on a loop that is not its own: the node has its signals, and needs files for its peers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS: Final = 128
KEPT_ALIVE: Final = 15  # seconds between two requests of one connection
LEAVING: Final = 2  # seconds for answers under way when the page is closed


class Server(uvicorn.Server):
    """Serves until ``should_exit``; signals are the node's business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


class _Bounded(H11Protocol):
    """A connection, of which there are so many at the most: each takes a file that a peer may need."""

    def connection_made(self, transport: Any) -> None:
        """Close it at once if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()


def server(app: ASGIApp) -> Server:
    """A server for an app, which says nothing: stderr is the node's log, which is JSON."""
    config = uvicorn.Config(
        app, loop="none", http=_Bounded, ws="none", lifespan="off", interface="asgi3", log_config=None,
        log_level="critical", access_log=False, proxy_headers=False, server_header=False,
        timeout_keep_alive=KEPT_ALIVE, timeout_graceful_shutdown=LEAVING,
        h11_max_incomplete_event_size=16 << 10,
    )  # fmt: skip
    return Server(config)
