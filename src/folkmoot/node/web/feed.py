"""Events of a node, for any number of clients: numbered, bounded, sent as text.

A node tells its observers whenever it has settled something, thousands of times a second. The feed only notes
which motions that were, and looks at each a few times a second. It keeps the last events in a ring. A client
that was away goes on after its last event. If that is gone, the client is told how things are now.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from folkmoot.node.log import Journal
from folkmoot.node.service.node import Node
from folkmoot.node.web.requests import RefusalError
from folkmoot.node.web.shapes import MOST_LISTED

Kind: TypeAlias = Literal["moot", "opened", "progress", "silent", "accused", "over", "ping"]
EVENTS: Final = (
    "Server-sent events: moot (how the node and its peers are; first, and when that changes), opened, "
    "progress (how far a motion is), silent, accused, over, ping; all but ping with an id."
)
KEPT: Final = 1000  # events
LOOKED: Final = 0.2  # seconds between two looks at what has changed
TICK: Final = 1.0  # seconds after which it is looked whether somebody has gone silent
MOST_STREAMS: Final = 64
PING: Final = 15.0  # seconds without news after which a stream says that it is still there
_PING: Final = b"event: ping\ndata: {}\n\n"
_MOST_KNOWN: Final = 256  # motions


class Event(NamedTuple):
    """One event, and the text of it that is sent; made once for all who follow."""

    serial: int
    text: bytes


class _Known(NamedTuple):
    """A motion, as clients were told of it."""

    phase: str
    round: int
    committed: int
    closed: int
    accused: frozenset[str]


_NEW: Final = _Known("", 0, 0, 0, frozenset())
_OVER: Final = "over"
# Facts whose change is told at once, besides connections.
_STANDING: Final = attrgetter("moot", "proposals", "accused", "invitations", "model.trouble", "has_room")


class Feed:
    """The events of one node."""

    def __init__(self, node: Node, log: Journal) -> None:
        self._node, self._log = node, log
        self.closed = False
        self.streams = 0
        self._ring: deque[Event] = deque(maxlen=KEPT)
        self._serial = 0
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()  # another one after each event
        self._dirty: dict[bytes, None] = {}
        self._awaited: Counter[bytes] = Counter()  # motions, by how many wait for them to be over
        self._known: dict[bytes, _Known] = {}
        self._peers: dict[str, str] | None = None
        self._told: object = None  # what else clients were told of the node, by which changes are seen
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticking = self._loop.call_later(TICK, self._tick)
        node.observe(self._settled)

    def close(self) -> None:
        """End all streams; everybody who waits is woken."""
        self.closed = True
        self._ticking.cancel()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        self._tell()

    # ---- what clients use --------------------------------------------------------------------

    def resumed(self, last: str | None) -> int | None:
        """The serial of the event that a client had last; None if what followed it is not known any more."""
        run, _, serial = (last or "").partition("-")
        if run != str(self._node.incarnation) or not serial.isdecimal() or len(serial) > 18:
            return None
        oldest = self._ring[0].serial if self._ring else self._serial + 1
        return int(serial) if oldest - 1 <= int(serial) <= self._serial else None

    def after(self, serial: int) -> list[Event] | None:
        """The events after one; None if some of them are gone."""
        if serial == self._serial:
            return []
        if not self._ring or serial < self._ring[0].serial - 1:
            return None
        return [self._ring[place] for place in range(serial - self._serial, 0)]

    async def news(self, seconds: float) -> bool:
        """Wait for the next event, or the end, so many seconds at the most; whether it came."""
        try:
            async with asyncio.timeout(seconds):
                return await self._news.wait()
        except TimeoutError:
            return False

    async def wait_for(self, motion: bytes, seconds: float) -> None:
        """Wait until a motion is over, or so many seconds have passed, or the node stops."""
        end = self._loop.time() + seconds
        self._awaited[motion] += 1
        try:
            while self._is_live(motion) and not self.closed and (left := end - self._loop.time()) > 0:
                await self.news(left)
        finally:
            self._awaited[motion] -= 1
            if not self._awaited[motion]:
                del self._awaited[motion]

    def _is_live(self, motion: bytes) -> bool:
        return self._node.live(motion) is not None

    def now(self) -> Event:
        """How the moot is at this moment, as an event after which others follow."""
        return Event(self._serial, self._text("moot", self._serial, self._node.status()))

    # ---- what the node tells -----------------------------------------------------------------

    def _settled(self, motion: bytes | None) -> None:
        if motion is not None:
            self._dirty[motion] = None
            if motion in self._awaited and not self._is_live(motion):  # somebody waits for just this
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = self._loop.call_later(0.0, self._publish_news)
        if self._timer is None and not self.closed:
            self._timer = self._loop.call_later(LOOKED, self._publish_news)

    def _tick(self) -> None:
        self._ticking = self._loop.call_later(TICK, self._tick)
        self._publish_peers()

    def _publish_news(self) -> None:
        self._timer = None
        dirty, self._dirty = self._dirty, {}
        for motion in dirty:
            self._publish_motion(motion)
        self._publish_peers()

    def _publish_motion(self, motion: bytes) -> None:
        live = self._node.live(motion)
        before = self._known.pop(motion, _NEW)
        if before.phase == _OVER:
            self._known[motion] = before
            return
        if live is None:
            now = before._replace(phase=_OVER)
        else:
            accused = before.accused.union(live.accused)
            now = _Known(live.phase, live.round, len(live.committed), len(live.closed), accused)
        self._known[motion] = now
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        if before is _NEW:
            self._publish("opened", {"motion": motion.hex(), **self._node.opening(motion)})
        if now.accused - before.accused:
            self._publish_accused(motion, now.accused - before.accused)
        if live is None:
            task = self._loop.create_task(self._publish_over(motion))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif now != before:
            progress = msgspec.to_builtins(live)
            progress |= {"committed": len(live.committed), "closed": len(live.closed)}
            self._publish("progress", {"motion": motion.hex(), **progress})

    def _publish_accused(self, motion: bytes, names: frozenset[str]) -> None:
        found = {
            each.participant: each
            for each in self._node.archive.accusations(MOST_LISTED)
            if each.motion == motion.hex()
        }
        for name in sorted(names):
            what = found[name].what if name in found else ""
            self._publish("accused", {"motion": motion.hex(), "participant": name, "what": what})

    async def _publish_over(self, motion: bytes) -> None:
        try:
            account = await self._node.archive.account(motion)
        except ValueError as error:  # forgotten, or damaged
            self._log.write("warning", "motion not told", motion=motion.hex(), why=str(error))
            return
        names = ("state", "inputs", "undecided", "seconds")
        facts = {name: getattr(account, name) for name in names}
        self._publish("over", {"motion": motion.hex(), **facts})

    def _publish_peers(self) -> None:
        if not self.streams:  # nobody looks; a client that comes is told how things are
            self._peers = None
            return
        status = self._node.status()
        peers = {
            peer.name: "away" if not peer.connected else "benched" if peer.benched else "there"
            for peer in status.peers
        }
        before, self._peers = self._peers, peers
        known, self._told = self._told, _STANDING(status)
        if before is None or (before, known) == (peers, self._told):
            return
        self._publish("moot", status)
        for peer in status.peers:
            if peers[peer.name] != "there" and before.get(peer.name) == "there":
                said = {"participant": peer.name, "state": peers[peer.name], "seen": peer.seen}
                self._publish("silent", said)

    # ---- sending -----------------------------------------------------------------------------

    def _publish(self, kind: Kind, data: Any) -> None:
        self._serial += 1
        self._ring.append(Event(self._serial, self._text(kind, self._serial, data)))
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _text(self, kind: Kind, serial: int, data: Any) -> bytes:
        number = f"{self._node.incarnation}-{serial}"
        return f"id: {number}\nevent: {kind}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"


class EventStream(StreamingResponse):
    """Server-sent events from the last one that a client has, until it goes or the node stops."""

    def __init__(self, feed: Feed, last: str | None) -> None:
        if feed.streams >= MOST_STREAMS:
            raise RefusalError(
                503,
                f"{MOST_STREAMS} clients follow the events already: close one of them",
                {"Retry-After": "5"},
            )
        super().__init__(_events(feed, feed.resumed(last)), media_type="text/event-stream")
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what happens."""
        self._feed.streams += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feed.streams -= 1


async def _events(feed: Feed, last: int | None) -> AsyncIterator[bytes]:
    """The text of the events after one, or how things are now and what follows."""
    while not feed.closed:
        events = None if last is None else feed.after(last)
        if events is None:
            events = [feed.now()]
        if events:
            last = events[-1].serial
            yield b"".join(event.text for event in events)
        elif not await feed.news(PING):
            yield _PING
