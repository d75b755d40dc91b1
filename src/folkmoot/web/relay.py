"""What one server asks another in somebody's name: a request to a node's page, and its answer as it comes.

It speaks HTTP/1.0 to the node: the answer then has no chunks and ends with the connection, streams included.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from folkmoot.web.refusals import RefusalError
from folkmoot.web.streams import SENDING, gone

HEAD_SECONDS: Final = 8.0  # in which an answer must begin
LONG_SECONDS: Final = 70.0  # the same, of a long poll or of something that is read first
CONNECTING: Final = 3.0  # seconds
_BLOCK: Final = 64 << 10
_ASKED: Final = ("content-type", "content-length", "idempotency-key", "last-event-id")
_ANSWERED: Final = ("content-type", "content-disposition", "retry-after", "location")


class Place(NamedTuple):
    """Where a node answers, and the tokens of its folder."""

    host: str
    port: int
    ask: str
    read: str


class Heard(NamedTuple):
    """The head of an answer; the rest can be read."""

    status: int
    headers: dict[str, str]
    rest: asyncio.StreamReader


@asynccontextmanager
async def asked(
    place: Place, method: str, target: str, token: str, headers: Mapping[str, str], body: Request | None
) -> AsyncIterator[Heard]:
    """Ask a node; OSError if it is not there, TimeoutError if it does not answer."""
    async with asyncio.timeout(CONNECTING):
        reader, writer = await asyncio.open_connection(place.host, place.port)
    try:
        said = {"Host": f"{place.host}:{place.port}", "Authorization": f"Bearer {token}", **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        writer.write(f"{method} {target} HTTP/1.0\r\n{head}\r\n".encode("latin-1"))
        patient = body is not None or "wait=" in target
        async with asyncio.timeout(LONG_SECONDS if patient else HEAD_SECONDS):
            if body is not None:
                with suppress(ConnectionError):  # it has refused already: read why
                    async for part in body.stream():
                        writer.write(part)
                        await writer.drain()
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in lines[1:] if line)
        yield Heard(int(lines[0].split()[1]), {name.lower(): value for name, _, value in pairs}, reader)
    finally:
        writer.close()


class Relayed(Response):
    """The answer of a node to a request, for whoever asked; a client that has gone ends it at once."""

    def __init__(self, place: Place, name: str, target: str, request: Request) -> None:
        super().__init__()
        self._place, self._name, self._target, self._request = place, name, target, request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask, and pass on what is said."""
        request, method = self._request, scope["method"]
        headers = {name: request.headers[name] for name in _ASKED if name in request.headers}
        if method not in ("GET", "HEAD") and "content-length" not in headers:
            raise RefusalError(411, "a body must come with its length", {"Connection": "close"})
        token = self._place.ask if scope["state"]["right"] == "ask" else self._place.read
        body = request if "content-length" in headers else None
        try:
            async with asked(self._place, method, self._target, token, headers, body) as heard:
                await self._pass_on(heard, receive, send)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            raise RefusalError(
                502, f"{self._name} does not answer: it may have been killed or stopped"
            ) from None

    async def _pass_on(self, heard: Heard, receive: Receive, send: Send) -> None:
        passed = [
            (name.encode(), heard.headers[name].encode("latin-1"))
            for name in _ANSWERED
            if name in heard.headers
        ]
        await send({"type": "http.response.start", "status": heard.status, "headers": passed})
        leaving = asyncio.ensure_future(gone(receive))
        try:
            while not leaving.done():
                block = asyncio.ensure_future(heard.rest.read(_BLOCK))
                await asyncio.wait({block, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not block.done():
                    block.cancel()
                    return
                with suppress(OSError):
                    if part := block.result():
                        async with asyncio.timeout(SENDING):
                            await send({"type": "http.response.body", "body": part, "more_body": True})
                        continue
                break
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            leaving.cancel()
