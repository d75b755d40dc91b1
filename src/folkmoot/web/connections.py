"""uvicorn on a loop that is not its own: no signals, bounded connections, none that says nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from folkmoot.web.refusals import Problem

MOST_CONNECTIONS: Final = 128
HEAD_SECONDS: Final = 5.0  # in which a request must have come, but for its body
KEPT_ALIVE: Final = 15  # seconds between two requests of one connection
LEAVING: Final = 2  # seconds for answers under way when the page is closed
_FULL: Final = f"{MOST_CONNECTIONS} others are at this page: try again in a moment"


class Server(uvicorn.Server):
    """Serves until ``leave``; signals are the node's business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield

    async def leave(self, serving: asyncio.Task[None]) -> None:
        """Stop listening, give answers under way a moment, and end."""
        self.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await serving


def server(app: ASGIApp, counts: Counter[str]) -> Server:
    """A server for an app; ``counts`` is where those who are sent away are counted."""

    class Connection(H11Protocol):
        """One client, which must say what it wants, soon."""

        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            """Somebody comes: too many are sent away at once."""
            super().connection_made(transport)
            if len(self.connections) > MOST_CONNECTIONS:
                counts["refused_page_full"] += 1
                transport.write(_full())
                transport.close()
                return
            self._expect_a_request()

        def data_received(self, data: bytes) -> None:
            """Some bytes: a request, or a part of one."""
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._cancel()
            elif self._late is None:
                self._expect_a_request()

        def connection_lost(self, exc: Exception | None) -> None:
            """It has gone."""
            self._cancel()
            super().connection_lost(exc)

        def _expect_a_request(self) -> None:
            self._late = self.loop.call_later(HEAD_SECONDS, self._too_late)

        def _cancel(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _too_late(self) -> None:
            self._late = None
            if self.cycle is None or self.cycle.response_complete:
                counts["refused_page_late"] += 1
                self.transport.close()

    for name in ("uvicorn.error", "uvicorn.access"):  # stderr is the node's log, which is JSON
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [logging.NullHandler()], False
    config = uvicorn.Config(
        app, loop="none", http=Connection, ws="none", lifespan="off", interface="asgi3", log_config=None,
        access_log=False, proxy_headers=False, server_header=False, timeout_keep_alive=KEPT_ALIVE,
        timeout_graceful_shutdown=LEAVING, h11_max_incomplete_event_size=16 << 10,
    )  # fmt: skip
    return Server(config)


def _full() -> bytes:
    body = msgspec.json.encode(Problem(503, "Service Unavailable", _FULL))
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
