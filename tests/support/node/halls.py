"""Transports of n nodes, in memory or over TLS, behind the same calls, so that one test plays on both.

Nodes know each other by ``peers``, fingerprints.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from folkmoot.local.held_ports import HeldPorts
from folkmoot.node.membership import identity
from folkmoot.node.membership.identity import CERTIFICATE, KEY
from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.mesh import Mesh
from folkmoot.node.transports.transport import Transport
from folkmoot.testing.memory import Network
from support.node.signed import keys_and_roster


class Ear:
    """A receiver that writes everything down, and in which thread it was told."""

    def __init__(self) -> None:
        self.frames: list[tuple[bytes, bytes]] = []
        self.reached_peers: list[bytes] = []
        self.threads: set[int] = set()

    def received(self, peer: bytes, frame: bytes) -> None:
        self.frames.append((peer, frame))
        self.threads.add(threading.get_ident())

    def reached(self, peer: bytes) -> None:
        self.reached_peers.append(peer)

    def unreachable(self, peer: bytes) -> None:
        pass


class TransportHall(Protocol):
    """n transports, each with an ear."""

    peers: list[bytes]
    ears: list[Ear]

    @property
    def transports(self) -> Sequence[Transport[bytes]]:
        """One of each node."""

    def do(self, call: Callable[[], None]) -> None:
        """Call where a node would: in the thread and the loop of the transports."""

    def wait(self, holds: Callable[[], bool], what: str) -> None:
        """Let time pass until it is so."""

    def rest(self, seconds: float) -> None:
        """Let this time pass."""

    def leave(self, place: int) -> None:
        """A node is gone."""

    def come_back(self, place: int) -> None:
        """It is there again, with a new transport and a new ear."""

    def close(self) -> None:
        """Everybody leaves."""


class MemoryHall:
    def __init__(self, n: int) -> None:
        self.peers = keys_and_roster(n)[1].peers
        self.network: Network[bytes] = Network(self.peers, seed=0)
        self.transports = [self.network.world(peer) for peer in self.peers]
        self.ears = [Ear() for _ in range(n)]
        for transport, ear in zip(self.transports, self.ears, strict=True):
            transport.attach(ear)

    def do(self, call: Callable[[], None]) -> None:
        call()

    def wait(self, holds: Callable[[], bool], what: str) -> None:
        for _ in range(1000):
            if holds():
                return
            self.rest(0.01)
        raise AssertionError(what)

    def rest(self, seconds: float) -> None:
        self.network.run(self.network.time + seconds)

    def leave(self, place: int) -> None:
        self.network.crash(self.peers[place])

    def come_back(self, place: int) -> None:
        self.transports[place], self.ears[place] = self.network.world(self.peers[place]), Ear()
        self.transports[place].attach(self.ears[place])

    def close(self) -> None:
        pass


class MeshHall:
    def __init__(self, n: int, folder: Path) -> None:
        self._folder, self._held = folder, HeldPorts(n)
        self._runner = asyncio.Runner()
        made = [
            identity.create(folder / f"p{place}", name=f"p{place}", listen=f"127.0.0.1:{port}")
            for place, port in enumerate(self._held.numbers)
        ]
        self._roster = Roster(each.member() for each in made)
        self.peers = self._roster.peers
        self.ears = [Ear() for _ in range(n)]
        self.transports: list[Mesh] = []
        for place in range(n):
            self.transports.append(self._runner.run(self._start(place)))
        for mesh in self.transports:
            self.wait(lambda mesh=mesh: len(mesh.connected()) == n - 1, "all are connected")  # type: ignore[misc]

    async def _start(self, place: int) -> Mesh:
        folder = self._folder / f"p{place}"
        mesh = Mesh(self._roster, place, str(folder / CERTIFICATE), str(folder / KEY))
        mesh.attach(self.ears[place])
        await mesh.listen("127.0.0.1", self._held.numbers[place])
        return mesh

    def do(self, call: Callable[[], None]) -> None:
        async def called() -> None:
            call()

        self._runner.run(called())

    def wait(self, holds: Callable[[], bool], what: str) -> None:
        async def until() -> None:
            end = asyncio.get_running_loop().time() + 20.0
            while not holds():
                assert asyncio.get_running_loop().time() < end, what
                await asyncio.sleep(0.005)

        self._runner.run(until())

    def rest(self, seconds: float) -> None:
        self._runner.run(asyncio.sleep(seconds))

    def leave(self, place: int) -> None:
        self._runner.run(self.transports[place].close())

    def come_back(self, place: int) -> None:
        self.ears[place] = Ear()
        self.transports[place] = self._runner.run(self._start(place))

    def close(self) -> None:
        for place in range(len(self.transports)):
            self.leave(place)
        self.rest(0.05)
        self._runner.close()
        self._held.close()
