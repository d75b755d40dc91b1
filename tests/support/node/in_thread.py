"""A node's server on a loop of its own, for tests that drive a browser in this thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.node.served import LOOPBACK, Played, opened


class Running:
    """A server that is open until the test is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop, address: str) -> None:
        self.address = address  # with the token
        self._loop = loop

    def do(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        """Let something happen at the node, on its loop."""
        done = threading.Event()

        def called() -> None:
            call(*arguments, **named)
            done.set()

        self._loop.call_soon_threadsafe(called)
        assert done.wait(20)


@contextmanager
def running(played: Played, folder: Path) -> Iterator[Running]:
    """The page of a node, on TCP."""
    loop = asyncio.new_event_loop()
    found: list[str] = []
    there, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with opened(played, folder, page=LOOPBACK) as server:
            assert server.address is not None
            found.append(server.address)
            there.set()
            await over.wait()

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        finally:
            there.set()
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert there.wait(20)
    assert found
    try:
        yield Running(loop, found[0])
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(20)
