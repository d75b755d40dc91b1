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
    client = _Client(feed, receive)
    try:
        while not reached() and not feed.closed:
            left = end - asyncio.get_running_loop().time()
            if left <= 0 or not await client.hears(left):
                break
        return not client.gone
    finally:
        client.forget()


class _Client:
    """One who waits for news; it may go at any time."""

    def __init__(self, feed: Feed, receive: Receive) -> None:
        self._feed, self._loop = feed, asyncio.get_running_loop()
        self._woken: asyncio.Future[bool] = self._loop.create_future()
        self._leaving = asyncio.ensure_future(gone(receive))
        self._leaving.add_done_callback(self._no_news)

    @property
    def gone(self) -> bool:
        """Whether it has gone."""
        return self._leaving.done()

    async def hears(self, seconds: float) -> bool:
        """Wait for news; False if there were none in this time, or the client has gone."""
        if self.gone:
            return False
        self._woken = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._no_news)
        try:
            return await self._feed.news(self._woken) and not self.gone
        finally:
            timer.cancel()

    def forget(self) -> None:
        """Do not look any more whether it has gone."""
        self._leaving.cancel()

    def _no_news(self, _leaving: object = None) -> None:
        if not self._woken.done():
            self._woken.set_result(False)


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
        client = _Client(self._feed, receive)
        self._feed.streams += 1
        try:
            async with asyncio.timeout(SENDING):
                await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._follow(client, send)
            async with asyncio.timeout(SENDING):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            pass  # it does not read what it is sent
        finally:
            self._feed.streams -= 1
            client.forget()

    async def _follow(self, client: _Client, send: Send) -> None:
        feed, position = self._feed, self._last
        while not feed.closed and not client.gone:
            events = None if position is None else feed.after(position)
            if events is None:
                events = [feed.now()]
            if events:
                position = events[-1].serial
                await _send(events, send)
            elif not await client.hears(PING) and not client.gone and not feed.closed:
                await _send([Event(0, _PING)], send)


async def _send(events: list[Event], send: Send) -> None:
    text = b"".join(event.text for event in events)
    async with asyncio.timeout(SENDING):
        await send({"type": "http.response.body", "body": text, "more_body": True})


async def gone(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
