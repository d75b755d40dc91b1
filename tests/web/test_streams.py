"""Streams of events: every client gets every event once and in order, however fast it reads."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from folkmoot.web import streams
from folkmoot.web.feed import Feed
from folkmoot.web.server import server
from folkmoot.web.streams import EventStream

HEAD = "{} /v1/events HTTP/{}\r\nHost: a\r\n\r\n"


class Stream:
    """One client on a socket of its own; it reads when it is told to."""

    async def open(self, port: int, method: str = "GET", version: str = "1.1") -> Stream:
        self._reader, self.writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 14)
        self.writer.write(HEAD.format(method, version).encode())
        self.head = await self._reader.readuntil(b"\r\n\r\n")
        self._chunked = b"transfer-encoding: chunked" in self.head.lower()
        self._text = b""
        return self

    async def read(self) -> bytes:
        """Some of the body; nothing at its end."""
        if not self._chunked:
            return await self._reader.read(1000)
        length = int(await self._reader.readuntil(b"\r\n"), 16)
        chunk = await self._reader.readexactly(length + 2)
        assert chunk.endswith(b"\r\n")
        return chunk[:-2]

    async def next(self) -> tuple[str, int]:
        """The kind of the next event, and its number; 0 if it has none."""
        while b"\n\n" not in self._text:
            part = await asyncio.wait_for(self.read(), 10.0)
            assert part
            self._text += part
        event, _, self._text = self._text.partition(b"\n\n")
        fields = dict(line.split(": ", 1) for line in event.decode().splitlines())
        return fields["event"], int(fields.get("id", "1-0").partition("-")[2])


def play(script: Callable[[Feed, int], Awaitable[None]]) -> None:
    """A feed without a node, served."""

    async def whole() -> None:
        node: Any = SimpleNamespace(seat=SimpleNamespace(incarnation=1), observe=lambda _: None)
        look: Any = lambda: None  # noqa: E731
        feed = Feed(node, look, SimpleNamespace())  # type: ignore[arg-type]
        feed._publish("opened", {})

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await EventStream(feed, "1-0")(scope, receive, send)

        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # connections inherit it
        listener.setblocking(False)
        serving = server(app)
        task = asyncio.ensure_future(serving.serve(sockets=[listener]))
        try:
            await script(feed, listener.getsockname()[1])
        finally:
            feed.close()
            serving.should_exit = True
            await task
        assert feed.streams == 0

    asyncio.run(asyncio.wait_for(whole(), 20.0))


@pytest.mark.parametrize("seed", range(3))
def test_everybody_gets_every_event_once_and_in_order(seed: int) -> None:
    rng = random.Random(seed)

    async def script(feed: Feed, port: int) -> None:
        clients = [await Stream().open(port, version=version) for version in ("1.1", "1.1", "1.0", "1.1")]
        last = 1
        for _ in range(30):
            for _ in range(rng.choice([1, 1, 1, 2, 5])):
                feed._publish("progress", {"x": "y" * rng.choice([1, 100, 9000])})
                last += 1
            if rng.random() < 0.7:
                await asyncio.sleep(rng.choice([0.0, 0.0, 0.002]))
        for client in clients:
            assert [(await client.next())[1] for _ in range(last)] == list(range(1, last + 1)), seed
            client.writer.close()

    play(script)


def test_who_does_not_read_is_waited_for_and_keeps_nobody_waiting() -> None:
    async def script(feed: Feed, port: int) -> None:
        slow, quick = await Stream().open(port), await Stream().open(port)
        assert (await quick.next())[1] == 1
        count = 300  # of 3 kB: far more than the buffers on the way hold
        for number in range(2, count + 1):
            feed._publish("progress", {"x": "y" * 3000})
            assert (await quick.next())[1] == number
        assert [(await slow.next())[1] for _ in range(count)] == list(range(1, count + 1))
        for client in (slow, quick):
            client.writer.close()

    play(script)


def test_a_stream_says_that_it_is_there_when_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PING", 0.3)

    async def script(feed: Feed, port: int) -> None:
        client = await Stream().open(port)
        assert await client.next() == ("opened", 1)
        for number in range(2, 12):  # longer than that together, with less between two of them
            await asyncio.sleep(0.05)
            feed._publish("progress", {})
            assert await client.next() == ("progress", number)
        began = asyncio.get_running_loop().time()
        assert await client.next() == ("ping", 0)
        assert await client.next() == ("ping", 0)
        assert asyncio.get_running_loop().time() - began > 0.5
        feed._publish("progress", {})
        assert await client.next() == ("progress", 12)
        client.writer.close()

    play(script)


def test_the_end_is_told_as_http_has_it_and_a_head_has_no_body() -> None:
    async def script(feed: Feed, port: int) -> None:
        clients = [await Stream().open(port, version=version) for version in ("1.1", "1.0")]
        empty = await Stream().open(port, method="HEAD")
        gone = await Stream().open(port)
        for client in (*clients, gone):
            assert await client.next() == ("opened", 1)
        gone.writer.transport.abort()
        for _ in range(5):
            feed._publish("progress", {})
            await asyncio.sleep(0.01)
        assert feed.streams == 3
        feed.close()
        for client in clients:
            assert [(await client.next())[1] for _ in range(5)] == [2, 3, 4, 5, 6]
            assert await client.read() == b""
            client.writer.close()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(empty._reader.read(1), 0.05)
        empty.writer.close()

    play(script)
