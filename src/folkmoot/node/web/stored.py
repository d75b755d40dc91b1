"""The folder of a node that does not run, asked over the same calls as one that runs: without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.types import Message

from folkmoot.node.client import Client, refusal
from folkmoot.node.log import Journal
from folkmoot.node.service.archive import NodeArchive, open_archive
from folkmoot.node.service.operation import locked
from folkmoot.node.web.api import Api
from folkmoot.node.web.guard import Answering
from folkmoot.node.web.requests import Reader


class _Stopped:
    """Stands for a ``Node``, as far as stored motions and rosters are asked for."""

    def __init__(self, archive: NodeArchive) -> None:
        self.archive, self.find = archive, archive.find

    def live(self, _motion: bytes) -> None:
        """Nothing is under way."""


class Stored(Client):
    """A client of a folder: what needs a node that runs is refused."""

    def __init__(self, folder: Path, archive: NodeArchive) -> None:
        super().__init__(folder)
        node: Any = _Stopped(archive)
        feed: Any = None
        router = Api(node, Reader(folder), feed, None).router()
        self._app = Answering(router, lambda _scope: "ask", Journal("error"))

    def _bytes(
        self,
        path: str,
        method: str = "GET",
        body: bytes | Iterable[bytes] | None = None,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        data = b"" if body is None else body if isinstance(body, bytes) else b"".join(body)
        status, said = asyncio.run(self._answered(path, method, data, headers or {}))
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            raise refusal(status, HTTPStatus(status).phrase, said)
        return said

    async def _answered(
        self, path: str, method: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        where, _, query = path.partition("?")
        said = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {
            "type": "http", "method": method, "path": unquote(where), "raw_path": where.encode(),
            "query_string": query.encode(), "headers": said, "root_path": "", "scheme": "http",
            "http_version": "1.1", "server": None, "client": None,
        }  # fmt: skip
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        async def send(message: Message) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:])


@contextmanager
def stored(folder: Path) -> Iterator[Stored]:
    """A client of the folder, which is not started meanwhile."""
    with locked(folder), open_archive(folder) as archive:
        yield Stored(folder, archive)
