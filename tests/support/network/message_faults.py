"""Every fault of every message: a member that does one thing with one kind of message, and else is honest.

``FAULTS`` are what can be done, ``MESSAGES`` with what in which kind of motion; storms draw from
``of_family``, and count in ``Meddling.done`` what was in fact done.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar, get_args

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from folkmoot.network.service.node import Node
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.invitation import read_invitation
from folkmoot.node.transports.memory import World
from support.network.moot_in_memory import HostileKind, Moot

Fault: TypeAlias = Literal["forged", "replayed", "oversized", "late", "withheld", "two-faced"]
Storm = TypeVar("Storm")  # what playing one gives
FAULTS: Final[tuple[Fault, ...]] = get_args(Fault)
MESSAGES: Final[dict[str, tuple[type[m.Message], ...]]] = {
    "numbers": (m.Answer, m.Close),
    "rosters": (m.Held, m.Successor),
    "check rows": (m.Invite, m.Rows, m.Owners, m.Labels, m.Unopened, m.Refuse),
}
BY_ASKER: Final = ("Invite", "Owners")  # nobody else sends them at first
_LONG, _MOST_LONG, _MOST_AGAIN = 400_000, 12, 300


def of_family(family: str) -> dict[str, tuple[Fault, type[m.Message]]]:
    """All faults of the messages of a kind of motion, by name such as "late: Ballot"."""
    return {
        f"{fault}: {message.__name__}": (fault, message) for message in MESSAGES[family] for fault in FAULTS
    }


class Meddling:
    """One fault of one message; ``done`` counts, over all storms, what was meddled with."""

    done: ClassVar[Counter[str]] = Counter()

    def __init__(self, fault: Fault, kind: type[m.Message]) -> None:
        self.fault, self.kind = fault, kind

    def __call__(self, moot: Moot, place: int, node: Node, world: World[int]) -> None:
        rng = random.Random(f"{self.fault} {self.kind.__name__} {moot.seed} {place}")
        others = [peer for peer in range(moot.n) if peer != place]
        self.meddle(rng, world, node, others, Liar(moot.keys[place], lambda: place, moot.n, rng))

    def meddle(
        self, rng: random.Random, world: World[Any], node: Any, others: Sequence[Any], liar: Liar
    ) -> None:
        """Come between a node, or an assembly, and its transport."""
        send, receive = world.send, node.received
        told: Callable[[Any, bytes, Any], None] = getattr(self, "_" + self.fault.replace("-", "_"))(
            rng, world, send, others, liar
        )

        def sent(peer: Any, frame: bytes) -> None:
            message = m.decode(frame)
            if not isinstance(message, self.kind):
                send(peer, frame)
                return
            Meddling.done[f"{self.fault}: {self.kind.__name__}"] += 1
            told(peer, frame, message)

        def received(peer: Any, frame: bytes) -> None:
            receive(peer, frame)
            try:
                message = m.decode(frame)
            except ValueError:
                return
            if self.fault == "replayed" and isinstance(message, self.kind):
                told(None, frame, message)

        world.send = sent  # type: ignore[method-assign]
        node.received = received

    def _withheld(
        self, rng: random.Random, _world: Any, send: Any, others: Sequence[Any], _liar: Liar
    ) -> Any:
        victims = [*others] if rng.random() < 0.5 else rng.sample(others, len(others) // 2)
        return lambda peer, frame, _: None if peer in victims else send(peer, frame)

    def _late(self, rng: random.Random, world: Any, send: Any, *_: Any) -> Any:
        delay = rng.choice([0.5, 2.0, 5.0, 20.0])
        return lambda peer, frame, _: world.later(world.now() + delay, lambda: send(peer, frame))

    def _replayed(self, rng: random.Random, world: Any, send: Any, others: Sequence[Any], _liar: Liar) -> Any:
        kept: list[bytes] = []
        left = _MOST_AGAIN

        def again() -> None:
            nonlocal left
            for peer in others:
                if left > 0:
                    left -= 1
                    send(peer, rng.choice(kept))

        def told(peer: Any, frame: bytes, message: Any) -> None:
            if peer is not None:
                send(peer, frame)
            if frame not in kept:
                kept.append(frame)
                if len(kept) > 1 and hasattr(message, "motion"):  # as if it were of another motion
                    other = m.decode(kept[0])
                    kept.append(m.encode(replace(message, motion=getattr(other, "motion"))))  # noqa: B009
                for wait in (0.0, 1.0, 6.0):
                    world.later(world.now() + wait, again)

        return told

    def _forged(self, rng: random.Random, _world: Any, send: Any, others: Sequence[Any], liar: Liar) -> Any:
        def told(peer: Any, frame: bytes, message: Any) -> None:
            for false in liar.forged(message):
                send(peer, m.encode(false))
                if rng.random() < 0.2:
                    send(rng.choice(others), m.encode(false))
            send(peer, frame)

        return told

    def _oversized(self, rng: random.Random, _world: Any, send: Any, _others: Any, liar: Liar) -> Any:
        left = _MOST_LONG
        first = rng.random() < 0.5

        def told(peer: Any, frame: bytes, message: Any) -> None:
            nonlocal left
            left -= 1
            long = [m.encode(each) for each in liar.swollen(message)] if left > 0 else [frame + bytes(1000)]
            for each in [*long, frame] if first else [frame, *long]:
                send(peer, each)

        return told

    def _two_faced(
        self, _rng: random.Random, _world: Any, send: Any, others: Sequence[Any], liar: Liar
    ) -> Any:
        def told(peer: Any, frame: bytes, message: Any) -> None:
            at = others.index(peer)
            if at % 2:
                send(peer, m.encode(liar.other(message)))
            if at % 4 != 1:
                send(peer, frame)

        return told


class Liar:
    """What a member can make of a message that it is about to send, with its own key."""

    def __init__(self, key: Ed25519PrivateKey, place: Callable[[], int], n: int, rng: random.Random) -> None:
        """``place`` says where it is in the roster now."""
        self.key, self.n, self.rng, self._place = key, n, rng, place

    @property
    def place(self) -> int:
        """Where it is in the roster."""
        return self._place()

    def signed(self, message: Any) -> Any:
        """The same with its own signature, where a message has one."""
        said: bytes
        match message:
            case m.Owners():
                said = statements.opens_owners(message)
            case m.Labels():
                said = statements.opens_labels(message)
            case m.Close():
                said = statements.closing(message)
            case m.Refuse():
                said = statements.refusal(message.motion, self.place, message.reason)
            case m.Invite():
                said = statements.invites(hashlib.sha256(message.header).digest(), self.place)
            case m.Answer():
                digest = hashlib.sha256(message.votes).digest()
                said = statements.state(message.motion, self.place, message.version, digest)
            case m.Rows():
                what = message.contribution
                digest = hashlib.sha256(message.data).digest()
                bare = replace(what, digest=digest)
                signature = self.key.sign(statements.contributed(message.motion, bare))
                return replace(message, contribution=replace(bare, signature=signature))
            case m.Successor():
                name = hashlib.sha256(message.content).digest()
                consent = statements.Consent(message.previous, self.place, name, bytes(64))
                mine = (self.place, self.key.sign(statements.succeeds(consent)))
                rest = [each for each in message.signatures if each[0] != self.place]
                return replace(message, signatures=(*rest, mine))
            case _:
                return message
        return replace(message, signature=self.key.sign(said))

    def other(self, message: Any) -> Any:
        """One of its own that contradicts it."""
        bare: Any
        match message:
            case m.Unopened():
                return replace(message, have=bytes(len(message.have)))
            case m.Owners():
                bare = replace(message, seed=self.rng.randbytes(32))
            case m.Labels():
                bare = replace(message, labels=message.labels[:1] + bytes(b ^ 1 for b in message.labels[1:]))
            case m.Close():
                bare = replace(message, decisions=message.first, first=message.decisions)
            case m.Refuse():
                bare = replace(message, reason="for another reason")
            case m.Invite():
                told = read_invitation(message.header)
                bare = replace(message, header=replace(told, nonce=self.rng.randbytes(16)).encoded())
            case m.Answer():
                bare = replace(message, votes=bytes(len(message.votes)))
            case m.Rows():
                size = len(message.data) // message.contribution.rows
                bare = replace(message, data=message.data[size:] + message.data[:size])
            case m.Successor():
                bare = replace(message, content=message.content + b" ")
            case m.Held():
                return m.Held((self.rng.randbytes(32),), ())
            case _:
                raise AssertionError(f"say what contradicts a {type(message).__name__}")
        return self.signed(bare)

    def forged(self, message: Any) -> list[Any]:
        """What others have not said: in their names, or their words changed."""
        someone = (self.place + self.rng.randrange(1, self.n)) % self.n
        noise = self.rng.randbytes
        match message:
            case m.Rows():
                what = message.contribution
                return [
                    replace(message, contribution=replace(what, node=someone)),
                    replace(message, contribution=replace(what, signature=noise(64))),
                ]
            case m.Successor():
                everybody = tuple((place, message.signatures[0][1]) for place in range(self.n))
                return [
                    replace(message, signatures=everybody if message.signatures else ()),
                    replace(message, content=message.content[:-1] + b"\xff"),
                ]
            case m.Held():
                return [m.Held((bytes(32),), ((noise(32), b"\xff" * 512),))]
            case m.Unopened():
                return [replace(message, have=noise(48)), replace(message, motion=noise(32))]
            case m.Invite():
                told = replace(read_invitation(message.header), asker=someone)
                return [replace(message, signature=noise(64)), replace(message, header=told.encoded())]
            case m.Answer():
                return [
                    replace(message, votes=message.votes[::-1]),
                    m.Close(message.motion, someone, message.votes, bytes(32), message.votes, "", noise(64)),
                ]
            case _:
                changed = replace(self.other(message), node=someone)
                return [replace(message, node=someone), replace(message, signature=noise(64)), changed]

    def swollen(self, message: Any) -> list[Any]:
        """As long as a message may be and longer, with its own signature."""
        long = bytes(_LONG)
        match message:
            case m.Unopened():
                return [replace(message, have=b"\xff" * size) for size in (512, 513, 100_000)]
            case m.Owners():
                many = message.owned * (4097 // max(1, len(message.owned)) + 1)
                return [self.signed(replace(message, owned=many[:size])) for size in (400, 4096, 4097)]
            case m.Labels():
                sizes = (1 + m.MOST_CHECK_ROWS, 8 * m.MOST_CHECK_ROWS, 8 * m.MOST_CHECK_ROWS + 1, _LONG)
                return [self.signed(replace(message, labels=bytes(size))) for size in sizes]
            case m.Close():
                return [
                    self.signed(replace(message, decisions=long)),
                    self.signed(replace(message, first=long)),
                ]
            case m.Refuse():
                words = ("\U0001f480" * m.LONGEST_REASON, "why " * 50_000)
                return [self.signed(replace(message, reason=each)) for each in words]
            case m.Invite():
                told = read_invitation(message.header)
                wide = replace(told, labels=tuple(f"label {i}" for i in range(2000)))
                return [self.signed(replace(message, header=each)) for each in (long, wide.encoded())]
            case m.Answer():
                return [self.signed(replace(message, votes=each)) for each in (long, message.votes * 2)]
            case m.Rows():
                most = replace(message.contribution, rows=m.MOST_CHECK_ROWS)
                return [
                    self.signed(replace(message, data=long)),
                    self.signed(replace(message, data=message.data * 90, contribution=most)),
                ]
            case m.Successor():
                signatures = tuple((place, bytes(64)) for place in range(4097))
                return [
                    self.signed(replace(message, content=long)),
                    replace(message, signatures=signatures[:-1]),
                    replace(message, signatures=signatures),
                ]
            case m.Held():
                digests = tuple(self.rng.randbytes(32) for _ in range(m.MOST_PROPOSALS + 1))
                whole = tuple((digest, b"\xff" * 512) for digest in digests)
                return [
                    m.Held(message.moots * (m.MOST_OLDER + 1), whole[:-1]),
                    m.Held(message.moots, whole),
                    m.Held(digests, ()),
                ]
            case _:
                raise AssertionError(f"say how long a {type(message).__name__} can be")


def meddlers(family: str) -> dict[str, Callable[[], HostileKind]]:
    """Members with these faults, for storms of places."""

    def maker(fault: Fault, kind: type[m.Message]) -> Callable[[], HostileKind]:
        return lambda: Meddling(fault, kind)

    return {name: maker(*each) for name, each in of_family(family).items()}


def played(kinds: Sequence[str], seed: int, play: Callable[[int, str], Storm]) -> list[Storm]:
    """A storm for each of these kinds, from this seed on, a multiple of three: in each somebody is hostile.

    Where a fault is to be played and there was nothing to meddle with, the next seeds are tried.
    """
    faults = {name for family in MESSAGES for name in of_family(family)}
    found = []
    for number, kind in enumerate(kinds):
        before = Meddling.done[kind]
        for attempt in range(12):
            found.append(play(seed + 36 * number + 3 * attempt + 1, kind))
            if kind not in faults or Meddling.done[kind] > before:
                break
        else:
            raise AssertionError(f"there was never a message for {kind!r}")
    return found
