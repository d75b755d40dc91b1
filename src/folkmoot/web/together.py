"""One page for several nodes of a machine: what each sees, passed on as it is, and all of them together.

It knows no rule of the API: a request about one node goes to that node. All together is what the nodes' own
events say, node by node, gathered here because a browser cannot follow many streams at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from folkmoot.web import files
from folkmoot.web.refusals import RefusalError
from folkmoot.web.relay import Place, Relayed, asked
from folkmoot.web.streams import MOST_STREAMS, PING, SENDING, gone

TOLD: Final = 0.25  # seconds between two events
KEPT: Final = 120  # points of the series; then every second one is left out
RETRY: Final = 1.0  # seconds before a node that has gone is looked for again
_PING: Final = b"event: ping\ndata: {}\n\n"


class Hall(msgspec.Struct, frozen=True):
    """Who is behind this page."""

    may: str
    nodes: list[str]


class Seen(msgspec.Struct):
    """One node, by its own events; of its newest motion."""

    name: str
    lies: bool = False  # it was started so
    there: bool = False
    motion: str = ""
    phase: str = ""
    round: int = 0
    held: dict[str, float] = {}
    undecided: int | None = None  # when it is over
    accuses: list[str] = []  # in that motion


class Motion(msgspec.Struct):
    """What was put to all of them last."""

    motion: str
    asker: str
    inputs: int
    labels: list[str]
    rounds: int


class Together:
    """All nodes of one moot on this machine."""

    def __init__(self, names: Sequence[str]) -> None:
        self._nodes = {name: Seen(name) for name in names}
        self._places: dict[str, Place] = {}
        self._motion: Motion | None = None
        self._series: list[dict[str, float]] = []  # mean of what honest nodes hold
        self._every = 1  # so many looks are between two points of it
        self._serial = 0
        self._changed = False
        self._tasks: list[asyncio.Task[None]] = []
        self._streams = 0
        self._news = asyncio.get_running_loop().create_future()
        self.closed = False

    def router(self) -> Router:
        """What is answered where."""
        methods = ["GET", "POST", "PUT"]
        return Router(
            [
                *files.routes(),
                Route("/v1/access", self._access, methods=["GET"]),
                Route("/v1/together", self._together, methods=["GET"]),
                Route("/v1/together/events", self._events, methods=["GET"]),
                Route("/nodes/{name}/v1/{path:path}", self._one, methods=methods),
            ],
            redirect_slashes=False,
        )

    def show(self, places: Mapping[str, Place], liars: Collection[str]) -> None:
        """The nodes have started: follow them."""
        self._places = dict(places)
        for name in places:
            self._nodes[name].lies = name in liars
            self._tasks.append(asyncio.ensure_future(self._follow(name)))
        self._tasks.append(asyncio.ensure_future(self._publish()))

    def close(self) -> None:
        """End all streams."""
        self.closed = True
        for task in self._tasks:
            task.cancel()
        self._wake()

    # ---- what is asked -----------------------------------------------------------------------

    async def _access(self, request: Request) -> Response:
        return _json(Hall(request.state.right, list(self._nodes)))

    async def _together(self, _request: Request) -> Response:
        return _json(self._all())

    async def _events(self, _request: Request) -> Response:
        if self._streams >= MOST_STREAMS:
            raise RefusalError(
                503, f"{MOST_STREAMS} clients follow already: close one of them", {"Retry-After": "5"}
            )
        return _Stream(self)

    async def _one(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._nodes:
            raise RefusalError(404, f"there is no node {name!r:.80} here")
        if name not in self._places:
            raise RefusalError(503, f"{name} has not started yet", {"Retry-After": "1"})
        path = request.scope["raw_path"].decode("latin-1").split("/", 3)[3]  # as it was sent, still quoted
        query = f"?{request.url.query}" if request.url.query else ""
        return Relayed(self._places[name], name, f"/{path}{query}", request)

    def _all(self) -> dict[str, Any]:
        return {"motion": self._motion, "nodes": list(self._nodes.values()), "series": self._series}

    # ---- what the nodes tell -----------------------------------------------------------------

    async def _follow(self, name: str) -> None:
        place, seen = self._places[name], self._nodes[name]
        last = ""
        while True:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError, KeyError):
                headers = {"Last-Event-ID": last} if last else {}
                async with asked(place, "GET", "/v1/events", place.read, headers, None) as heard:
                    async for kind, number, data in _events_in(heard.rest):
                        last = number or last
                        await self._heard(seen, kind, data)
            if seen.there:
                seen.there, self._changed = False, True
            await asyncio.sleep(RETRY)

    async def _heard(self, seen: Seen, kind: str, data: dict[str, Any]) -> None:
        seen.there = self._changed = True
        if kind == "moot":
            under_way = [each["motion"] for each in data["motions"]]
            if under_way and under_way[-1] != seen.motion:
                await self._catch_up(seen, under_way[-1])
        elif kind == "opened":
            self._put(data)
            seen.motion, seen.undecided, seen.accuses, seen.held = data["motion"], None, [], {}
            seen.phase, seen.round = "voting", 0
        elif data.get("motion") != seen.motion:
            return
        elif kind == "progress":
            seen.phase, seen.round = data["phase"], data["round"]
            seen.held = data["held"] or seen.held
        elif kind == "accused":
            seen.accuses = [*seen.accuses, data["participant"]]
        elif kind == "over":
            seen.phase, seen.undecided = "over", data["undecided"]

    def _put(self, data: Mapping[str, Any]) -> None:
        if self._motion is None or self._motion.motion != data["motion"]:
            self._motion = Motion(**{name: data[name] for name in Motion.__struct_fields__})
            self._series, self._every = [], 1

    async def _catch_up(self, seen: Seen, motion: str) -> None:
        """A motion began before its node was followed: ask how it stands."""
        place = self._places[seen.name]
        async with asked(place, "GET", f"/v1/motions/{motion}", place.read, {}, None) as heard:
            told = msgspec.json.decode(await heard.rest.read())
        self._put(told)
        live = told["live"] or {"phase": "over", "round": told["rounds_played"], "held": {}}
        seen.motion, seen.accuses = motion, list(told["evidence"])
        seen.undecided = None if told["live"] else told["undecided"]
        seen.phase, seen.round, seen.held = live["phase"], live["round"], live["held"]

    async def _publish(self) -> None:
        while True:
            await asyncio.sleep(TOLD)
            if not self._changed:
                continue
            self._changed = False
            self._serial += 1
            if any(seen.phase in ("talking", "closing") for seen in self._nodes.values()):
                self._note()
            self._wake()

    def _note(self) -> None:
        if self._serial % self._every == 0:
            self._series.append(self._mean())
        if len(self._series) > KEPT:
            self._series, self._every = self._series[::2], 2 * self._every

    def _mean(self) -> dict[str, float]:
        """What honest nodes hold, on the average."""
        held = [seen.held for seen in self._nodes.values() if seen.held and not seen.lies]
        labels = self._motion.labels if self._motion is not None else []
        return {
            label: round(sum(each.get(label, 0.0) for each in held) / len(held), 4)
            for label in labels
            if any(label in each for each in held)
        }

    # ---- followers ---------------------------------------------------------------------------

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.get_running_loop().create_future()
        news.set_result(None)

    async def follow(self, receive: Receive, send: Send) -> None:
        """Tell one client how all are, whenever that has changed."""
        leaving = asyncio.ensure_future(gone(receive))
        self._streams += 1
        try:
            told = -1
            while not self.closed and not leaving.done():
                if told != self._serial:
                    told = self._serial
                    text = b"event: together\ndata: " + msgspec.json.encode(self._all()) + b"\n\n"
                else:
                    await asyncio.wait(
                        {self._news, leaving}, timeout=PING, return_when=asyncio.FIRST_COMPLETED
                    )
                    if told != self._serial or leaving.done() or self.closed:
                        continue
                    text = _PING
                async with asyncio.timeout(SENDING):
                    await send({"type": "http.response.body", "body": text, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            pass  # it does not read what it is sent
        finally:
            self._streams -= 1
            leaving.cancel()


class _Stream(Response):
    def __init__(self, together: Together) -> None:
        super().__init__(media_type="text/event-stream")
        self._together = together

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._together.follow(receive, send)


async def _events_in(reader: asyncio.StreamReader) -> AsyncIterator[tuple[str, str, dict[str, Any]]]:
    """Kind, id and data of each event of a stream."""
    fields: dict[str, str] = {}
    while line := (await reader.readline()).decode():
        name, _, value = line.rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif fields:
            yield fields.get("event", ""), fields.get("id", ""), msgspec.json.decode(fields["data"])
            fields = {}


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
