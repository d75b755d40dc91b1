"""Members that come between an honest node and its transport, and use the rules against the others.

``KINDS`` has all that need nothing but a place among the others; storms draw from it.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from folkmoot.network.service.node import Node
from folkmoot.network.session.patience import Health, Patience
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import motion_name
from folkmoot.network.wire.packing import pack, unpack
from folkmoot.node.transports.memory import World
from support.network.moot_in_memory import HostileKind, Moot


def _message(frame: bytes) -> m.AnyMessage | None:
    """What a frame says; None if it says nothing: another hostile member may have sent it."""
    try:
        return m.decode(frame)
    except ValueError:
        return None


class Equivocating:
    """Commits to all but its victim, reads what these reveal, and commits to the victim with copied votes.

    It says that it is not as far yet until it has read enough, and never closes, so that no node is given two
    things that it has signed and that contradict each other.
    """

    def __init__(self, victim: int, *, blindly: bool = False, enough: int | None = None) -> None:
        """``blindly``: commit to something else at once, without having read anything.

        ``enough``: how many must have revealed; all but the victim if it is not said.
        """
        self.victim, self.blindly, self.enough = victim, blindly, enough
        self.copied: set[bytes] = set()  # motions in which it came so far

    def __call__(self, moot: Moot, place: int, node: Node, world: World[int]) -> None:
        send, receive, key = world.send, node.received, moot.keys[place]
        fingerprint = bytes.fromhex(moot.roster[place].fingerprint)
        enough = moot.n - 2 if self.enough is None else self.enough
        read: dict[bytes, dict[int, bytes]] = defaultdict(dict)
        second: dict[bytes, tuple[m.Commit, m.Reveal]] = {}

        def commit_again(name: bytes, first: bytes) -> None:
            salt = bytes(31) + b"2"
            commitment = statements.commitment_to(name, fingerprint, salt, first)
            signature = key.sign(statements.committed(name, place, commitment))
            bare = m.Reveal(name, salt, first, bytes(64), want=False)
            reveal = replace(bare, signature=key.sign(statements.revealed(bare, place)))
            second[name] = m.Commit(name, place, commitment, signature, want=True), reveal
            self.copied.add(name)
            send(self.victim, m.encode(second[name][0]))

        def trusting(name: bytes) -> bool:
            session = node.session(name)
            return session is not None and session.motion.trust

        def sent(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.OfRosters | m.Announce) or not trusting(message.motion):
                send(peer, frame)
            elif isinstance(message, m.Close):
                pass
            elif peer == self.victim and isinstance(message, m.Commit) and message.node == place:
                if self.blindly and message.motion not in second:
                    session = node.session(message.motion)
                    assert session is not None
                    classes, inputs = session.motion.classes, session.motion.inputs
                    commit_again(message.motion, pack(np.zeros(inputs, np.int8), classes))
                elif message.motion in second:
                    send(peer, m.encode(replace(second[message.motion][0], want=message.want)))
                else:
                    send(peer, m.encode(m.Pending(message.motion)))
            elif peer == self.victim and isinstance(message, m.Reveal):
                if message.motion in second:
                    send(peer, m.encode(replace(second[message.motion][1], want=message.want)))
            else:
                send(peer, frame)

        def received(peer: int, frame: bytes) -> None:
            message = _message(frame)
            if isinstance(message, m.Reveal) and peer not in (self.victim, place):
                read[message.motion][peer] = message.first
                session = node.session(message.motion)
                ready = len(read[message.motion]) >= enough and message.motion not in second
                if session is not None and ready:
                    votes = np.stack([
                        unpack(first, session.motion.inputs, session.motion.classes)
                        for first in read[message.motion].values()
                    ])  # fmt: skip
                    counts = [(votes == colour).sum(axis=0) for colour in range(session.motion.classes)]
                    copied = np.argmax(np.stack(counts), axis=0).astype(np.int8)
                    commit_again(message.motion, pack(copied, session.motion.classes))
            receive(peer, frame)

        world.send = sent  # type: ignore[method-assign]
        node.received = received  # type: ignore[method-assign]


class ClaimsMarks:
    """Says that it holds other commitments of everybody than it does, and has none to show."""

    def __call__(self, moot: Moot, place: int, _node: Node, world: World[int]) -> None:
        send = world.send

        def sent(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Marks):
                bare = replace(message, marks=bytes(byte ^ 0x55 for byte in message.marks))
                frame = m.encode(
                    replace(bare, signature=moot.keys[place].sign(statements.marked(bare, place)))
                )
            elif isinstance(message, m.Commit) and message.node != place:
                return
            send(peer, frame)

        world.send = sent  # type: ignore[method-assign]


class ToHalf:
    """Speaks to every second of the others only, and is as if it were away to the rest."""

    def __call__(self, _moot: Moot, _place: int, _node: Node, world: World[int]) -> None:
        send = world.send

        def sent(peer: int, frame: bytes) -> None:
            if peer % 2:
                send(peer, frame)

        world.send = sent  # type: ignore[method-assign]


class CutsShort:
    """Passes every announcement on with other times left than there are."""

    most = 16  # times that it passes a motion on: two such members would do so to each other for ever

    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(self, moot: Moot, place: int, node: Node, world: World[int]) -> None:
        receive = node.received
        passed: Counter[bytes] = Counter()

        def received(peer: int, frame: bytes) -> None:
            message = _message(frame)
            if isinstance(message, m.Announce) and passed[message.header] < self.most:
                passed[message.header] += 1
                told = m.encode(replace(message, remaining=message.remaining * self.share))
                for other in range(moot.n):
                    if other != place:
                        world.send(other, told)
            receive(peer, frame)

        node.received = received  # type: ignore[method-assign]


class Replays:
    """Sends the others again what it has heard, as if it were its own."""

    most = 1000  # frames in all

    def __call__(self, moot: Moot, place: int, node: Node, world: World[int]) -> None:
        receive, rng = node.received, random.Random(f"replays {moot.seed} {place}")
        heard: list[bytes] = []
        left = self.most

        def received(peer: int, frame: bytes) -> None:
            nonlocal left
            heard.append(frame)
            if left and rng.random() < 0.3:
                left -= 1
                told = rng.choice(heard)
                if rng.random() < 0.1:
                    told = told[: rng.randrange(len(told))]  # or what is left of it
                world.send((place + rng.randrange(1, moot.n)) % moot.n, told)
            receive(peer, frame)

        node.received = received  # type: ignore[method-assign]


class Floods:
    """Puts many motions at once, each to one of the others, who pass it on when they have voted."""

    def __init__(self, motions: int, at: float, seconds: float) -> None:
        self.motions, self.at, self.seconds = motions, at, seconds

    def __call__(self, moot: Moot, place: int, node: Node, world: World[int]) -> None:
        receive, inputs = node.received, moot.motion(place)[1]
        put: set[bytes] = set()

        def received(peer: int, frame: bytes) -> None:
            message = _message(frame)
            if not isinstance(message, m.Fetch) or message.motion not in put:
                receive(peer, frame)
            elif message.index == 0:
                world.send(peer, m.encode(m.Chunk(message.motion, 0, inputs.read(0))))

        def flood() -> None:
            for number in range(self.motions):
                motion, _ = moot.motion(place, nonce=number.to_bytes(16, "big"), seconds=self.seconds)
                header = motion.encoded()
                put.add(motion_name(header))
                signature = moot.keys[place].sign(statements.announcement(motion_name(header), place))
                told = m.encode(m.Announce(header, signature, motion.seconds))
                world.send((place + 1 + number % (moot.n - 1)) % moot.n, told)

        node.received = received  # type: ignore[method-assign]
        world.later(self.at, flood)


class Slow:
    """Says everything just before the patience of who waits for it would end."""

    def __init__(self, seconds: float) -> None:
        """In motions of this many seconds."""
        self.patience = Patience(seconds, Health(1), 1, 0.0, seconds).answer

    def __call__(self, _moot: Moot, _place: int, _node: Node, world: World[int]) -> None:
        send = world.send

        def sent(peer: int, frame: bytes) -> None:
            world.later(world.now() + 0.9 * self.patience, lambda: send(peer, frame))

        world.send = sent  # type: ignore[method-assign]


class Stalls:
    """Says that it is not as far yet, whatever it is asked, and nothing else."""

    def __call__(self, _moot: Moot, _place: int, node: Node, world: World[int]) -> None:
        def received(peer: int, frame: bytes) -> None:
            message = _message(frame)
            if isinstance(message, m.Commit | m.Marks | m.Reveal | m.Want | m.Ask):
                world.send(peer, m.encode(m.Pending(message.motion)))

        node.received = received  # type: ignore[method-assign]


Make = Callable[[random.Random, Sequence[int], float], HostileKind]

# By name: what makes one, of a random source, the places of the honest and the seconds of their motions.
KINDS: Final[dict[str, Make]] = {
    "two commitments": lambda rng, honest, _: Equivocating(rng.choice(honest), enough=len(honest) // 2),
    "two commitments at once": lambda rng, honest, _: Equivocating(rng.choice(honest), blindly=True),
    "claims marks": lambda *_: ClaimsMarks(),
    "speaks to half": lambda *_: ToHalf(),
    "cuts short": lambda rng, *_: CutsShort(rng.choice([1e-4, 0.3, 0.65, 2.0])),
    "replays": lambda *_: Replays(),
    "floods": lambda rng, _, seconds: Floods(24, rng.uniform(0.0, 0.5), 2 * seconds),
    "slow": lambda _rng, _honest, seconds: Slow(seconds),
    "stalls": lambda *_: Stalls(),
}
WITH_TRUST: Final = ("two commitments", "two commitments at once", "claims marks")  # has work only there


def made_hostile(
    drawn: Mapping[int, str],
    rng: random.Random,
    seconds: float,
    honest: Sequence[int],
    own: Mapping[str, Callable[[], HostileKind]] | None = None,
) -> dict[int, HostileKind]:
    """Those of a storm that act, by place: of ``KINDS`` or of its own kinds. Others only vote wrong."""
    own = own or {}
    return {
        place: own[kind]() if kind in own else KINDS[kind](rng, honest, seconds)
        for place, kind in drawn.items()
        if kind in own or kind in KINDS
    }
