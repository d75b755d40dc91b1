"""A transport by places in one roster, on one that knows peers by fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.transport import Connected, Receiver, Result, Transport, Way


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
        self._outward: Mapping[bytes, Way] = transport.ways if isinstance(transport, Connected) else {}
        self.now: Callable[[], float] = (
            transport.now
        )  # asked at every frame: the transport's own, no step between

    def attach(self, receiver: Receiver[int]) -> None:
        """Who is told what arrives from a place."""
        self._receiver = receiver
        self._attach(self)

    def send(self, peer: int, frame: bytes) -> None:
        """Send a frame to a place."""
        fingerprint = self._fingerprints[peer]
        way = self._outward.get(fingerprint)
        if way is not None:
            way(frame)
        else:
            self._transport.send(fingerprint, frame)

    def clock(self) -> float:
        """The time of day."""
        return self._transport.clock()

    def later(self, when: float, call: Callable[[], None]) -> Callable[[], None]:
        """Call at a time of ``now``."""
        return self._transport.later(when, call)

    def work(self, job: Callable[[], Result], done: Callable[[Result], None]) -> Callable[[], None]:
        """Run a long job."""
        return self._transport.work(job, done)

    # ---- what the transport calls ------------------------------------------------------------

    def place(self, peer: bytes) -> int | None:
        """The place of a fingerprint; None if it has none in this roster."""
        return self._places.get(peer)

    def ways(self) -> dict[bytes, Way]:
        """What takes the frames of each that has a place, by fingerprint."""
        if self._receiver is None:
            return {}
        return {peer: partial(self._receiver.received, place) for peer, place in self._places.items()}

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
