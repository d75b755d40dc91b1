"""What happens at a node, as events that any number of clients may follow: numbered, bounded, sent as text.

A node tells its observers whenever it has settled something, thousands of times a second. The feed only notes
which motions that were, and looks at each a few times a second. It keeps the last events in a ring: a client
that was away, or reads slowly, goes on after the last one that it has, or is told how things are now.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from folkmoot.network.service.assembly import AnyNode
from folkmoot.network.service.status import Status, as_dict
from folkmoot.network.session.phases import Phase
from folkmoot.network.session.session import Session
from folkmoot.network.wire import statements
from folkmoot.web.ledger import Ledger
from folkmoot.web.shapes import accusation

Kind: TypeAlias = Literal["moot", "opened", "progress", "silent", "accused", "over", "ping"]
KEPT: Final = 1000  # events
LOOKED: Final = 0.2  # seconds between two looks at what has changed
TICK: Final = 1.0  # seconds after which it is looked whether somebody has gone silent
_MOST_KNOWN: Final = 256  # motions


class Event(NamedTuple):
    """One event, and the text of it that is sent; made once for all who follow."""

    serial: int
    text: bytes


@dataclass
class _Known:
    """What clients have been told of a motion."""

    phase: str
    round: int
    closes: int
    accused: frozenset[int]


class Feed:
    """The events of one node."""

    def __init__(self, node: AnyNode, look: Callable[[], Status], ledger: Ledger) -> None:
        self._node, self._look, self._ledger = node, look, ledger
        self.closed = False
        self.streams = 0
        self._ring: deque[Event] = deque(maxlen=KEPT)
        self._serial = 0
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()  # another one after each event
        self._dirty: dict[bytes, Session] = {}
        self._known: dict[bytes, _Known] = {}
        self._peers: dict[str, str] | None = None
        self._told: object = None  # what else clients were told of the node, by which changes are seen
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticking = self._loop.call_later(TICK, self._tick)
        node.observe(self._settled)

    def close(self) -> None:
        """End all streams; whoever waits is woken."""
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
        if run != str(self._node.seat.incarnation) or not serial.isdecimal() or len(serial) > 18:
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

    def now(self) -> Event:
        """How the moot is at this moment, as an event after which others follow."""
        return Event(self._serial, self._text("moot", self._serial, as_dict(self._look())))

    # ---- what the node tells -----------------------------------------------------------------

    def _settled(self, session: Session | None) -> None:
        if session is not None:
            self._dirty[session.name] = session
        if self._timer is None and not self.closed:
            self._timer = self._loop.call_later(LOOKED, self._publish_news)

    def _tick(self) -> None:
        self._ticking = self._loop.call_later(TICK, self._tick)
        self._publish_peers()

    def _publish_news(self) -> None:
        self._timer = None
        dirty, self._dirty = self._dirty, {}
        for session in dirty.values():
            self._publish_session(session)
        self._publish_peers()

    def _publish_session(self, session: Session) -> None:
        name = session.name
        now = _Known(session.phase.value, session.rounds, len(session.closes), frozenset(session.cheats))
        before = self._known.get(name)
        self._known[name] = now
        if before is None:
            if len(self._known) > _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._publish("opened", self._opening(session))
            before = _Known("", 0, 0, frozenset())
        if now.accused - before.accused:
            self._publish_accused(session, now.accused - before.accused)
        if before.phase == Phase.OVER.value:
            return
        if session.phase is Phase.OVER:
            task = self._loop.create_task(self._publish_over(name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif now != before:
            self._publish("progress", self._progress(session))

    def _opening(self, session: Session) -> dict[str, Any]:
        motion = session.motion
        return {
            "motion": session.name.hex(),
            "asker": self._node.roster_of(motion.moot)[motion.asker].name,
            "inputs": motion.asked,
            "labels": motion.labels,
            "answers": motion.answers,
            "tol": None if motion.is_labels else motion.tol,
            "protocol": motion.protocol,
            "rounds": motion.rounds,
            "seconds": motion.seconds,
        }

    def _progress(self, session: Session) -> dict[str, Any]:
        view = session.view()
        return {
            "motion": view.motion,
            "phase": view.phase,
            "round": view.round,
            "rounds": view.rounds,
            "remaining": round(view.end - self._node.transport.now(), 3),
            "committed": len(view.committed),
            "closed": len(view.closed),
            "shares": view.shares,
            "held": view.held,
            **({} if view.apart is None else {"apart": view.apart}),
        }

    def _publish_accused(self, session: Session, places: frozenset[int]) -> None:
        kinds = {place: statements.kind(proof) for place, proof in self._node.storage.evidence(session.name)}
        for place in sorted(places):
            name = self._node.roster_of(session.motion.moot)[place].name
            told = accusation(session.name.hex(), name, kinds.get(place, ""))
            self._publish("accused", msgspec.to_builtins(told))

    async def _publish_over(self, name: bytes) -> None:
        account = await self._ledger.account(self._ledger.motion(name))
        self._publish(
            "over",
            {
                "motion": account.motion,
                "inputs": account.inputs,
                "undecided": account.undecided,
                "took_part": account.took_part,
                "silent": account.silent,
                "seconds": account.seconds,
            },
        )

    def _publish_peers(self) -> None:
        if not self.streams:  # nobody looks; whoever comes is told how things are
            self._peers = None
            return
        status = self._look()
        peers = {
            peer.name: "away" if not peer.connected else "benched" if peer.benched else "there"
            for peer in status.peers
        }
        before, self._peers = self._peers, peers
        known, self._told = self._told, _standing(status)
        if before is None or (before, known) == (peers, self._told):
            return
        self._publish("moot", as_dict(status))
        for peer in status.peers:
            if peers[peer.name] != "there" and before[peer.name] == "there":
                said = {"participant": peer.name, "state": peers[peer.name], "seen": peer.seen}
                self._publish("silent", said)

    # ---- sending -----------------------------------------------------------------------------

    def _publish(self, kind: Kind, data: dict[str, Any]) -> None:
        self._serial += 1
        self._ring.append(Event(self._serial, self._text(kind, self._serial, data)))
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _text(self, kind: Kind, serial: int, data: dict[str, Any]) -> bytes:
        number = f"{self._node.seat.incarnation}-{serial}"
        return f"id: {number}\nevent: {kind}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"


def _standing(status: Status) -> object:
    """What clients are told of at once, beside who comes and goes: rosters, invitations."""
    invited = [(each.sent, each.refused, each.owing) for each in status.invitations]
    rosters = status.moot, status.proposals, status.two_successors
    return rosters, invited
