"""Real nodes on loopback in one asyncio loop, and a peer that says to them whatever a test wants it to say.

The peer speaks TLS and frames by hand, with any certificate, any protocol version and any bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import ssl
import struct
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.local.held_ports import HeldPorts
from folkmoot.network.service.node import Node
from folkmoot.network.service.operation import seat_of
from folkmoot.network.service.parts import Parts
from folkmoot.network.session.session import Session
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.network.wire.packing import pack
from folkmoot.node.membership import identity
from folkmoot.node.membership.identity import CERTIFICATE, KEY
from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.mesh import Mesh
from folkmoot.node.transports.places import Places
from folkmoot.node.transports.tls import Limits
from folkmoot.node.wire.batch import Batch
from support.network.moot_in_memory import ChunkVotes, InMemory

INPUTS = 20
SECONDS = 240.0  # no wait in a test is longer


def within(coroutine: Any, seconds: float = SECONDS) -> Any:
    """Run it to its end, in limited time."""
    return asyncio.run(asyncio.wait_for(coroutine, seconds))


async def eventually(holds: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    """Wait until it is so."""
    end = asyncio.get_running_loop().time() + seconds
    while not holds():
        assert asyncio.get_running_loop().time() < end, what
        await asyncio.sleep(0.01)


async def ended(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks in the background; one that had failed fails the test."""
    for task in tasks:
        task.cancel()
    for found in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(found, BaseException) and not isinstance(found, asyncio.CancelledError):
            raise found


class Hall:
    """A moot of n, of which ``absent`` have a key and a place in the roster but no node."""

    def __init__(
        self,
        folder: Path,
        n: int = 6,
        absent: Collection[int] = (5,),
        limits: Limits | None = None,
        clocks: dict[int, Callable[[], float]] | None = None,
    ) -> None:
        self.folder, self.absent, self.limits = folder, set(absent), limits
        self.clocks = clocks or {}
        self._held = HeldPorts(n)
        self.ports = self._held.numbers
        self.identities = [
            identity.create(folder / f"p{i}", name=f"p{i}", listen=f"127.0.0.1:{port}")
            for i, port in enumerate(self.ports)
        ]
        self.roster = Roster(each.member() for each in self.identities)
        self.roster.write(folder / "roster.toml")
        self.votes = np.random.default_rng(0).integers(0, 2, INPUTS).astype(np.int8)
        self.honest = [i for i in range(n) if i not in self.absent]
        self.meshes: dict[int, Mesh] = {}
        self.nodes: dict[int, Node] = {}
        self.storages: dict[int, Storage] = {}
        self.peers: list[RawPeer] = []
        self.asked = 0

    def fingerprint(self, place: int) -> bytes:
        return bytes.fromhex(self.roster[place].fingerprint)

    @property
    def moot(self) -> bytes:
        return bytes.fromhex(self.roster.digest)

    async def __aenter__(self) -> Hall:
        for i in self.honest:
            folder = self.folder / f"p{i}"
            mesh = Mesh(
                self.roster, i, str(folder / CERTIFICATE), str(folder / KEY),
                limits=self.limits, clock=self.clocks.get(i, time.time),
            )  # fmt: skip
            storage = Storage(folder / DATABASE)
            seat = seat_of(self.identities[i], self.roster, i, storage.start(mesh.clock()))
            places = Places(mesh, self.roster)
            node = Node(Parts(seat, self.roster, storage, places, ChunkVotes(self.votes), random.Random(i)))
            self.meshes[i], self.storages[i], self.nodes[i] = mesh, storage, node
            await mesh.listen("127.0.0.1", self.ports[i])
        for i, mesh in self.meshes.items():
            others = {self.fingerprint(j) for j in self.honest if j != i}
            await eventually(lambda mesh=mesh, others=others: others <= set(mesh.connected()), "connected")  # type: ignore[misc]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for peer in self.peers:
            peer.hang_up()
        for i, mesh in self.meshes.items():
            self.nodes[i].stop()
            await mesh.close()
        await asyncio.sleep(0.25)
        for storage in self.storages.values():
            storage.close()
        self._held.close()

    def motion(self, asker: int, **changes: Any) -> tuple[Motion, InMemory]:
        self.asked += 1
        inputs = np.arange(INPUTS, dtype="<i4")[:, None]
        batch = Batch(inputs)
        settings: dict[str, Any] = {
            "moot": self.moot, "asker": asker, "created": time.time(), "seconds": 8.0, "protocol": "slush",
            "nonce": self.asked.to_bytes(16, "big"), "k": 4, "alpha": 3, "beta": 20, "rounds": 8,
            "pace": 0.005,
            "weighted": False, "trust": False,
            "labels": ("a", "b"), "inputs": INPUTS, "columns": 1, "dtype": "<i4",
            "chunk_rows": batch.chunk_rows, "chunks": batch.digests(),
        } | changes  # fmt: skip
        return Motion(**settings), InMemory(list(batch.chunks()))

    async def ask(self, asker: int = 0, **changes: Any) -> Session:
        """Put a motion, wait until it is over at every honest node, and see that they agree."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Session] = loop.create_future()
        motion, inputs = self.motion(asker, **changes)
        began = loop.time()
        name = self.nodes[asker].propose(motion, inputs, lambda session, _: done.set_result(session))
        session = await asyncio.wait_for(done, motion.seconds + 5.0)
        for i in self.honest:
            await eventually(lambda i=i: self._is_over(i, name), f"p{i} ends")  # type: ignore[misc]
        for i in self.honest:
            mine = self.nodes[i].session(name)
            assert mine is not None
            assert mine.verdict().decisions.tolist() == self.votes.tolist()
        assert loop.time() - began < motion.seconds + 2.0
        return session

    def _is_over(self, place: int, name: bytes) -> bool:
        session = self.nodes[place].session(name)
        return session is not None and session.phase.value == "over"

    def count(self, name: str, place: int = 0) -> int:
        return self.meshes[place].counts[name] + self.nodes[place].counts[name]

    def context(self, folder: Path | None, *, alpn: Collection[str] = (m.VERSION,)) -> ssl.SSLContext:
        """For a peer that takes any certificate and shows one from a folder."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if folder is not None:
            context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        return context

    async def dial(self, to: int = 0, context: ssl.SSLContext | None = None, place: int = 5) -> RawPeer:
        """A connection to a node over TLS, as a member of the roster unless told otherwise."""
        chosen = context or self.context(self.folder / f"p{place}")
        reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[to], ssl=chosen)
        peer = RawPeer(reader, writer)
        self.peers.append(peer)
        return peer

    async def plain(self, to: int = 0) -> RawPeer:
        """A connection without TLS."""
        peer = RawPeer(*await asyncio.open_connection("127.0.0.1", self.ports[to]))
        self.peers.append(peer)
        return peer

    async def member(self, to: int = 0, place: int = 5) -> RawPeer:
        """A connection that has said hello."""
        peer = await self.dial(to, place=place)
        peer.say(m.Hello(self.moot, 0.0))
        assert isinstance(await peer.hear(), m.Hello)
        await eventually(
            lambda: self.fingerprint(place) in self.meshes[to].connected(), "the member is greeted"
        )
        return peer


