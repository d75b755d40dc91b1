"""Ports that stay ours while nobody listens on them yet."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


class HeldPorts:
    """Ports of loopback, bound without listening until they are closed.

    A server that reuses addresses, as those of asyncio do, can listen on them. The system gives them to
    nobody who asks for any free port, and who connects to one before a server is there is refused.
    """

    def __init__(self, count: int) -> None:
        self._sockets = [socket.socket() for _ in range(count)]
        for each in self._sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        self.numbers: list[int] = [each.getsockname()[1] for each in self._sockets]

    def close(self) -> None:
        for each in self._sockets:
            each.close()


@contextmanager
def held_port() -> Iterator[int]:
    """One of them, for a block."""
    with ExitStack() as stack:
        ports = HeldPorts(1)
        stack.callback(ports.close)
        yield ports.numbers[0]
