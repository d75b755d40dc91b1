"""A transport by places in one roster, on one that knows peers by fingerprints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.transport import Receiver, Result, Transport


class Places:
    """The ``Transport`` of a node in one roster: what it says to a place goes to who has that place."""

    def __init__(
        self,
        transport: Transport[bytes],
        roster: Roster,
        attach: Callable[[Receiver[bytes]], None] | None = None,
    ) -> None:
        """``attach`` is told who hears frames by fingerprint; it is the transport's if it is not given."""
        self._transport = transport
        self._fingerprints = [bytes.fromhex(member.fingerprint) for member in roster]
        self._places = {fingerprint: place for place, fingerprint in enumerate(self._fingerprints)}
        self._attach = transport.attach if attach is None else attach
        self._receiver: Receiver[int] | None = None
        self.now: Callable[[], float] = (
            transport.now
        )  # asked at every frame: the transport's own, no step between

    def attach(self, receiver: Receiver[int]) -> None:
        """Who is told what arrives from a place."""
        self._receiver = receiver
        self._attach(self)

    def send(self, peer: int, frame: bytes) -> None:
        """Send a frame to a place."""
        self._transport.send(self._fingerprints[peer], frame)

    @property
    def counts(self) -> Counter[str]:
        """The transport's."""
        return self._transport.counts

    def connected(self) -> list[int]:
        """Places with whom there is a connection."""
        return [self._places[peer] for peer in self._transport.connected()]

    def latencies(self) -> dict[int, float]:
        """Seconds to each and back."""
        return {self._places[peer]: each for peer, each in self._transport.latencies().items()}

    def skews(self) -> dict[int, float]:
        """How far each one's clock was ahead."""
        return {self._places[peer]: each for peer, each in self._transport.skews().items()}

    def clock(self) -> float:
        """The time of day."""
        return self._transport.clock()

    def later(self, when: float, call: Callable[[], None]) -> Callable[[], None]:
        """Call at a time of ``now``."""
        return self._transport.later(when, call)

    def work(self, job: Callable[[], Result], done: Callable[[Result], None]) -> Callable[[], None]:
        """Run a long job."""
        return self._transport.work(job, done)

    def compute(self, job: Callable[[], Result], done: Callable[[Result], None]) -> None:
        """Run a long job that must not wait for the model."""
        self._transport.compute(job, done)

    # ---- what the transport calls ------------------------------------------------------------

    def received(self, peer: bytes, frame: bytes) -> None:
        """A frame; of somebody without a place it is not heard."""
        place = self._places.get(peer)
        if place is not None and self._receiver is not None:
            self._receiver.received(place, frame)

    def reached(self, peer: bytes) -> None:
        """There is a connection."""
        place = self._places.get(peer)
        if place is not None and self._receiver is not None:
            self._receiver.reached(place)

    def unreachable(self, peer: bytes) -> None:
        """There is none."""
        place = self._places.get(peer)
        if place is not None and self._receiver is not None:
            self._receiver.unreachable(place)