class RawPeer:
    """A socket with frames made by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def raw(self, data: bytes) -> None:
        self.writer.write(data)

    def frame(self, data: bytes, length: int | None = None) -> None:
        self.raw(struct.pack(">I", len(data) if length is None else length) + data)

    def say(self, message: m.Message) -> None:
        self.frame(m.encode(message))

    async def hear(self) -> m.AnyMessage:
        (length,) = struct.unpack(">I", await self.reader.readexactly(4))
        return m.decode(await self.reader.readexactly(length))

    async def is_hung_up_on(self, seconds: float = 10.0) -> None:
        """The node ends the connection, whatever it says before."""
        try:
            async with asyncio.timeout(seconds):
                with suppress(ConnectionError, ssl.SSLError):
                    while await self.reader.read(65536):
                        pass
        except TimeoutError:  # an OSError, which callers expect of a node that hangs up
            raise AssertionError(f"the node did not hang up within {seconds} seconds") from None

    def hang_up(self) -> None:
        self.writer.transport.abort()


Behaviour = Callable[["Puppet", int, m.AnyMessage], Awaitable[None] | None]


class Puppet:
    """A member of the roster that is connected with all honest nodes; behaves as it is told."""

    def __init__(self, hall: Hall, place: int = 5) -> None:
        self.hall, self.place = hall, place
        self.key = hall.identities[place].key
        self.fingerprint = bytes.fromhex(hall.roster[place].fingerprint)
        self.lines: dict[int, RawPeer] = {}
        self.heard: list[tuple[int, m.AnyMessage]] = []
        self.behave: Behaviour = lambda _puppet, _peer, _message: None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Puppet:
        for peer in self.hall.honest:
            self.lines[peer] = await self.hall.member(peer, self.place)
            self._tasks.append(asyncio.create_task(self._listen(peer)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await ended(self._tasks)

    async def _listen(self, peer: int) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                message = await self.lines[peer].hear()
                self.heard.append((peer, message))
                self.behave(self, peer, message)

    def say(self, peer: int, message: m.Message) -> None:
        self.lines[peer].say(message)

    def commit(self, motion: bytes, first: Colours, salt: bytes = bytes(32)) -> m.Commit:
        commitment = statements.commitment_to(motion, self.fingerprint, salt, pack(first, 2))
        signature = self.key.sign(statements.committed(motion, self.place, commitment))
        return m.Commit(motion, self.place, commitment, signature, want=False)

    def answer(self, ask: m.Ask, votes: Colours, version: int = 1) -> m.Answer:
        packed = pack(votes, 2)
        said = statements.state(ask.motion, self.place, version, hashlib.sha256(packed).digest())
        return m.Answer(ask.motion, ask.round, version, packed, self.key.sign(said))

    def close(self, motion: bytes, decisions: Colours, first: Colours, node: int | None = None) -> m.Close:
        """Signed by the puppet, also when it speaks for somebody else."""
        place = self.place if node is None else node
        bare = m.Close(motion, place, pack(decisions, 2), bytes(32), pack(first, 2), "", bytes(64))
        signature = self.key.sign(statements.closing(bare))
        return m.Close(motion, place, bare.decisions, bare.salt, bare.first, "", signature)


def name_in(message: m.AnyMessage) -> bytes:
    """The motion that a message is about."""
    assert not isinstance(message, m.OfRosters)
    return motion_name(message.header) if isinstance(message, m.Announce) else message.motion
