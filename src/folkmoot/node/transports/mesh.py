"""The TLS transport: one connection to every peer, dialled, kept and dialled again.

Of two nodes the one that comes first in the roster dials when it starts; either dials when it has something
to say and there is no connection. A peer that cannot be reached is tried again with back-off.

Peers are known by the fingerprints of their certificates. ``hold`` says of which rosters, while it runs too.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from folkmoot.node.log import Journal
from folkmoot.node.membership.fields import parse_address
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.transports.budget import Budget
from folkmoot.node.transports.tls import Connection, Limits, contexts
from folkmoot.node.transports.transport import Receiver, Result, Way
from folkmoot.node.transports.worker import Worker
from folkmoot.node.wire import messages as m

DIAL_SECONDS: Final = 5.0
SHORTEST, LONGEST = 0.25, 30.0  # seconds until a peer is dialled again
MOST_QUEUED: Final = 1 << 20  # bytes that wait for a connection to a peer
MOST_CONNECTIONS_EACH: Final = 3  # with one peer
MOST_ACCEPTED: Final = 100.0  # connections a second that are looked at; the others wait in the kernel
SKEW_SECONDS: Final = 30.0  # clocks further apart are worth a warning


@dataclass
class _Peer:
    """What the mesh keeps of one peer."""

    member: Member
    fingerprint: bytes
    connections: list[Connection] = field(default_factory=list)
    queue: deque[bytes] = field(default_factory=deque)
    queued: int = 0
    dialling: asyncio.Task[None] | None = None
    wait: float = SHORTEST
    not_before: float = 0.0
    skew: float | None = None  # seconds that its clock is ahead of ours
    budget: Budget = field(default_factory=lambda: Budget(1.0, 1.0))  # for what it sends


class Mesh:
    """The ``Transport`` of one node over TLS, inside an asyncio loop."""

    def __init__(
        self,
        roster: Roster,
        place: int,
        certificate_file: str,
        key_file: str,
        journal: Journal | None = None,
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.roster = roster  # the newest of those held
        self._own = roster[place]
        self._files = certificate_file, key_file
        self.limits, self._clock = limits or Limits(), clock
        self.counts: Counter[str] = Counter()
        self._moots = [bytes.fromhex(roster.digest)]  # that we have gone through, the newest first
        self._peers: dict[bytes, _Peer] = {}
        self.ways: dict[bytes, Way] = {}  # what sends, on each one's newest connection
        self._listening = False
        self._sources: dict[str, Budget] = {}  # what each address may still open
        self._anybody = Budget(10 * self.limits.accepts, 3 * self._burst)
        self._looks = Budget(MOST_ACCEPTED, 3 * MOST_ACCEPTED)
        self._pending: dict[Connection, None] = {}  # dialled us and not known yet, the oldest first
        self._log = (journal or Journal("error")).bound(node=self._own.name)
        self._loop = asyncio.get_running_loop()
        self.now: Callable[[], float] = self._loop.time  # asked at every frame: the loop's own clock
        self._model = Worker(self._loop)
        self._receiver: Receiver[bytes] | None = None
        self._listeners: list[socket.socket] = []
        self._accepting_tasks: list[asyncio.Task[None]] = []
        self._closing = False
        self._warned: dict[str, float] = {}
        self.hold([roster], self._moots)

    def hold(self, rosters: Sequence[Roster], moots: Sequence[bytes]) -> None:
        """Speak with the members of these rosters, the newest first, and hang up on all others.

        ``moots`` are the digests of all rosters that this node has gone through, the newest first: whoever
        has one of them in common with us is greeted.
        """
        self.roster, self._moots = rosters[0], [*moots]
        named: dict[str, Member] = {}  # a name has one anchor: OpenSSL trusts the first of a subject only
        members: dict[bytes, Member] = {}
        for roster in rosters:
            for member in roster:
                named.setdefault(member.name.lower(), member)
                members.setdefault(bytes.fromhex(member.fingerprint), member)
        own = bytes.fromhex(self._own.fingerprint)
        self._accepting, self._dialling = contexts(
            *self._files, [member.certificate for member in named.values()]
        )
        for gone in [peer for peer in self._peers if peer not in members]:
            state = self._peers.pop(gone)
            self.ways.pop(gone, None)
            if state.dialling is not None:
                state.dialling.cancel()
            for connection in list(state.connections):
                connection.drop("leaving")
        for fingerprint, member in members.items():
            if fingerprint == own:
                continue
            if fingerprint in self._peers:
                self._peers[fingerprint].member = member  # it may have moved
                continue
            self._peers[fingerprint] = _Peer(
                member, fingerprint, budget=Budget(self.limits.rate, self.limits.burst)
            )
            if self._listening:
                self._dial_first(fingerprint)

    # ---- the transport that the node sees ----------------------------------------------------

    def attach(self, receiver: Receiver[bytes]) -> None:
        """Who is told what arrives."""
        self._receiver = receiver
        self.frame = receiver.received  # type: ignore[method-assign]  # no step between

    def send(self, peer: bytes, frame: bytes) -> None:
        """Over the newest connection; or wait a little for one."""
        way = self.ways.get(peer)
        if way is not None:
            way(frame)
            return
        state = self._peers.get(peer)
        if state is None:  # of a roster that is not held any more
            self.counts["dropped_no_connection"] += 1
            return
        if state.queued + len(frame) > MOST_QUEUED:
            self.counts["dropped_no_connection"] += 1
            return
        state.queue.append(frame)
        state.queued += len(frame)
        self._dial(peer)

    def clock(self) -> float:
        """The time of day."""
        return self._clock()

    def later(self, when: float, call: Callable[[], None]) -> Callable[[], None]:
        """A timer of the loop."""
        return self._loop.call_at(when, call).cancel

    def work(self, job: Callable[[], Result], done: Callable[[Result], None]) -> Callable[[], None]:
        """The model runs in a thread of its own, one job at a time."""
        return self._model.put(job, done)

    # ---- starting and stopping ---------------------------------------------------------------

    async def listen(self, host: str, port: int) -> None:
        """Be reachable, and dial those who come after us in the roster."""
        found = await self._loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, kind, protocol, _, address in dict.fromkeys(found):
            listener = socket.socket(family, kind, protocol)
            self._listeners.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.setblocking(False)
            listener.bind(address)
            listener.listen(256)
            self._accepting_tasks.append(self._loop.create_task(self._keep_accepting(listener)))
        self._listening = True
        for peer in self._peers:
            self._dial_first(peer)
        self._sweep()

    @property
    def address(self) -> str:
        """Where we listen."""
        host, port = self._listeners[0].getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def close(self) -> None:
        """Hang up."""
        self._closing = True
        for task in self._accepting_tasks:
            task.cancel()
        await asyncio.gather(*self._accepting_tasks, return_exceptions=True)
        for listener in self._listeners:
            listener.close()
        dialling = [state.dialling for state in self._peers.values() if state.dialling is not None]
        for task in dialling:
            task.cancel()
        await asyncio.gather(*dialling, return_exceptions=True)
        for state in self._peers.values():
            for connection in list(state.connections):
                connection.drop("leaving")
        for connection in list(self._pending):
            connection.abort()
        self._model.close()
        await asyncio.sleep(0)

    def connected(self) -> list[bytes]:
        """Peers that we have a connection with."""
        return [peer for peer, state in self._peers.items() if any(c.ready for c in state.connections)]

    def latencies(self) -> dict[bytes, float]:
        """Seconds to each connected peer and back, where the kernel says."""
        found = {peer: self._peers[peer].connections[-1].round_trip() for peer in self.connected()}
        return {peer: seconds for peer, seconds in found.items() if seconds is not None}

    def skews(self) -> dict[bytes, float]:
        """How far each peer's clock was ahead of ours when it said hello."""
        return {peer: state.skew for peer, state in self._peers.items() if state.skew is not None}

    async def reach(self, peer: bytes) -> str:
        """Try to connect; empty if that worked, else what went wrong with each address."""
        return "" if peer in self.connected() else await self._try(peer)

    # ---- connections -------------------------------------------------------------------------

    async def _keep_accepting(self, listener: socket.socket) -> None:
        """A handshake costs milliseconds, so strangers may not have many of them."""
        while True:
            try:
                accepted, (host, *_) = await self._loop.sock_accept(listener)
            except OSError as error:  # too many open files, most likely
                self._warn("accept", "cannot accept connections", why=error.strerror or str(error))
                await asyncio.sleep(1.0)
                continue
            if self._welcome(host):
                with suppress(OSError):
                    await self._loop.connect_accepted_socket(self._accept, accepted)
            else:
                self.counts["refused_too_many_connections"] += 1
                accepted.close()
            while wait := self._looks.pay(self.now()):
                await asyncio.sleep(wait)

    def _welcome(self, host: str) -> bool:
        now = self.now()
        if host not in self._sources:
            if len(self._sources) >= 1000:
                self._sources.clear()
            self._sources[host] = Budget(self.limits.accepts, self._burst)
        return not self._sources[host].pay(now) and not self._anybody.pay(now)

    @property
    def _burst(self) -> float:
        return self.limits.accept_burst + 2 * len(self.roster)

    def _accept(self) -> Connection:
        connection = Connection(self, self._accepting, self.limits)
        self._pending[connection] = None
        if len(self._pending) > self.limits.most_pending + len(self._peers) + 1:
            oldest = next(iter(self._pending))
            del self._pending[oldest]
            self.counts["refused_half_open"] += 1
            oldest.abort()
        return connection

    def _dial_first(self, peer: bytes) -> None:
        """Of two the one whose name comes first dials before there is something to say."""
        if self._own.name < self._peers[peer].member.name:
            self._dial(peer)

    def _dial(self, peer: bytes) -> None:
        state = self._peers[peer]
        if state.dialling is None and not self._closing:
            state.dialling = self._loop.create_task(self._keep_dialling(peer))

    async def _keep_dialling(self, peer: bytes) -> None:
        """Until there is a connection; the waits double."""
        state = self._peers[peer]
        try:
            while not self._closing and not any(c.ready for c in state.connections):
                await asyncio.sleep(max(0.0, state.not_before - self.now()))
                if any(c.ready for c in state.connections):  # it has dialled us meanwhile
                    break
                wrong = await self._try(peer)
                if not wrong:
                    return
                state.wait = min(LONGEST, 2 * state.wait)
                state.not_before = self.now() + state.wait * random.uniform(0.5, 1.0)
                state.queue.clear()
                state.queued = 0
                name = state.member.name
                self._warn(f"unreachable {name}", "peer unreachable", peer=name, why=wrong)
                if self._receiver is not None:
                    self._receiver.unreachable(peer)
                if not state.queue and self._own.name > name:
                    return  # the other one dials; we do when we have something to say
        finally:
            state.dialling = None

    async def _try(self, peer: bytes) -> str:
        """Every address of a peer in turn."""
        wrong = []
        for address in self._peers[peer].member.addresses:
            host, port = parse_address(address)
            connection = Connection(self, self._dialling, self.limits, expected=peer)
            try:
                async with asyncio.timeout(DIAL_SECONDS):
                    await self._loop.create_connection(lambda c=connection: c, host, port)  # type: ignore[misc]
                    while not connection.ready and not connection.over:
                        await connection.changed()
            except asyncio.CancelledError:  # nobody else knows of a handshake under way
                connection.abort()
                raise
            except TimeoutError:
                connection.abort()
                wrong.append(f"{address}: no answer")
            except OSError as error:
                wrong.append(f"{address}: {os.strerror(error.errno) if error.errno else error}")
            else:
                if connection.ready:
                    return ""
                wrong.append(f"{address}: {connection.why}")
        return "; ".join(wrong)

    def _sweep(self) -> None:
        """End handshakes and frames that take too long."""
        if self._closing:
            return
        now = self.now()
        for connection in [c for c in self._pending if now - c.since > self.limits.handshake_seconds]:
            self.counts["refused_slow_handshake"] += 1
            connection.abort()
            self._pending.pop(connection, None)
        for state in self._peers.values():
            for connection in list(state.connections):
                since = connection.incomplete_since
                if since is not None and now - since > self.limits.frame_seconds:
                    connection.drop("slow frame")
        shortest = min(self.limits.handshake_seconds, self.limits.frame_seconds)
        self._loop.call_later(min(1.0, shortest / 4), self._sweep)

    # ---- what connections call ---------------------------------------------------------------

    def hello(self) -> bytes:
        """The first frame of every connection."""
        newest, *older = self._moots
        return m.encode(m.Hello(newest, self.clock(), tuple(older[: m.MOST_OLDER])))

    def knows(self, fingerprint: bytes) -> bool:
        """Whether a certificate is in a roster that is held."""
        return fingerprint in self._peers

    def budget(self, peer: bytes) -> Budget:
        """What a participant may send, over all its connections."""
        return self._peers[peer].budget

    def greeted(self, connection: Connection, hello: m.Hello) -> bool:
        """A peer is known and of our moot: use the connection."""
        assert connection.peer is not None  # noqa: S101
        self._pending.pop(connection, None)
        shared = not {hello.moot, *hello.older}.isdisjoint(self._moots)
        if not shared or not math.isfinite(hello.clock) or self._closing:
            return False
        state = self._peers.get(connection.peer)
        if state is None:  # it has left meanwhile
            return False
        name = state.member.name
        state.skew = hello.clock - self.clock()
        if abs(state.skew) > SKEW_SECONDS:
            self._warn(f"skew {name}", "clocks differ", peer=name, seconds=round(state.skew))
        connection.ready = True
        state.connections.append(connection)
        self.ways[connection.peer] = connection.send
        for extra in state.connections[:-MOST_CONNECTIONS_EACH]:
            extra.drop("too many connections")
        state.wait, state.not_before = SHORTEST, 0.0
        if self._receiver is not None:
            self._receiver.reached(connection.peer)
        if len(self.connected()) == len(self._peers):
            self._log("info", "all peers connected")
        queue, state.queue, state.queued = state.queue, deque(), 0
        for frame in queue:
            connection.send(frame)
        return True

    def frame(self, peer: bytes, frame: bytes) -> None:
        """A frame of a peer."""
        if self._receiver is not None:
            self._receiver.received(peer, frame)

    def closed(self, connection: Connection, why: str) -> None:
        """A connection is gone; the one who had dialled dials again."""
        self._pending.pop(connection, None)
        state = None if connection.peer is None else self._peers.get(connection.peer)
        if not self._closing and why not in ("lost", "closed", "leaving", "too many connections"):
            self.counts[f"refused_{why.split(':')[0].replace(' ', '_')}"] += 1
            name = "" if state is None else state.member.name
            self._warn(f"{name} {why}", "connection refused", peer=name, address=connection.address, why=why)
        if state is not None and connection in state.connections:
            state.connections.remove(connection)
            self.ways.pop(state.fingerprint, None)
            if state.connections:
                self.ways[state.fingerprint] = state.connections[-1].send
            if connection.expected is not None:
                self._dial(connection.expected)

    def _warn(self, key: str, event: str, **fields: Any) -> None:
        """Say the same once a minute, not once a frame."""
        now = self.now()
        if now - self._warned.get(key, -1e9) > 60.0:
            if len(self._warned) > 1000:
                self._warned.clear()
            self._warned[key] = now
            with suppress(OSError):
                self._log("warning", event, **fields)
