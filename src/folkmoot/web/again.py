"""Requests that come again word for word: the bytes of the last answer, as long as that is the answer.

A client that polls sends the same bytes each time, its token among them. Whether they are well-formed,
whether the name and the token are right and what they ask for is the same each time, too, so they are not
read again. What may have changed is asked each time: whether the answer still holds, and whether the rate
allows another. If it does not hold, the first who comes has it made anew, and those who come with the same
bytes meanwhile wait for that. A request is looked up by a hash with a secret key (Python's own), so the time
it takes says nothing about a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from folkmoot.network.transports.budget import Budget

MOST: Final = 64  # requests
LONGEST: Final = 4 << 10  # bytes of one
LARGEST: Final = 68 << 10  # bytes of an answer, with its head
MOST_PARTS: Final = 4  # in which it is sent: head, body and end; streams have more
HOLDS: Final = "holds"  # in the state of a request: says whether its answer is still the one to give
BUDGET: Final = "budget"  # and what it is paid from
_BODIES: Final = frozenset([b"content-length", b"transfer-encoding"])


class _Kept(NamedTuple):
    answer: bytes
    holds: Callable[[], bool]
    budget: Budget


class Again:
    """The answers to requests that may come again, for all connections of a server."""

    def __init__(self) -> None:
        self._kept: dict[bytes, _Kept] = {}  # those that hold no more as well: they are likely to come again
        self._read: dict[
            bytes, dict[Callable[[], None], None]
        ] = {}  # being read, and who waits for the answer

    def answer(self, request: bytes) -> bytes | None:
        """What to send, paid for; None if the request must be read."""
        kept = self._kept.get(request)
        if kept is None or not kept.holds() or kept.budget.pay(_now()):
            return None
        return kept.answer

    def begin(self, request: bytes) -> None:
        """It is being read, as it was before; until ``end`` others may wait for what is answered."""
        if request in self._kept:
            self._read.setdefault(request, {})

    def end(self, request: bytes) -> None:
        """It was answered, or will not be: whoever waits looks again."""
        for look in self._read.pop(request, {}):
            look()

    def wait(self, request: bytes, look: Callable[[], None]) -> bool:
        """Have ``look`` called when another request of the same bytes has been read; False if none is."""
        if request not in self._read:
            return False
        self._read[request][look] = None
        return True

    def leave(self, request: bytes, look: Callable[[], None]) -> None:
        """Do not wait any more."""
        self._read.get(request, {}).pop(look, None)

    def keep(self, request: bytes, scope: Any, answer: bytes) -> None:
        """Remember what was sent, if whoever made the answer has said how long it holds."""
        state = scope["state"]
        if HOLDS not in state or BUDGET not in state or not 0 < len(answer) <= LARGEST:
            return
        if any(name in _BODIES for name, _ in scope["headers"]):
            return
        self._kept.pop(request, None)
        self._kept[request] = _Kept(answer, state[HOLDS], state[BUDGET])
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]


def is_whole(data: bytes) -> bool:
    """Whether these bytes look like one request to read something, no less and no more."""
    return data.startswith(b"GET ") and len(data) <= LONGEST and data.find(b"\r\n\r\n") == len(data) - 4


class Copied:
    """A transport that keeps a copy of what is written to it, as far as that may be sent again."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._copy: list[bytes] | None = []

    def write(self, data: bytes) -> None:
        """Send, and keep."""
        if self._copy is not None:
            self._copy.append(data)
            if len(self._copy) > MOST_PARTS or len(data) > LARGEST:
                self._copy = None
        self._transport.write(data)

    @property
    def copy(self) -> bytes:
        """All that was written; nothing if it was too much."""
        return b"".join(self._copy or [])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _now() -> float:
    return asyncio.get_running_loop().time()
