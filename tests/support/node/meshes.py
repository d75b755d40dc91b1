"""Meshes of real sockets on loopback in one asyncio loop, some of which cannot be dialled."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Any

from folkmoot.local.held_ports import HeldPorts
from folkmoot.node.membership import identity
from folkmoot.node.membership.identity import CERTIFICATE, KEY
from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.mesh import Mesh
from folkmoot.node.transports.tls import Limits

SECONDS = 60.0  # no wait in a test is longer
SHORT = Limits(dialled_again=(0.02, 0.2), head_start=0.05)


def within(coroutine: Any, seconds: float = 2 * SECONDS) -> Any:
    """Run it to its end, in limited time."""
    return asyncio.run(asyncio.wait_for(coroutine, seconds))


async def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until it is so."""
    end = asyncio.get_running_loop().time() + SECONDS
    while not holds():
        assert asyncio.get_running_loop().time() < end, what
        await asyncio.sleep(0.005)


class Ear:
    """A receiver that writes everything down, and lets each frame cost processor time by its length."""

    def __init__(self, cost: Callable[[bytes], float] = lambda _: 0.0) -> None:
        self.frames: list[tuple[bytes, bytes]] = []
        self.cpu = 0.0
        self.unreached: list[bytes] = []
        self._cost = cost

    def received(self, peer: bytes, frame: bytes) -> None:
        self.frames.append((peer, frame))
        self.cpu += self._cost(frame)

    def reached(self, peer: bytes) -> None:
        """Nobody asks it about that."""

    def unreachable(self, peer: bytes) -> None:
        self.unreached.append(peer)


class Meshes:
    """Meshes in the order of their fingerprints, which says who keeps which of two connections.

    Those in ``hidden`` are in the roster with an address at which nobody listens, as behind NAT.
    """

    def __init__(
        self,
        folder: Path,
        n: int,
        *,
        hidden: Collection[int] = (),
        limits: Limits = SHORT,
        cost: Callable[[bytes], float] | None = None,
    ) -> None:
        self.limits, self.hidden, self._cost = limits, set(hidden), cost
        self._held = HeldPorts(n)
        made = []
        for number, port in enumerate(self._held.numbers):
            path = folder / f"p{number}"
            made.append((path, identity.create(path, name=f"p{number}", listen=f"127.0.0.1:{port}")))
        made.sort(key=lambda each: each[1].fingerprint)
        self.folders = [path for path, _ in made]
        self.identities = [each for _, each in made]
        self.prints = [bytes.fromhex(each.fingerprint) for each in self.identities]
        self.roster = Roster(each.member() for each in self.identities)
        self.meshes: list[Mesh] = []
        self.ears: list[Ear] = []

    async def __aenter__(self) -> Meshes:
        for number in range(len(self.identities)):
            self.meshes.append(await self._start(number))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for mesh in self.meshes:
            await mesh.close()
        self._held.close()

    async def _start(self, number: int, port: int | None = None) -> Mesh:
        me, folder = self.identities[number], self.folders[number]
        place = self.roster.position(me.fingerprint)
        assert place is not None
        ear = Ear() if self._cost is None else Ear(self._cost)
        extra: dict[str, Any] = {} if self._cost is None else {"cpu": lambda: ear.cpu}
        files = str(folder / CERTIFICATE), str(folder / KEY)
        mesh = Mesh(self.roster, place, *files, limits=self.limits, **extra)
        mesh.attach(ear)
        self.ears[number : number + 1] = [ear]
        own = int(me.listen.rpartition(":")[2])
        await mesh.listen("127.0.0.1", 0 if number in self.hidden else own if port is None else port)
        return mesh

    async def restart(self, number: int, *, port: int | None = None) -> None:
        """It leaves and comes back, perhaps at another port than the roster has."""
        await self.meshes[number].close()
        self.meshes[number] = await self._start(number, port)

    def connected(self, one: int, other: int) -> bool:
        """Whether two of them are, as both see it."""
        pairs = ((one, other), (other, one))
        return all(self.prints[there] in self.meshes[here].connected() for here, there in pairs)

    def connections(self, one: int, other: int) -> list[tuple[str, str]]:
        """Own and the other's address of each connection that one has with the other."""
        found = []
        for connection in self.meshes[one]._peers[self.prints[other]].connections:
            assert connection._socket is not None
            ends = (connection._socket.get_extra_info(what) for what in ("sockname", "peername"))
            own, its = (f"{host}:{port}" for host, port in ends)
            found.append((own, its))
        return found

    async def all_connected(self, but: Collection[tuple[int, int]] = ()) -> None:
        """Wait until everybody is connected with everybody."""
        n = len(self.meshes)
        pairs = [(one, other) for one in range(n) for other in range(one) if (other, one) not in but]
        await eventually(lambda: all(self.connected(*pair) for pair in pairs), "all are connected")

    async def tell(self, one: int, other: int) -> None:
        """A frame each way, which must arrive."""
        for here, there in ((one, other), (other, one)):
            frame = f"{here} to {there}, after {len(self.ears[there].frames)}".encode()
            self.meshes[here].send(self.prints[there], frame)
            ear, sent = self.ears[there], (self.prints[here], frame)
            await eventually(lambda ear=ear, sent=sent: sent in ear.frames, "it arrives")  # type: ignore[misc]

    async def by_hand(self, number: int, to: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection of a member with another, to say over it whatever one likes; both have said Hello."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(self.folders[number] / CERTIFICATE, self.folders[number] / KEY)
        context.set_alpn_protocols(["folkmoot/3"])
        host, _, port = self.meshes[to].address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
        writer.write(framed(self.meshes[number].hello()))
        (length,) = struct.unpack(">I", await reader.readexactly(4))
        await reader.readexactly(length)
        return reader, writer


def framed(*frames: bytes) -> bytes:
    """Frames as they are sent."""
    return b"".join(struct.pack(">I", len(frame)) + frame for frame in frames)
