"""uvicorn on a loop that is not its own: no signals, bounded connections, none that says nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import h11
import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from folkmoot.web.again import Again, Copied, is_whole
from folkmoot.web.refusals import Problem
from folkmoot.web.streams import WIRE

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


class _Wire:
    """Writes chunks of one answer past HTTP, which only counts them."""

    def __init__(self, cycle: RequestResponseCycle, flow: FlowControl, transport: asyncio.Transport) -> None:
        self._cycle, self._flow, self._transport = cycle, flow, transport

    def write(self, chunk: bytes) -> bool:
        """Send, unless the client does not read as fast, or has gone."""
        cycle = self._cycle
        under_way = cycle.response_started and not cycle.response_complete and not cycle.disconnected
        if not under_way or self._flow.write_paused or self._transport.is_closing():
            return False
        self._transport.write(chunk)
        return True


def server(app: ASGIApp, counts: Counter[str]) -> Server:
    """A server for an app; ``counts`` is where those who are sent away are counted."""
    again = Again()

    class Connection(H11Protocol):
        """One client, which must say what it wants, soon."""

        _late: asyncio.TimerHandle | None = None
        _asked: tuple[bytes, Copied] | None = None  # what may come again, and what is answered
        _waits: bytes | None = None  # a request that somebody else has made too: it gets the same answer

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
            before = self._no_more_waiting()
            self._no_more_copying()
            if not before and is_whole(data) and self._is_idle():
                self._cancel()
                self._come(data)
                return
            super().data_received(before + data)
            self._lay_wire()
            if self.cycle is not None and not self.cycle.response_complete:
                self._cancel()
            elif self._late is None:
                self._expect_a_request()

        def _is_idle(self) -> bool:
            """Whether nothing has come since the last answer was sent, and that has gone out."""
            idle = self.conn.our_state is h11.IDLE and self.conn.their_state is h11.IDLE
            return idle and not self._has_more() and not self.flow.write_paused

        def _has_more(self) -> bool:
            more, closed = self.conn.trailing_data
            return bool(more) or closed

        def _come(self, request: bytes) -> None:
            """A whole request: it is answered as it was, or others wait for the same, or it is read."""
            answer = again.answer(request)
            if answer is not None:
                self.transport.write(answer)
                super().on_response_complete()
            elif again.wait(request, self._look):
                self._unset_keepalive_if_required()
                self._waits = request
            else:
                again.begin(request)
                transport, copied = self.transport, Copied(self.transport)
                self._asked = request, copied
                self.transport = copied  # type: ignore[assignment]
                try:
                    super().data_received(request)
                finally:
                    self.transport = transport
                self._lay_wire()

        def _lay_wire(self) -> None:
            if self.cycle is not None and not self.cycle.response_started:
                self.scope["state"][WIRE] = _Wire(self.cycle, self.flow, self.transport)

        def _look(self) -> None:
            """What was waited for is there, or never will be."""
            request, self._waits = self._waits, None
            if request is not None and not self.transport.is_closing():
                self._come(request)

        def _no_more_waiting(self) -> bytes:
            """What has been waiting, which is to be read now."""
            request, self._waits = self._waits or b"", None
            again.leave(request, self._look)
            return request

        def _no_more_copying(self) -> None:
            """The answer is there, or is not of the one request alone."""
            asked, self._asked = self._asked, None
            if asked is not None:
                again.end(asked[0])

        def on_response_complete(self) -> None:
            """A request was answered."""
            done = self.conn.our_state is h11.DONE and self.conn.their_state is h11.DONE  # and not closed
            if self._asked is not None and done and not self._has_more():
                again.keep(self._asked[0], self.scope, self._asked[1].copy)
            super().on_response_complete()
            self._no_more_copying()

        def connection_lost(self, exc: Exception | None) -> None:
            """It has gone."""
            self._cancel()
            self._no_more_waiting()
            self._no_more_copying()
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
