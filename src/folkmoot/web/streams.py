"""Answers that take their time: event streams and long polls. A client that has gone ends them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from folkmoot.web.feed import Event, Feed
from folkmoot.web.refusals import RefusalError

MOST_STREAMS: Final = 64
PING: Final = 15.0  # seconds without news after which a stream says that it is still there
SENDING: Final = 20.0  # seconds in which a client must take what it is sent
_PING: Final = b"event: ping\ndata: {}\n\n"


async def wait_for(feed: Feed, receive: Receive, reached: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is reached, so many seconds at the most; False if the client has gone."""
    end = asyncio.get_running_loop().time() + seconds
    leaving = asyncio.ensure_future(gone(receive))
    try:
        while not reached() and not feed.closed:
            left = end - asyncio.get_running_loop().time()
            if left <= 0 or not await _news_or(feed, leaving, left):
                break
        return not leaving.done()
    finally:
        leaving.cancel()


class EventStream(Response):
    """Server-sent events from the last one that a client has, until it goes or the page is closed."""

    def __init__(self, feed: Feed, last: str | None) -> None:
        super().__init__(media_type="text/event-stream")
        self._feed = feed
        if feed.streams >= MOST_STREAMS:
            raise RefusalError(
                503,
                f"{MOST_STREAMS} clients follow the events already: close one of them",
                {"Retry-After": "5"},
            )
        self._last = feed.resumed(last)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what happens."""
        del scope
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        leaving = asyncio.ensure_future(gone(receive))
        self._feed.streams += 1
        try:
            async with asyncio.timeout(SENDING):
                await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._follow(leaving, send)
            async with asyncio.timeout(SENDING):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            pass  # it does not read what it is sent
        finally:
            self._feed.streams -= 1
            leaving.cancel()

    async def _follow(self, leaving: asyncio.Future[None], send: Send) -> None:
        feed, position = self._feed, self._last
        while not feed.closed and not leaving.done():
            events = None if position is None else feed.after(position)
            if events is None:
                events = [feed.now()]
            if events:
                position = events[-1].serial
                await _send(events, send)
            elif not await _news_or(feed, leaving, PING) and not leaving.done() and not feed.closed:
                await _send([Event(0, _PING)], send)


async def _send(events: list[Event], send: Send) -> None:
    text = b"".join(event.text for event in events)
    async with asyncio.timeout(SENDING):
        await send({"type": "http.response.body", "body": text, "more_body": True})


async def _news_or(feed: Feed, leaving: asyncio.Future[None], seconds: float) -> bool:
    """Wait for news; False if there were none in this time, or the client has gone."""
    news = feed.news  # one for all who wait: nobody may cancel it
    await asyncio.wait({news, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    return news.done() and not leaving.done()


async def gone(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
