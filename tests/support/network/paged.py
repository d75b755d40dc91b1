"""A node with a page, seen from outside: plain HTTP, without the client of folkmoot."""

from __future__ import annotations

import http.client
import json
import socket
import time
from http.client import HTTPMessage
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Reply(NamedTuple):
    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Paged:
    """Where a node's page is, and both of its tokens."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = json.loads((folder / "page.json").read_text())["url"]
        self.port = urlsplit(self.url).port or 0
        self.token = (folder / "token").read_text().strip()
        self.read_token = (folder / "token.read").read_text().strip()

    def send(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> Reply:
        """One request; a body that is no bytes is sent as JSON. Headers by name, with _ for -."""
        said = {"Authorization": f"Bearer {self.token if token is None else token}"}
        if body is not None and not isinstance(body, bytes):
            body, said["Content-Type"] = json.dumps(body).encode(), "application/json"
        said |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120.0)
        try:
            connection.request(method, path, body, said)
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Any:
        """What a path says, which must be there."""
        reply = self.send("GET", path, **headers)
        assert reply.status == 200, reply.body
        return reply.json

    def ask(self, rows: list[list[float]], **terms: Any) -> str:
        """Put a motion; its name."""
        reply = self.send("POST", "/v1/motions", {"rows": rows, "seconds": 12.0, **terms})
        assert reply.status == 202, reply.body
        name: str = reply.json["motion"]
        assert reply.headers["Location"] == f"/v1/motions/{name}"
        return name

    def over(self, name: str) -> Any:
        """A motion when it is over."""
        told = self.get(f"/v1/motions/{name}?wait=30")
        assert told["state"] == "closed"
        return told

    def stream(self, last: str = "") -> Stream:
        return Stream(self, last)


class Stream:
    """A stream of events, as bytes on a socket."""

    def __init__(self, paged: Paged, last: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", paged.port), timeout=120.0)
        resume = f"Last-Event-ID: {last}\r\n" if last else ""
        head = f"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{paged.port}\r\n"
        head += f"Authorization: Bearer {paged.read_token}\r\n"
        self.socket.sendall(f"{head}{resume}\r\n".encode())
        self._file = http.client.HTTPResponse(self.socket)
        self._file.begin()
        self.status, self.headers = self._file.status, self._file.headers

    def next(self) -> tuple[str, str, Any] | None:
        """The next event: its id, kind and data; None at the end."""
        fields = {}
        while line := self._file.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            fields[name] = value
        return (fields.get("id", ""), fields["event"], json.loads(fields["data"])) if fields else None

    def until(self, kind: str, motion: str = "") -> list[tuple[str, str, Any]]:
        """All events up to one of a kind, of a motion."""
        found, end = [], time.monotonic() + 120.0
        while time.monotonic() < end and (event := self.next()):
            found.append(event)
            if event[1] == kind and motion in ("", event[2].get("motion")):
                return found
        raise AssertionError(f"no {kind} among {found}")

    def close(self) -> None:
        self._file.close()
        self.socket.close()
