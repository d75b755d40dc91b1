"""The TLS transport: one connection to every peer, dialled, kept and dialled again.

Of two members both dial while there is no connection, with back-off. One of them may be behind NAT, or have
moved to an address that the other does not know. The one with the smaller fingerprint begins, so that mostly
it is dialled once. If there are two connections all the same, both stay: each end sends over the one that it
greeted last, and reads all.

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
from folkmoot.node.transports.gate import Gate, Guest
from folkmoot.node.transports.tls import Connection, Limits, contexts
from folkmoot.node.transports.transport import Receiver, Result
from folkmoot.node.transports.worker import Worker
from folkmoot.node.wire import messages as m

DIAL_SECONDS: Final = 5.0
STEADY: Final = 10.0  # seconds: after a connection that did not last as long the waits go on doubling
MOST_QUEUED: Final = 1 << 20  # bytes that wait for a connection to a peer
MOST_CONNECTIONS_EACH: Final = 3  # with one peer
MOST_HOSTS: Final = 8  # that a member was seen at lately, besides those in the roster
SKEW_SECONDS: Final = 30.0  # clocks further apart are worth a warning


_ORDINARY: Final = ("lost", "closed", "leaving", "too many connections")  # ends of a connection
ACCEPTED_AT_ONCE: Final = 16  # connections, before others have their turn


@dataclass
class _Peer:
    """What the mesh keeps of one peer."""

    member: Member
    fingerprint: bytes
    connections: list[Connection] = field(default_factory=list)
    queue: deque[bytes] = field(default_factory=deque)
    queued: int = 0
    dialling: asyncio.Task[None] | None = None
    hurry: asyncio.Event = field(default_factory=asyncio.Event)  # somebody wants to say something
    wait: float = 0.0
    not_before: float = 0.0
    since: float = 0.0  # when it was greeted last
    skew: float | None = None  # seconds that its clock is ahead of ours
    hosts: dict[str, None] = field(default_factory=dict)  # that it was seen at, the latest last
    budget: Budget = field(default_factory=lambda: Budget(1.0, 1.0))  # for what it sends
    processor: Budget = field(default_factory=lambda: Budget(1.0, 1.0))  # for how long that takes

    @property
    def ready(self) -> bool:
        """Whether there is a connection."""
        return any(connection.ready for connection in self.connections)

    def __post_init__(self) -> None:
        self.moves(self.member)

    def moves(self, member: Member) -> None:
        """It may have other addresses now; one with a name is looked up when it is dialled."""
        self.member = member
        for address in member.addresses:
            self.seen_at(parse_address(address)[0])

    def seen_at(self, host: str) -> None:
        """Remember an address of its."""
        self.hosts.pop(host, None)
        self.hosts[host] = None
        if len(self.hosts) > MOST_HOSTS:
            del self.hosts[next(iter(self.hosts))]


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
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        self.roster = roster  # the newest of those held
        self._own = roster[place]
        self._fingerprint = self._own.peer
        self.cpu = cpu  # seconds of processor time: what handling a peer's frames took is charged to it
        self._files = certificate_file, key_file
        self.limits, self._clock = limits or Limits(), clock
        self.counts: Counter[str] = Counter()
        self._moots = [roster.moot]  # that we have gone through, the newest first
        self._peers: dict[bytes, _Peer] = {}
        self._listening = False
        self._gate = Gate(self.limits, len(roster))
        self._pending: dict[Connection, Guest] = {}  # dialled us and not known yet, the oldest first
        self._log = (journal or Journal("error")).bound(node=self._own.name)
        self._loop = asyncio.get_running_loop()
        self.now: Callable[[], float] = self._loop.time  # asked at every frame: the loop's own clock
        self._model, self._computing = Worker(self._loop, "model"), Worker(self._loop, "answers")
        self._receiver: Receiver[bytes] | None = None
        self._listeners: list[socket.socket] = []
        self._handshakes: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._warned: dict[str, float] = {}
        self.hold([roster], self._moots)

    def hold(self, rosters: Sequence[Roster], moots: Sequence[bytes]) -> None:
        """Speak with the members of these rosters, the newest first, and hang up on all others.

        ``moots`` are the digests of all rosters that this node has gone through, the newest first. Peers that
        have one of them in common with us are greeted.
        """
        self.roster, self._moots = rosters[0], [*moots]
        self._gate.members = len(self.roster)
        named: dict[str, Member] = {}  # a name has one anchor: OpenSSL trusts the first of a subject only
        members: dict[bytes, Member] = {}
        for roster in rosters:
            for member in roster:
                named.setdefault(member.name.lower(), member)
                members.setdefault(member.peer, member)
        self._for_callers, self._for_called = contexts(
            *self._files, [member.certificate for member in named.values()]
        )
        for gone in [peer for peer in self._peers if peer not in members]:
            state = self._peers.pop(gone)
            if state.dialling is not None:
                state.dialling.cancel()
            for connection in list(state.connections):
                connection.drop("leaving")
        liars, limits = max(1, self.roster.faults), self.limits
        processor = limits.processor / liars, max(0.5, limits.processor_burst / liars)
        for fingerprint, member in members.items():
            if fingerprint == self._fingerprint:
                continue
            if fingerprint in self._peers:
                self._peers[fingerprint].moves(member)
                self._peers[fingerprint].processor.change(*processor)
                continue
            self._peers[fingerprint] = _Peer(
                member,
                fingerprint,
                wait=limits.dialled_again[0],
                budget=Budget(limits.rate, limits.burst),
                processor=Budget(*processor),
            )
            if self._listening:
                self._dial(fingerprint)

    # ---- the transport that the node sees ----------------------------------------------------

    def attach(self, receiver: Receiver[bytes]) -> None:
        """Set the receiver of frames."""
        self._receiver = receiver

    def send(self, peer: bytes, frame: bytes) -> None:
        """Over the newest connection; or wait a little for one."""
        state = self._peers.get(peer)
        if state is not None and state.connections:
            state.connections[-1].send(frame)
        elif state is None or state.queued + len(frame) > MOST_QUEUED:  # None: it is in no roster any more
            self.counts["dropped_no_connection"] += 1
        else:
            state.queue.append(frame)
            state.queued += len(frame)
            state.hurry.set()
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

    def compute(self, job: Callable[[], Result], done: Callable[[Result], None]) -> None:
        """Long computations other than the model's have another thread."""
        self._computing.put(job, done)

    # ---- starting and stopping ---------------------------------------------------------------

    async def listen(self, host: str, port: int) -> None:
        """Be reachable, and dial all others."""
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
            self._loop.add_reader(listener, self._accept_some, listener)
        self._listening = True
        for peer in self._peers:
            self._dial(peer)
        self._sweep()

    @property
    def address(self) -> str:
        """The address at which this node listens."""
        host, port = self._listeners[0].getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def close(self) -> None:
        """Hang up."""
        self._closing = True
        for listener in self._listeners:
            self._loop.remove_reader(listener)
            listener.close()
        tasks = [state.dialling for state in self._peers.values() if state.dialling is not None]
        tasks += self._handshakes
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for state in self._peers.values():
            for connection in list(state.connections):
                connection.drop("leaving")
        for connection in list(self._pending):
            connection.abort()
        self._model.close()
        self._computing.close()
        await asyncio.sleep(0)

    def connected(self) -> list[bytes]:
        """Peers that we have a connection with."""
        return [peer for peer, state in self._peers.items() if state.ready]

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

    def _accept_some(self, listener: socket.socket) -> None:
        """A handshake costs milliseconds, so strangers may not have many; to hang up costs little."""
        for _ in range(ACCEPTED_AT_ONCE):
            wait = self._gate.looks.pay(self.now())
            if wait:
                self._accept_later(listener, wait)
                return
            try:
                accepted, (host, *_) = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # too many open files, most likely
                self._warn("accept", "cannot accept connections", why=error.strerror or str(error))
                self._accept_later(listener, 1.0)
                return
            expected = any(host in state.hosts for state in self._peers.values())
            if not self._gate.lets_in(host, self.now(), expected=expected):
                self.counts["refused_too_many_connections"] += 1
                accepted.close()
                continue
            self._admit(accepted, Guest(host, expected))

    def _accept_later(self, listener: socket.socket, wait: float) -> None:
        self._loop.remove_reader(listener)

        def again() -> None:
            if not self._closing:
                self._loop.add_reader(listener, self._accept_some, listener)

        self._loop.call_later(wait, again)

    def _admit(self, accepted: socket.socket, guest: Guest) -> None:
        accepted.setblocking(False)
        task = self._loop.create_task(
            self._loop.connect_accepted_socket(lambda: self._accept(guest), accepted)
        )
        self._handshakes.add(task)

        def over(task: asyncio.Task[Any]) -> None:
            self._handshakes.discard(task)
            if task.cancelled() or task.exception() is not None:
                accepted.close()

        task.add_done_callback(over)

    def _accept(self, guest: Guest) -> Connection:
        connection = Connection(self, self._for_callers, self.limits)
        self._pending[connection] = guest
        leaving = self._gate.crowded_out(self._pending)
        if leaving is not None:
            del self._pending[leaving]
            self.counts["refused_half_open"] += 1
            leaving.abort()
        return connection

    def _dial(self, peer: bytes) -> None:
        state = self._peers[peer]
        if state.dialling is None and not self._closing:
            state.dialling = self._loop.create_task(self._keep_dialling(state))

    async def _keep_dialling(self, state: _Peer) -> None:
        """Until there is a connection; the waits double."""
        peer, name = state.fingerprint, state.member.name
        try:
            if self._fingerprint > peer:
                with suppress(TimeoutError):
                    await asyncio.wait_for(
                        state.hurry.wait(), self.limits.head_start * (1 + len(self._peers) / 10)
                    )
            while not state.ready:
                await asyncio.sleep(max(0.0, state.not_before - self.now()))
                if state.ready:  # it has dialled us meanwhile
                    return
                wrong = await self._try(peer)
                if not wrong or state.ready:  # it may have hung up again already
                    continue
                self._wait_longer(state)
                state.queue.clear()
                state.queued = 0
                self._warn(f"unreachable {name}", "peer unreachable", peer=name, why=wrong)
                if self._receiver is not None:
                    self._receiver.unreachable(peer)
        finally:
            state.dialling = None

    def _wait_longer(self, state: _Peer) -> None:
        state.wait = min(self.limits.dialled_again[1], 2 * state.wait)
        state.not_before = self.now() + state.wait * random.uniform(0.5, 1.0)

    async def _try(self, peer: bytes) -> str:
        """Every address of a peer in turn."""
        wrong, state = [], self._peers[peer]
        for address in state.member.addresses:
            host, port = parse_address(address)
            connection = Connection(self, self._for_called, self.limits, expected=peer)
            try:
                async with asyncio.timeout(DIAL_SECONDS):
                    for *_, (found, *_) in await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                        state.seen_at(str(found))
                    await self._loop.create_connection(lambda c=connection: c, host, port)  # type: ignore[misc]
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
                if connection.ready or state.ready:  # another may have taken its place already
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

    def budgets(self, peer: bytes) -> tuple[Budget, Budget]:
        """The budgets of a member over all its connections: for what it sends, and for processor time."""
        return self._peers[peer].budget, self._peers[peer].processor

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
        state.since = self.now()
        state.seen_at(connection.address.rpartition(":")[0])
        for extra in state.connections[:-MOST_CONNECTIONS_EACH]:
            extra.drop("too many connections")
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
        """A connection is gone; if it was the last one with this peer, dial again."""
        self._pending.pop(connection, None)
        state = None if connection.peer is None else self._peers.get(connection.peer)
        if not self._closing and why not in _ORDINARY:
            self.counts[f"refused_{why.split(':')[0].replace(' ', '_')}"] += 1
            name = "" if state is None else state.member.name
            self._warn(f"{name} {why}", "connection refused", peer=name, address=connection.address, why=why)
        if state is not None and connection in state.connections:
            state.connections.remove(connection)
            held = state.fingerprint in self._peers  # else it is gone with its roster
            if held and self._listening and not state.connections:
                if self.now() - state.since < STEADY:
                    self._wait_longer(state)
                else:
                    state.wait, state.not_before = self.limits.dialled_again[0], 0.0
                state.hurry.clear()
                self._dial(state.fingerprint)

    def _warn(self, key: str, event: str, **fields: Any) -> None:
        """Say the same once a minute, not once a frame."""
        now = self.now()
        if now - self._warned.get(key, -1e9) > 60.0:
            if len(self._warned) > 1000:
                self._warned.clear()
            self._warned[key] = now
            with suppress(OSError):
                self._log("warning", event, **fields)
