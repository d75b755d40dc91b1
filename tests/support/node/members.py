"""Nodes that do nothing but follow their rosters, on the network in memory; one may lie."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.exchange import RosterExchange
from folkmoot.node.rosters.history import RosterHistory
from folkmoot.node.service.archive import NodeArchive
from folkmoot.node.storage.storage import Storage
from folkmoot.testing.memory import Network, Weather
from support.node.filed import identity
from support.node.signed import keys_and_roster

Sender = Callable[[bytes, bytes], None]


class Follower:
    """A node: its storage stays when it crashes."""

    def __init__(self, moot: Followers, me: Identity, root: Roster) -> None:
        self.moot, self.me, self.root = moot, me, root
        self.storage = Storage(":memory:")
        self.peer = bytes.fromhex(me.fingerprint)
        self.changes = 0  # times that it said that something has changed
        self.start()

    def start(self) -> None:
        """From what is stored."""
        world = self.moot.network.world(self.peer)
        self.history = RosterHistory(self.storage, self.root)
        self.archive = NodeArchive(self.storage, self.history, self.me)
        rng = random.Random(f"{self.moot.seed} {self.me.name}")
        self.exchange = RosterExchange(self.history, world, self.me, rng=rng)
        self.exchange.start(self._note)
        world.attach(self)

    def _note(self) -> None:
        self.changes += 1

    def received(self, peer: bytes, frame: bytes) -> None:
        """A frame."""
        self.exchange.received(peer, frame)

    def reached(self, peer: bytes) -> None:
        """A peer is there."""
        self.exchange.reached(peer)

    def unreachable(self, peer: bytes) -> None:
        """Nothing to do."""

    @property
    def epoch(self) -> int:
        """Of the roster in force here."""
        return self.history.tip.epoch


class Followers:
    """A moot of them."""

    def __init__(self, n: int, seed: int = 1, weather: Weather | None = None, more: int = 0) -> None:
        """``more`` members of a larger moot are on the network, too, and not in the roster."""
        keys, everybody = keys_and_roster(n + more)
        self.seed, self.keys = seed, dict(zip((each.name for each in everybody), keys, strict=True))
        self.everybody = everybody
        self.roster = Roster(list(everybody)[:n])
        peers = [bytes.fromhex(each.fingerprint) for each in everybody]
        self.network: Network[bytes] = Network(peers, seed, weather or Weather(delay=0.02))
        self.nodes = [Follower(self, identity(everybody, place), self.roster) for place in range(n)]

    def key(self, place: int) -> Ed25519PrivateKey:
        """The key of a member of the roster."""
        return self.keys[self.roster[place].name]

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Let time pass; every second nodes look whether another process has stored something."""
        end = self.network.time + seconds
        while self.network.time < end and not until():
            self.network.run(min(end, self.network.time + 0.25))
            for node in self.nodes:
                world = self.network._worlds[node.peer]
                if world is not None and world.receiver is node:
                    node.exchange.look_again()

    def at(self, epoch: int, but: Sequence[int] = ()) -> Callable[[], bool]:
        """Whether all are at an epoch, but for some."""
        return lambda: all(node.epoch == epoch for i, node in enumerate(self.nodes) if i not in but)
