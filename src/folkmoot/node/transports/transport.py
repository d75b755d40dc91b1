"""The interface of a node to the world: peers to send frames to, a clock, and somewhere to run its model.

Two implementations: ``mesh`` (TLS over real sockets), and for tests ``folkmoot.testing.memory`` (a virtual
clock; delays, drops, partitions and crashes from a seed). The node cannot tell them apart, and one suite of
tests holds both to what is said here.

``mesh`` knows peers by the fingerprints of their certificates, which stay while rosters come and go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Protocol, TypeVar

Result = TypeVar("Result")
Peer = TypeVar("Peer")  # how peers are known: int (a place) or bytes (a fingerprint)
Heard = TypeVar("Heard", contravariant=True)


class Receiver(Protocol[Heard]):
    """The receiver of frames: the node."""

    def received(self, peer: Heard, frame: bytes) -> None:
        """A frame of this peer, whose identity the transport vouches for."""

    def reached(self, peer: Heard) -> None:
        """There is a connection with this peer."""

    def unreachable(self, peer: Heard) -> None:
        """A peer that cannot be connected to at present."""


class Transport(Protocol[Peer]):
    """The world of one node. Frames may be lost, late or out of order; they are never forged or changed.

    ``counts`` are of what happened to frames and connections, by name.
    """

    @property
    def counts(self) -> Counter[str]: ...

    def connected(self) -> Collection[Peer]:
        """Peers with whom there is a connection now."""

    def latencies(self) -> Mapping[Peer, float]:
        """Seconds to connected peers and back, where that is known."""

    def skews(self) -> Mapping[Peer, float]:
        """How far each peer's clock was ahead when it was reached, where that is known."""

    def attach(self, receiver: Receiver[Peer]) -> None:
        """Set the receiver of frames."""

    def send(self, peer: Peer, frame: bytes) -> None:
        """Send a frame, or lose it; never waits."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""

    def clock(self) -> float:
        """The time of day, in seconds since 1970; for people and files."""

    def later(self, when: float, call: Callable[[], None]) -> Callable[[], None]:
        """Call at a time of ``now``; returns what cancels it."""

    def work(self, job: Callable[[], Result], done: Callable[[Result], None]) -> Callable[[], None]:
        """Run a long job (the model) without holding up the node, then hand over its result.

        Returns what cancels it: a job that has not begun is not run.
        """

    def compute(self, job: Callable[[], Result], done: Callable[[Result], None]) -> None:
        """The same for a job that must not wait for the model."""
