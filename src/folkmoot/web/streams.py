"""Answers that take their time: event streams and long polls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from folkmoot.web.feed import Feed
from folkmoot.web.refusals import RefusalError

MOST_STREAMS: Final = 64
PING: Final = 15.0  # seconds without news after which a stream says that it is still there
_PING: Final = b"event: ping\ndata: {}\n\n"


async def wait_for(feed: Feed, reached: Callable[[], bool], seconds: float) -> None:
    """Wait until something is reached, or so many seconds have passed, or the page is closed."""
    end = asyncio.get_running_loop().time() + seconds
    while not reached() and not feed.closed:
        left = end - asyncio.get_running_loop().time()
        if left <= 0:
            return
        await feed.news(left)


class EventStream(StreamingResponse):
    """Server-sent events from the last one that a client has, until it goes or the page is closed."""

    def __init__(self, feed: Feed, last: str | None) -> None:
        if feed.streams >= MOST_STREAMS:
            raise RefusalError(
                503,
                f"{MOST_STREAMS} clients follow the events already: close one of them",
                {"Retry-After": "5"},
            )
        super().__init__(_events(feed, feed.resumed(last)), media_type="text/event-stream")
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what happens."""
        self._feed.streams += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feed.streams -= 1


async def _events(feed: Feed, last: int | None) -> AsyncIterator[bytes]:
    """The text of the events after one, or how things are now and what follows."""
    while not feed.closed:
        events = None if last is None else feed.after(last)
        if events is None:
            events = [feed.now()]
        if events:
            last = events[-1].serial
            yield b"".join(event.text for event in events)
        elif not await feed.news(PING):
            yield _PING
