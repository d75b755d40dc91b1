"""Answers that take their time: event streams and long polls. A client that has gone ends them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from folkmoot.web.feed import Event, Feed, Listener
from folkmoot.web.refusals import RefusalError

MOST_STREAMS: Final = 64
PING: Final = 15.0  # seconds without news after which a stream says that it is still there
SENDING: Final = 20.0  # seconds in which a client must take what it is sent
WIRE: Final = "wire"  # in the state of a request: where parts of its answer can be written at once
_PING: Final = b"event: ping\ndata: {}\n\n"


class Wire(Protocol):
    """Where parts of an answer can be written without waiting."""

    def write(self, chunk: bytes) -> bool:
        """Send a chunk of an answer; False, and nothing is sent, if the client must be waited for."""


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

    def __init__(self, feed: Feed, receive: Receive, listener: Listener | None = None) -> None:
        """``listener`` is told of events instead of the client being woken."""
        self._feed, self._loop = feed, asyncio.get_running_loop()
        self._woken: asyncio.Future[bool] = self._loop.create_future()
        self._leaving = asyncio.ensure_future(gone(receive))
        self._leaving.add_done_callback(lambda _: self.wake(news=False))
        self._listener = listener or (lambda _: self.wake())
        feed.listeners[self._listener] = None

    @property
    def gone(self) -> bool:
        """Whether it has gone."""
        return self._leaving.done()

    async def hears(self, seconds: float) -> bool:
        """Wait for news; False if there were none in this time, or the client has gone."""
        if self.gone or self._feed.closed:
            return False
        self._woken = self._loop.create_future()
        timer = self._loop.call_later(seconds, lambda: self.wake(news=False))
        try:
            return await self._woken and not self.gone
        finally:
            timer.cancel()

    def wake(self, *, news: bool = True) -> None:
        """Go on, if it waits."""
        if not self._woken.done():
            self._woken.set_result(news)

    def forget(self) -> None:
        """Do not look any more whether it has gone, or what has happened."""
        del self._feed.listeners[self._listener]
        self._leaving.cancel()


class EventStream(Response):
    """Server-sent events from the last one that a client has, until it goes or the page is closed.

    A client that has all events is sent the next one at once, without a task being woken; one that reads
    slowly, or has events to catch up with, is waited for.
    """

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
        self._waits = False  # for news, with all events sent
        self._sent = 0.0  # when it was last sent something

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what happens."""
        chunked = scope["http_version"] == "1.1" and scope["method"] == "GET"
        self._wire: Wire | None = scope["state"].get(WIRE) if chunked else None
        self._sent = _now()
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        self._client = client = _Client(self._feed, receive, self._take)
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

    def _take(self, event: Event | None) -> None:
        """An event: sent at once, if the client waits for it; else it is waited for."""
        next_one = event is not None and self._waits and self._last == event.serial - 1
        if event is not None and next_one and self._wire is not None and self._wire.write(event.chunk):
            self._last, self._sent = event.serial, _now()
            return
        self._waits = False
        self._client.wake()

    async def _follow(self, client: _Client, send: Send) -> None:
        feed = self._feed
        while not feed.closed and not client.gone:
            events = None if self._last is None else feed.after(self._last)
            if events is None:
                events = [feed.now()]
            if events:
                self._last = events[-1].serial
                await self._send(events, send)
                continue
            self._waits = True
            news = await client.hears(max(0.0, self._sent + PING - _now()))
            self._waits = False
            quiet = _now() >= self._sent + PING
            if not news and quiet and not client.gone and not feed.closed:
                await self._send([Event(0, _PING)], send)

    async def _send(self, events: list[Event], send: Send) -> None:
        text = b"".join(event.text for event in events)
        async with asyncio.timeout(SENDING):
            await send({"type": "http.response.body", "body": text, "more_body": True})
        self._sent = _now()


def _now() -> float:
    return asyncio.get_running_loop().time()


async def gone(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
