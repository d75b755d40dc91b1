"""Requests that come again word for word get the same bytes, exactly as long as they would be answered so."""

from __future__ import annotations

import asyncio
import http.client
import io
import re
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from folkmoot.network.storage.journal import Journal
from folkmoot.network.transports.budget import Budget
from folkmoot.web import again, guard, recent
from folkmoot.web.again import BUDGET, HOLDS, LARGEST, LONGEST, MOST, MOST_PARTS, Again, Copied, is_whole
from folkmoot.web.connections import server
from folkmoot.web.guard import Guard
from folkmoot.web.recent import Recent

TOKEN, READ = "a" * 48, "b" * 48


class App:
    """Says how often it was asked, and what for; it answers when it may."""

    def __init__(self) -> None:
        self.asked, self.version = 0, 0
        self.may = asyncio.Event()
        self.may.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        del receive
        self.asked += 1
        number = self.asked
        await self.may.wait()
        body = f"{number} {scope['path']}".encode()
        head = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})


class Client:
    """One connection, which says exactly these bytes."""

    def __init__(self, app: App, counts: Counter[str], port: int) -> None:
        self.app, self.counts, self.port = app, counts, port
        self._others: list[Client] = []

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)

    def request(
        self, path: str = "/v1/moot", token: str = TOKEN, extra: str = "", method: str = "GET"
    ) -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {token}\r\n"
        return f"{head}{extra}\r\n".encode()

    async def said(self, *parts: bytes, answers: int = 1) -> list[bytes]:
        """What is answered, whole, head by head and body by body."""
        for part in parts:
            self._writer.write(part)
            await self._writer.drain()
            await asyncio.sleep(0.01)  # in packets of their own
        found = []
        for _ in range(answers):
            head = await self._reader.readuntil(b"\r\n\r\n")
            (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
            found.append(head + await self._reader.readexactly(int(length)))
        return found

    def say(self, data: bytes) -> None:
        self._writer.write(data)

    def vanish(self) -> None:
        self._writer.transport.abort()

    async def ended(self) -> bool:
        return await self._reader.read() == b""

    async def again(self) -> Client:
        other = Client(self.app, self.counts, self.port)
        self._others.append(other)
        await other.open()
        return other

    async def close(self) -> None:
        for each in (self, *self._others):
            each._writer.close()
            await each._writer.wait_closed()


def body(answer: bytes) -> bytes:
    """As the standard library reads it."""

    class Wire:
        def makefile(self, *_: Any) -> io.BytesIO:
            return io.BytesIO(answer)

    response = http.client.HTTPResponse(Wire())  # type: ignore[arg-type]
    response.begin()
    return response.read()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that a test sets."""
    now = [100.0]
    for module in (again, guard, recent):
        monkeypatch.setattr(module, "_now", lambda: now[0])
    return now


def play(script: Callable[[Client], Awaitable[None]]) -> None:
    """A page with an app of its own, and one client."""

    async def whole() -> None:
        app, counts = App(), Counter[str]()
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        port = listener.getsockname()[1]
        tokens: dict[guard.Right, str] = {"ask": TOKEN, "read": READ}
        inner = Recent(app, lambda: app.version)

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            counts["read"] += 1
            await inner(scope, receive, send)

        names = {"hosts": {f"127.0.0.1:{port}"}, "origins": set[str]()}
        serving = server(Guard(counted, tokens=tokens, counts=counts, log=Journal("error"), **names), counts)
        task = asyncio.ensure_future(serving.serve(sockets=[listener]))
        client = Client(app, counts, port)
        await client.open()
        try:
            await script(client)
        finally:
            await client.close()
            await serving.leave(task)

    asyncio.run(asyncio.wait_for(whole(), 20.0))


def test_the_same_bytes_are_answered_by_the_same_bytes_until_something_happens(clock: list[float]) -> None:
    async def script(client: Client) -> None:
        request = client.request()
        (first,) = await client.said(request)
        assert body(first) == b"1 /v1/moot"
        other = await client.again()
        for one in (client, other, client, other):
            assert await one.said(request) == [first]
        assert client.counts["read"] == 1  # HTTP was read once
        assert await client.said(client.request(extra="Connection: keep-alive\r\n")) != [b""]
        for change in ("time", "news", "post"):
            if change == "time":
                clock[0] += recent.OLDEST
            elif change == "news":
                client.app.version += 1
            else:
                await other.said(client.request(method="POST"))
            asked = client.app.asked
            (answer,) = await client.said(request)
            assert body(answer) == f"{asked + 1} /v1/moot".encode()
            assert await other.said(request) == [answer]

    play(script)


def test_who_asks_for_something_else_is_not_given_it(clock: list[float]) -> None:
    async def script(client: Client) -> None:
        await client.said(client.request())
        await client.said(client.request())
        wrong = await client.said(client.request(token="c" * 48))
        assert wrong[0].startswith(b"HTTP/1.1 401 ")
        foreign = client.request().replace(b"Host: 127.0.0.1", b"Host: evil.example")
        assert (await client.said(foreign))[0].startswith(b"HTTP/1.1 421 ")
        for _ in range(2):
            assert body((await client.said(client.request("/v1/motions")))[0]) == b"2 /v1/motions"
            assert body((await client.said(client.request(token=READ)))[0]) == b"1 /v1/moot"

    play(script)
    assert clock == [100.0]


def test_each_answer_is_paid_for(clock: list[float]) -> None:
    rate, burst = guard.RATES["read"]

    async def script(client: Client) -> None:
        request = client.request(token=READ)
        answers = [(await client.said(request))[0] for _ in range(3)]
        assert len(set(answers)) == 1
        client.app.version += 1  # and the next is read again
        paid = 3
        while (answer := (await client.said(request))[0]).startswith(b"HTTP/1.1 200 "):
            paid += 1
        assert paid == burst
        assert answer.startswith(b"HTTP/1.1 429 ")
        assert client.counts["refused_page_rate"] == 1
        clock[0] += 1.5 / rate
        assert (await client.said(request))[0].startswith(b"HTTP/1.1 200 ")
        assert (await client.said(request))[0].startswith(b"HTTP/1.1 429 ")

    fast = Client.said

    async def said(self: Client, *parts: bytes, answers: int = 1) -> list[bytes]:
        self._writer.writelines(parts)
        return await fast(self, answers=answers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "said", said)
        play(script)


@pytest.mark.usefixtures("clock")
def test_requests_in_pieces_and_several_at_once_are_read_as_they_are() -> None:
    async def script(client: Client) -> None:
        request, other = client.request(), client.request("/v1/motions")
        (first,) = await client.said(request)
        assert await client.said(request[:50], request[50:]) == [first]
        assert await client.said(request[:-1], request[-1:]) == [first]
        at_once = await client.said(request + other, answers=2)
        assert [body(each) for each in at_once] == [b"1 /v1/moot", b"2 /v1/motions"]
        bare = request.replace(b"\r\n", b"\n") + other  # ends once as such a request does, and is two
        for _ in range(3):
            at_once = await client.said(bare, answers=2)
            assert [body(each) for each in at_once] == [b"1 /v1/moot", b"2 /v1/motions"]
        with_body = client.request(extra="Content-Length: 3\r\n")
        for _ in range(3):  # the head is the same each time, and what follows is no request
            assert body((await client.said(with_body, b"abc"))[0]) == b"1 /v1/moot"
        assert await client.said(request) == [first]

    play(script)


@pytest.mark.usefixtures("clock")
def test_who_comes_while_an_answer_is_made_gets_that_one() -> None:
    async def script(client: Client) -> None:
        app, request = client.app, client.request()
        await client.said(request)  # such a request is known now
        clients = [await client.again() for _ in range(6)]
        for gone in range(3):  # how many vanish meanwhile: those who have it made, at that
            app.version += 1
            app.may.clear()
            asked, read = app.asked, client.counts["read"]
            for each in clients:
                each.say(request)
            await until(lambda asked=asked: app.asked > asked)  # type: ignore[misc]
            for number, each in enumerate(clients[:gone], 2):
                each.vanish()
                await until(lambda asked=asked, number=number: app.asked == asked + number)  # type: ignore[misc]
            app.may.set()
            del clients[:gone]
            answers = {(await each.said())[0] for each in clients}
            assert len(answers) == 1
            assert client.counts["read"] - read == 1 + gone  # the others did not have it read

    play(script)


@pytest.mark.usefixtures("clock")
def test_who_waits_and_says_more_is_answered_both_in_order() -> None:
    async def script(client: Client) -> None:
        app, request, more = client.app, client.request(), client.request("/v1/motions")
        await client.said(request)
        app.version += 1
        app.may.clear()
        other = await client.again()
        client.say(request)
        await until(lambda: app.asked == 2)
        other.say(request)
        await asyncio.sleep(0.02)
        assert app.asked == 2  # it waits
        other.say(more[:30])
        await asyncio.sleep(0.02)
        other.say(more[30:])
        await until(lambda: app.asked == 3)
        app.may.set()
        assert [body(each) for each in await other.said(answers=2)] == [b"3 /v1/moot", b"4 /v1/motions"]
        assert body((await client.said())[0]) == b"2 /v1/moot"

    play(script)


async def until(reached: Callable[[], bool]) -> None:
    while not reached():
        await asyncio.sleep(0.001)


@pytest.mark.usefixtures("clock")
def test_a_connection_that_is_to_be_closed_is() -> None:
    async def script(client: Client) -> None:
        for _ in range(2):
            one = await client.again()
            await one.said(client.request())
            (answer,) = await one.said(client.request(extra="Connection: close\r\n"))
            assert b"connection: close" in answer.lower()
            assert await one.ended()
            one = await client.again()
            old = client.request().replace(b"HTTP/1.1", b"HTTP/1.0")
            assert body((await one.said(old))[0]) == b"1 /v1/moot"
            assert await one.ended()

    play(script)


def scope(**headers: str) -> dict[str, Any]:
    state = {HOLDS: lambda: True, BUDGET: Budget(1e-9, 2.0)}
    return {"state": state, "headers": [(n.encode(), v.encode()) for n, v in headers.items()]}


def test_what_is_kept_is_bounded_and_only_what_may_be() -> None:
    async def script() -> None:
        kept = Again()
        for number in range(3 * MOST):
            kept.keep(f"{number}".encode(), scope(), b"x")
        assert len(kept._kept) == MOST
        kept.keep(b"large", scope(), b"x" * (LARGEST + 1))
        kept.keep(b"body", {**scope(), "headers": [(b"transfer-encoding", b"chunked")]}, b"x")
        kept.keep(b"once", {"state": {BUDGET: Budget(1.0, 1.0)}, "headers": []}, b"x")
        assert [kept.answer(each) for each in (b"large", b"body", b"once", b"0")] == [None] * 4
        newest = f"{3 * MOST - 1}".encode()
        assert [kept.answer(newest) for _ in range(3)] == [b"x", b"x", None]  # the budget is two

    asyncio.run(script())


def test_which_bytes_are_one_request() -> None:
    whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    assert is_whole(whole)
    for other in (b"", whole[:-1], whole + whole, whole + b"x", b"POST" + whole[3:], b"\r\n\r\n",
                  b"GET / HTTP/1.1\r\nX: " + b"x" * LONGEST + b"\r\n\r\n"):  # fmt: skip
        assert not is_whole(other)


def test_a_copy_has_all_that_was_sent_or_nothing() -> None:
    sent: list[bytes] = []

    class Wire:
        write = staticmethod(sent.append)
        closing = False

    copied = Copied(Wire())
    copied.write(b"ab")
    copied.write(b"c")
    assert (copied.copy, copied.closing) == (b"abc", False)
    for _ in range(MOST_PARTS - 1):
        copied.write(b"x")
    assert copied.copy == b""
    assert b"".join(sent) == b"abcxxx"
    large = Copied(Wire())
    large.write(b"x" * (LARGEST + 1))
    assert large.copy == b""
