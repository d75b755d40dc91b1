"""Ports that a roster can name before anybody listens on them."""

from __future__ import annotations

import socket
import sys


class HeldPorts:
    """Ports of loopback, all different, bound without listening until they are closed.

    On Linux a server that sets SO_REUSEADDR, as nodes do, can listen on them all the same. The system gives
    them to nobody who asks for any free port, and refuses who connects before a server is there. Elsewhere
    nobody else can bind a port that is held, so these are let go at once, and another program may take one.
    """

    def __init__(self, count: int) -> None:
        self._sockets = [socket.socket() for _ in range(count)]
        for each in self._sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        self.numbers: list[int] = [each.getsockname()[1] for each in self._sockets]
        if sys.platform != "linux":
            self.close()

    def close(self) -> None:
        """Let go of them."""
        for each in self._sockets:
            each.close()
