"""Events: what happens is told in order, once, and a client that was away goes on where it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from folkmoot.node.client import SOCKET, Client
from folkmoot.node.session.terms import Terms
from folkmoot.node.wire.batch import Batch
from support.node.served import Played, opened, told


@asynccontextmanager
async def following(folder: Path, after: str = "") -> AsyncIterator[asyncio.StreamReader]:
    """A stream of events, as a program without a library reads it."""
    reader, writer = await asyncio.open_unix_connection(folder / SOCKET)
    known = f"Last-Event-ID: {after}\r\n" if after else ""
    writer.write(f"GET /v2/events HTTP/1.1\r\nHost: node\r\n{known}\r\n".encode())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    assert b"text/event-stream" in head or b" 503 " in head, head
    yield reader
    writer.close()


async def read(reader: asyncio.StreamReader, until: str) -> list[dict[str, str]]:
    """Events up to one of a kind; their data are JSON of one line."""
    found: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    while not found or found[-1]["event"] != until:
        line = (await asyncio.wait_for(reader.readline(), 20)).decode().rstrip("\n")
        if not line and fields:
            found.append(fields)
            fields = {}
        name, colon, value = line.partition(": ")
        if colon and name in ("id", "event", "data"):
            fields[name] = value
    return found


def motion(played: Played) -> bytes:
    terms = Terms(labels=("even", "odd"))
    return played.begins(Batch([[1.0], [2.0]]), terms)


def test_a_motion_is_told_from_its_opening_to_its_end(tmp_path: Path) -> None:
    played = Played()

    async def seen() -> None:
        async with opened(played, tmp_path), following(tmp_path) as stream:
            assert [event["event"] for event in await read(stream, "moot")] == ["moot"]
            name = motion(played)
            first = await read(stream, "progress")
            assert [event["event"] for event in first] == ["opened", "progress"]
            played.goes_on(name, phase="agreeing on who voted", committed=["north"])
            played.accuses(name, "member-02")
            more = await read(stream, "progress")
            assert [event["event"] for event in more] == ["accused", "progress"]
            assert '"participant":"member-02"' in more[0]["data"]
            assert '"committed":1' in more[1]["data"]
            played.ends(name)
            last = await read(stream, "over")
            assert '"undecided":0' in last[-1]["data"]
            serials = [int(event["id"].partition("-")[2]) for event in [*first, *more, *last]]
            assert serials == list(range(1, len(serials) + 1))
            played.happened(name)  # it is over: nothing is told again

            async with following(tmp_path, first[0]["id"]) as late:
                missed = await read(late, "over")
                assert [event["id"] for event in missed] == [e["id"] for e in [first[1], *more, *last]]
            for unknown in ("4-1", "5-99", "nonsense"):
                async with following(tmp_path, unknown) as other:
                    assert [event["event"] for event in await read(other, "moot")] == ["moot"]

    asyncio.run(seen())


def test_somebody_who_goes_silent_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folkmoot.node.web.feed.TICK", 0.02)
    played = Played()

    async def seen() -> None:
        async with opened(played, tmp_path), following(tmp_path) as stream:
            await read(stream, "moot")
            await asyncio.sleep(0.1)  # how it was before
            played.away.add("member-03")
            found = await read(stream, "silent")
            assert '"participant":"member-03","state":"away"' in found[-1]["data"]

    asyncio.run(seen())


def test_streams_are_bounded_and_end_with_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folkmoot.node.web.feed.MOST_STREAMS", 1)
    monkeypatch.setattr("folkmoot.node.web.feed.PING", 0.05)

    async def seen() -> None:
        async with opened(Played(), tmp_path):
            reader, writer = await asyncio.open_unix_connection(tmp_path / SOCKET)
            writer.write(b"GET /v2/events HTTP/1.1\r\nHost: node\r\n\r\n")
            await read(reader, "ping")
            async with following(tmp_path) as refused:
                assert b"follow the events already" in await asyncio.wait_for(refused.read(300), 20)
        assert await asyncio.wait_for(reader.read(), 20) == b"0\r\n\r\n" or reader.at_eof()
        writer.close()

    asyncio.run(seen())


def test_waiting_for_a_motion_ends_with_it(tmp_path: Path) -> None:
    played = Played()

    async def waited() -> None:
        async with opened(played, tmp_path):
            name = motion(played)
            waiting = asyncio.create_task(told(Client(tmp_path).motion, name.hex(), wait=20.0))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            played.ends(name)
            assert (await waiting)["live"] is None

    asyncio.run(waited())
