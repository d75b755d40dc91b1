"""The same request is answered once for many, and nobody is told of what is over that it is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from folkmoot.web import recent
from folkmoot.web.recent import LARGEST, MOST, Recent


class Counting:
    """Says how often it was asked; changes what it is given, as others on the way do."""

    def __init__(self, status: int = 200, parts: int = 1, size: int = 0) -> None:
        self.asked, self.version = 0, 0
        self._status, self._parts, self._size = status, parts, size

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        self.asked += 1
        await send({"type": "http.response.start", "status": self._status, "headers": [(b"x", b"1")]})
        for part in range(self._parts):
            body = f"{self.asked}".encode() + b" " * self._size
            await send({"type": "http.response.body", "body": body, "more_body": part + 1 < self._parts})


def told(app: Recent, path: str, query: bytes = b"", method: str = "GET") -> list[Any]:
    """What is sent: headers, and bodies."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        if "headers" in message:
            message["headers"].append((b"added", b"later"))
            sent.append(list(message["headers"]))
        else:
            sent.append(message["body"].strip())

    async def ask() -> None:
        scope = {"method": method, "path": path, "query_string": query, "state": {}}
        await app(scope, lambda: None, send)  # type: ignore[arg-type, return-value]

    asyncio.run(ask())
    return sent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that a test sets."""
    now = [100.0]
    monkeypatch.setattr(recent, "_now", lambda: now[0])
    return now


HEAD = [(b"x", b"1"), (b"added", b"later")]


@pytest.mark.parametrize("path", ["/v1/moot", "/v1/motions", "/v1/motions/last", "/v1/motions/00ff"])
def test_an_answer_is_sent_again_for_a_tenth_of_a_second(path: str, clock: list[float]) -> None:
    inner = Counting()
    app = Recent(inner, lambda: inner.version)
    assert [told(app, path) for _ in range(3)] == [[HEAD, b"1"]] * 3  # what others added is not kept
    clock[0] += 0.099
    assert told(app, path) == [HEAD, b"1"]
    clock[0] += 0.002
    assert told(app, path) == [HEAD, b"2"]  # its age counts from when it was asked for, not sent again
    assert told(app, path, b"last=5") == [HEAD, b"3"]  # another question


def test_what_has_happened_is_told_at_once(clock: list[float]) -> None:
    inner = Counting()
    app = Recent(inner, lambda: inner.version)
    assert told(app, "/v1/motions")[1] == b"1"
    inner.version += 1
    assert told(app, "/v1/motions")[1] == b"2"
    for number, method in enumerate(("POST", "PUT"), 2):
        assert told(app, "/v1/motions")[1] == f"{2 * number - 2}".encode()
        told(app, "/v1/motions", method=method)
        assert told(app, "/v1/motions")[1] == f"{2 * number}".encode()
    assert clock == [100.0]


@pytest.mark.parametrize(
    ("path", "query"),
    [("/v1/motions/last", b"wait=30"), ("/v1/events", b""), ("/v1/access", b""), ("/v1/records", b""),
     ("/v1/motions/last/inputs", b""), ("/v1/motions/last/certificate", b""), ("/openapi.json", b"")],
)  # fmt: skip
def test_all_else_is_asked_each_time(path: str, query: bytes) -> None:
    inner = Counting()
    app = Recent(inner, lambda: inner.version)
    assert [told(app, path, query)[1] for _ in range(2)] == [b"1", b"2"]


@pytest.mark.parametrize("inner", [Counting(404), Counting(parts=2), Counting(size=LARGEST + 1)])
def test_refusals_parts_and_large_answers_are_not_kept(inner: Counting) -> None:
    app = Recent(inner, lambda: inner.version)
    told(app, "/v1/moot")
    assert told(app, "/v1/moot")[1] == b"2"


def test_what_is_kept_is_bounded() -> None:
    inner = Counting()
    app = Recent(inner, lambda: inner.version)
    for number in range(3 * MOST):
        told(app, "/v1/motions", f"last={number}".encode())
    assert len(app._given) == MOST
