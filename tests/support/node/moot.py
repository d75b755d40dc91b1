"""Real nodes on the network in memory: each with a model, a key, a database, and what it may be told."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.node.account import Account, account_of, read_votes
from folkmoot.node.membership.certificates import fingerprint_of, make_certificate
from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.history import RosterHistory
from folkmoot.node.service.archive import NodeArchive
from folkmoot.node.service.context import Own, Settings
from folkmoot.node.service.holdout import Holdout
from folkmoot.node.service.models import Model
from folkmoot.node.service.node import Node
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.storage import Storage
from folkmoot.node.wire.batch import Batch
from folkmoot.testing.memory import Network, Weather

Result = TypeVar("Result")


def identity(name: str) -> Identity:
    """A node of this name, always with the same key."""
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())
    certificate = make_certificate(name, key)
    address = "127.0.0.1:1"
    return Identity(name, "", address, (address,), key, certificate, fingerprint_of(certificate))


def model(answer: Callable[[Any], Sequence[Any]], labels: Sequence[str] | None = None) -> Model:
    """A model that answers rows so."""
    return Model("test:answer", answer, labels=labels)


class Rosters:
    """Stands for ``RosterExchange``; a test moves it on."""

    def __init__(self, roster: Roster) -> None:
        self.rosters = [roster]
        self.frames: list[bytes] = []
        self.changed: Callable[[], None] = lambda: None

    def received(self, _peer: bytes, frame: bytes) -> None:
        """Not about motions."""
        self.frames.append(frame)

    def reached(self, _peer: bytes) -> None:
        """Nothing to tell."""

    def look_again(self) -> None:
        """Nothing to see."""

    def start(self, changed: Callable[[], None]) -> None:
        """Remember whom to tell."""
        self.changed = changed


class Moot:
    """Nodes with these models; a node that is None is not there."""

    def __init__(
        self,
        owns: Sequence[Own | Model],
        *,
        seed: int = 1,
        weather: Weather | None = None,
        settings: Settings | None = None,
        faults: int | None = None,
    ) -> None:
        self.owns = [each if isinstance(each, Own) else Own(each, Holdout()) for each in owns]
        self.identities = [identity(f"node{i:03}") for i in range(len(owns))]
        self.roster = Roster((each.member() for each in self.identities), tolerated=faults)
        self.peers = [bytes.fromhex(each.fingerprint) for each in self.identities]
        self.network: Network[bytes] = Network(self.peers, seed, weather or Weather(delay=0.01))
        self.settings = [
            replace(settings or Settings(), randbytes=random.Random(f"{seed} {i}").randbytes)
            for i in range(len(owns))
        ]
        self.storages = [Storage(":memory:") for _ in owns]
        self.rosters: list[Any] = [Rosters(self.roster) for _ in owns]
        self.nodes: list[Node | None] = [None] * len(owns)
        for i in range(len(owns)):
            self.start(i)

    def start(self, i: int) -> Node:
        """Start a node, from what it has stored."""
        me, storage = self.identities[i], self.storages[i]
        archive = NodeArchive(storage, RosterHistory(storage, self.roster), me)
        node = Node(
            me, storage, self.network.world(self.peers[i]), archive, self.rosters[i], lambda: self.owns[i],
            settings=self.settings[i],
        )  # fmt: skip
        self.nodes[i] = node
        node.start()
        return node

    def crash(self, i: int) -> None:
        """A node is gone, with all that it had not stored."""
        self.network.crash(self.peers[i])
        self.nodes[i] = None

    def put(self, i: int, X: Any, **terms: Any) -> bytes:
        """Put a motion through a node."""
        node = self.nodes[i]
        assert node is not None
        return self.done(node.put(X if isinstance(X, Batch) else Batch(X), Terms(**terms)))

    def done(self, call: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine of a node, while time passes."""

        async def pumped() -> Result:
            task = asyncio.create_task(call)
            await asyncio.sleep(0)
            while not task.done():
                self.network.run(self.network.time + 0.001)
                await asyncio.sleep(0)
            return task.result()

        return asyncio.run(pumped())

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Let time pass."""
        end = self.network.time + seconds
        while self.network.time < end and not until():
            self.network.run(min(end, self.network.time + 0.05))

    def account(self, i: int, name: bytes) -> Account:
        """What a node knows of a motion."""
        return account_of(read_votes(self.storages[i], name))

    def decided(self, name: bytes, but: Sequence[int] = ()) -> bool:
        """Whether it is decided at all nodes that are there, but for some."""
        there = [i for i, node in enumerate(self.nodes) if node is not None and i not in but]
        return all(
            self.storages[i].knows(name) and self.storages[i].motion(name).decided is not None for i in there
        )

    def play(self, name: bytes, seconds: float = 60.0, but: Sequence[int] = ()) -> list[Account]:
        """Run until all have decided; what each says of it, and that all say the same."""
        self.run(seconds, lambda: self.decided(name, but))
        there = [i for i, node in enumerate(self.nodes) if node is not None and i not in but]
        accounts = [self.account(i, name) for i in there]
        assert [each.state for each in accounts] == ["decided"] * len(there)
        assert len({tuple(each.decisions) for each in accounts}) == 1
        return accounts
