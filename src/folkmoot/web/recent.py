"""Answers that were just given, for others who ask the same: many who look cost little more than one.

How the moot is, and how its motions stand, changes with every answer of a peer, thousands of times a second
while it talks; nobody can follow that. So an answer to the same request is sent again for a tenth of a
second, unless something has happened that a client could wait for: a motion was opened, went into another
phase or is over, somebody closed, was accused, came or went, or something was put or told over HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from folkmoot.web.again import HOLDS

OLDEST: Final = 0.1  # seconds
MOST: Final = 64  # answers
LARGEST: Final = 64 << 10  # bytes of one
_PATHS: Final = ("/v1/moot", "/v1/motions")


class _Given(NamedTuple):
    start: Message
    body: bytes
    until: float
    version: int


class Recent:
    """Stands before the routes; ``version`` is another number whenever something has happened."""

    def __init__(self, app: ASGIApp, version: Callable[[], int]) -> None:
        self._app, self._version = app, version
        self._given: dict[tuple[str, bytes], _Given] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send an answer again, or have it made."""
        if scope["method"] != "GET":
            self._given.clear()  # whatever it does, it is seen by those who ask after it
            try:
                await self._app(scope, receive, send)
            finally:
                self._given.clear()
            return
        path, query = scope["path"], scope["query_string"]
        if not _repeatable(path, query):
            await self._app(scope, receive, send)
            return
        key = path, query
        given = self._given.get(key)
        if given is not None and self._holds(key, given):
            scope["state"][HOLDS] = partial(self._holds, key, given)
            await send({**given.start, "headers": list(given.start["headers"])})  # others add theirs
            await send({"type": "http.response.body", "body": given.body})
            return
        await self._app(scope, receive, self._keeping(key, scope, send))

    def _holds(self, key: tuple[str, bytes], given: _Given) -> bool:
        """Whether an answer is still the one to give."""
        known = self._given.get(key) is given
        return known and given.version == self._version() and _now() < given.until

    def _keeping(self, key: tuple[str, bytes], scope: Scope, send: Send) -> Send:
        until, version = _now() + OLDEST, self._version()
        began: list[Message] = []

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                began.append({**message, "headers": list(message["headers"])})
            elif message.get("more_body"):
                began.clear()  # in parts: not kept
            elif began and len(message["body"]) <= LARGEST:
                self._given.pop(key, None)
                self._given[key] = given = _Given(began[0], message["body"], until, version)
                scope["state"][HOLDS] = partial(self._holds, key, given)
                if len(self._given) > MOST:
                    del self._given[next(iter(self._given))]
            await send(message)

        return sending


def _repeatable(path: str, query: bytes) -> bool:
    """Whether it says how things are now: the moot, the motions, or one of them; long polls wait instead."""
    if b"wait" in query:
        return False
    return path in _PATHS or (path.startswith("/v1/motions/") and path.count("/") == 3)


def _now() -> float:
    return asyncio.get_running_loop().time()
