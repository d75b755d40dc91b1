"""A network in one process, on a virtual clock: every delay, loss, partition and crash comes from a seed.

The real node code runs on it unchanged. The same seed plays the same events in the same order to the last
byte (``Network.trace`` is a digest of all frames that arrived).

The fate of a frame hangs on the seed, its sender, its receiver, its content, and how often the same was sent
before. It does not hang on what others send. So one node can behave differently in two runs of a seed. The
same frames of the others are lost and late in both, as far as these still say the same.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final, Generic

from folkmoot.node.transports.transport import Peer, Receiver, Result

_TWO: Final = struct.Struct(">QQ")
_TIME: Final = struct.Struct(">d")


@dataclass(frozen=True)
class Weather:
    """Delay, loss and order of frames: delays are exponential, so that frames overtake each other."""

    delay: float = 0.0  # mean seconds on the way
    drop: float = 0.0  # share of frames lost


class Network(Generic[Peer]):
    """All nodes of a moot, the frames between them, and one clock.

    Nodes are known by whatever ``addresses`` are: places, or fingerprints where rosters change.
    """

    def __init__(self, addresses: Iterable[Peer], seed: int, weather: Weather | None = None) -> None:
        self.time = 0.0
        self.weather = weather or Weather()
        self.frames = 0
        self._seed = seed
        self._sent: dict[bytes, int] = {}  # how often, by what was sent to whom
        self._ways: dict[tuple[Peer, Peer], bytes] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0
        self._trace = hashlib.sha256()
        self._worlds: dict[Peer, World[Peer] | None] = dict.fromkeys(addresses)
        self._sides = dict.fromkeys(self._worlds, 0)  # frames cross only between nodes of one side

    @property
    def trace(self) -> str:
        """A digest of every frame that arrived: when, from whom, to whom."""
        return self._trace.hexdigest()

    def world(self, place: Peer) -> World[Peer]:
        """A new transport for this place; frames and timers of the old one are lost, as in a crash."""
        self.crash(place)
        self._worlds[place] = world = World(self, place)
        return world

    def of(self, place: Peer) -> World[Peer]:
        """The transport of a node that is there."""
        world = self._worlds[place]
        if world is None:
            raise ValueError(f"node {place!r} is not there")
        return world

    def crash(self, place: Peer) -> None:
        """The node is gone, with all that it had not stored."""
        world = self._worlds[place]
        if world is not None:
            world.alive = False
            self._worlds[place] = None

    def greet(self, place: Peer) -> None:
        """There are connections between a node and all others on its side, as after a start."""
        for peer, world in self._worlds.items():
            if peer != place and self._sides[peer] == self._sides[place]:
                for one, other in ((self._worlds[place], world), (world, self._worlds[place])):
                    if one is not None and one.receiver is not None and other is not None:
                        one.receiver.reached(other.place)

    def there(self, place: Peer) -> list[Peer]:
        """The other nodes on the side of this one."""
        return [
            peer
            for peer, world in self._worlds.items()
            if peer != place and world is not None and self._sides[peer] == self._sides[place]
        ]

    def divide(self, *sides: Collection[Peer]) -> None:
        """Cut the network: frames stay on their side. Without sides, heal it."""
        self._sides = dict.fromkeys(self._worlds, 0)
        for number, side in enumerate(sides, start=1):
            for place in side:
                self._sides[place] = number

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Let something happen at a time."""
        self._serial += 1
        heapq.heappush(self._events, (when, self._serial, call))

    def run(self, until: float) -> None:
        """Let time pass."""
        while self._events and self._events[0][0] <= until:
            self.time, _, call = heapq.heappop(self._events)
            call()
        self.time = max(self.time, until)

    def carry(self, sender: Peer, peer: Peer, frame: bytes) -> None:
        """Take a frame on its way, or lose it."""
        delay = 0.0
        if self.weather.drop or self.weather.delay:
            lost, late = self._dice(sender, peer, frame)
            if lost < self.weather.drop:
                return
            delay = -self.weather.delay * math.log1p(-late)
        self.at(self.time + delay, lambda: self._deliver(sender, peer, frame))

    def _dice(self, sender: Peer, peer: Peer, frame: bytes) -> tuple[float, float]:
        """Two numbers in [0, 1) for a frame on its way."""
        what = hashlib.blake2b(self._way(sender, peer) + frame, digest_size=16).digest()
        often = self._sent[what] = self._sent.get(what, 0) + 1
        rolled = hashlib.blake2b(what + often.to_bytes(4, "big"), digest_size=16).digest()
        one, other = _TWO.unpack(rolled)
        return (one >> 11) / (1 << 53), (other >> 11) / (1 << 53)

    def _way(self, sender: Peer, peer: Peer) -> bytes:
        way = self._ways.get((sender, peer))
        if way is None:
            way = self._ways[sender, peer] = f"{self._seed} {sender} {peer} ".encode()
        return way

    def _deliver(self, sender: Peer, peer: Peer, frame: bytes) -> None:
        world = self._worlds.get(peer)
        if world is None or world.receiver is None or self._sides[sender] != self._sides[peer]:
            return
        self.frames += 1
        self._trace.update(_TIME.pack(self.time) + self._way(sender, peer) + frame)
        world.receiver.received(sender, frame)


class World(Generic[Peer]):
    """The ``Transport`` of one node on a ``Network``."""

    def __init__(self, network: Network[Peer], place: Peer) -> None:
        self.alive = True
        self.receiver: Receiver[Peer] | None = None
        self._network = network
        self.place = place
        self.counts: Counter[str] = Counter()

    def connected(self) -> list[Peer]:
        """Peers on the same side that are there."""
        return self._network.there(self.place)

    def latencies(self) -> dict[Peer, float]:
        """Nobody knows."""
        return {}

    def skews(self) -> dict[Peer, float]:
        """Nobody knows."""
        return {}

    def attach(self, receiver: Receiver[Peer]) -> None:
        """Set the receiver of frames, and connect it with the others."""
        self.receiver = receiver
        self._network.at(self._network.time, lambda: self._network.greet(self.place))

    def send(self, peer: Peer, frame: bytes) -> None:
        """Into the weather."""
        if self.alive:
            self._network.carry(self.place, peer, frame)

    def now(self) -> float:
        """The virtual clock."""
        return self._network.time

    def clock(self) -> float:
        """The same clock, some time after 1970."""
        return 1e9 + self._network.time

    def later(self, when: float, call: Callable[[], None]) -> Callable[[], None]:
        """An event of the network, which a crash cancels."""
        active = True

        def due() -> None:
            if active and self.alive:
                call()

        def cancel() -> None:
            nonlocal active
            active = False

        self._network.at(max(when, self._network.time), due)
        return cancel

    def work(self, job: Callable[[], Result], done: Callable[[Result], None]) -> Callable[[], None]:
        """At once: a model takes no virtual time."""
        result = job()
        return self.later(self._network.time, lambda: done(result))

    def compute(self, job: Callable[[], Result], done: Callable[[Result], None]) -> None:
        """At once, too."""
        result = job()
        self.later(self._network.time, lambda: done(result))
