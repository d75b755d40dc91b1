"""A whole moot on the memory transport: real nodes, real SQLite, real signatures; only time and wires
are virtual.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Protocol

import msgspec
import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from folkmoot.adversaries import Adversary, NumberAdversary, Sleeper
from folkmoot.arrays import Array, Colours
from folkmoot.network.service.check_rows import LabelledRows
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.interfaces import AnyVoter
from folkmoot.network.service.node import Node
from folkmoot.network.service.parts import Parts, Running
from folkmoot.network.service.past_performance import PastPerformance
from folkmoot.network.service.policy import Policy
from folkmoot.network.service.voter import ChunkVotes as Voted
from folkmoot.network.session.minutes import Seat
from folkmoot.network.session.session import Session
from folkmoot.network.storage.retention import DISK
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.packing import pack, unpack
from folkmoot.node.membership.certificates import fingerprint_of
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.transports.memory import Network, Weather, World
from folkmoot.node.wire.batch import Batch
from folkmoot.testing.node import lying
from support.network.blank_storage import blank_storage
from support.network.signatures import RememberingKey


@lru_cache
def keys_and_roster(n: int) -> tuple[tuple[Ed25519PrivateKey, ...], Roster]:
    """The same keys in every test: a seed must replay to the byte."""
    keys, participants = [], []
    for i in range(n):
        key = RememberingKey(hashlib.sha256(f"key {i}".encode()).digest())
        certificate = certificate_of(f"p{i:03d}", key.real)
        fingerprint = fingerprint_of(certificate)
        participants.append(Member(f"p{i:03d}", "", fingerprint, (f"127.0.0.1:{7000 + i}",), certificate))
        keys.append(key)
    return tuple(keys), Roster(participants)


def certificate_of(name: str, key: Ed25519PrivateKey) -> bytes:
    """Like a node's own, but with nothing random or of today in it."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start, end = datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, start, end)
    return builder.sign(key, algorithm=None).public_bytes(Encoding.DER)


class ChunkVotes:
    """A model whose votes are known: row i of the inputs holds i, and participant p votes ``votes[p, i]``."""

    def __init__(self, row: Array) -> None:
        self._row = row

    def check(self, *_: object) -> None:
        """It takes whatever it is asked."""

    def vote(self, inputs: Any, *_: object) -> Voted:
        return Voted(self._row[inputs[:, 0].astype(int)])

    def numbers(self, inputs: Any, *_: object) -> Voted:
        return Voted(self._row[inputs[:, 0].astype(int)].reshape(len(inputs), -1))


def forge_closes(world: World[int], key: Ed25519PrivateKey) -> None:
    """A participant that signs one close for half of the others and the opposite one for the rest."""
    send = world.send

    def forge(peer: int, frame: bytes) -> None:
        message = m.decode(frame)
        if isinstance(message, m.Close) and peer % 2:
            votes = bytes([message.decisions[0], *(byte ^ 1 for byte in message.decisions[1:])])
            bare = msgspec.structs.replace(message, decisions=votes)
            frame = m.encode(msgspec.structs.replace(bare, signature=key.sign(statements.closing(bare))))
        send(peer, frame)

    world.send = forge  # type: ignore[method-assign]


class InMemory:
    """The chunks of a motion, kept by its asker."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def read(self, index: int) -> bytes:
        return self._chunks[index]

    def discard(self) -> None:
        pass


class HostileKind(Protocol):
    """What a hostile member does: it comes between a node and its transport, at every start of the node."""

    def __call__(self, moot: Moot, place: int, node: Node, world: World[int], /) -> None: ...


@dataclass(frozen=True, eq=False)
class Listened:
    """A node has listened to first votes: to which, and with whom it had compared commitments."""

    motion: bytes
    place: int
    votes: Colours  # (participant, input)
    salt: bytes  # of its own marks
    compared: dict[int, bytes]  # with whom: the salts of their marks


class Moot:
    """n nodes on one virtual network."""

    def __init__(
        self,
        votes: Colours,
        seed: int,
        *,
        adversaries: Mapping[int, Adversary] | None = None,
        weather: Weather | None = None,
        two_faced: Collection[int] = (),
        holdouts: Mapping[int, Holdout] | None = None,
        without: Collection[int] = (),
        policies: Mapping[int, Policy] | None = None,
        labels: Mapping[int, Sequence[str]] | None = None,
        disk: int = DISK,
        hostile: Mapping[int, HostileKind] | None = None,
        voters: Mapping[int, AnyVoter] | None = None,
        number_adversaries: Mapping[int, NumberAdversary] | None = None,  # of those that are adversaries
        past: PastPerformance | None = None,
        rows: Mapping[int, LabelledRows] | None = None,
    ) -> None:
        self.votes, self.n = votes, len(votes)
        self.seed = seed
        self.keys, self.roster = keys_and_roster(self.n)
        self.adversaries = dict(adversaries or {})
        self.number_adversaries: dict[int, NumberAdversary] = dict(number_adversaries or {})
        self.two_faced = set(two_faced)
        self.hostile = dict(hostile or {})
        self.holdouts = {p: h for p, h in (holdouts or {}).items() if p not in without}
        self.policies, self.labels = dict(policies or {}), dict(labels or {})
        self.voters = dict(voters or {})  # real models; the others vote as ``votes`` says
        self.disk, self.past = disk, past
        self.rows = dict(rows or {})
        self.reveals = 0
        self.listened: list[Listened] = []
        self.network = Network(range(self.n), seed, weather)
        self.storages = [blank_storage() for _ in range(self.n)]
        self.nodes: list[Node | None] = [None] * self.n
        self.starts = 0
        self.over: dict[bytes, tuple[Session, dict[str, Any]]] = {}
        for place in range(self.n):
            self.start(place)

    def start(self, place: int) -> None:
        """Start a node, or start it again with what it had stored."""
        self.starts += 1
        world = self.network.world(place)
        storage = self.storages[place]
        seat = Seat(
            place,
            self.keys[place],
            [participant.public_key for participant in self.roster],
            [bytes.fromhex(participant.fingerprint) for participant in self.roster],
            storage.start(world.clock()),
        )
        rng = random.Random(f"{self.seed} {self.starts}")
        if place in self.two_faced:
            forge_closes(world, self.keys[place])
        voter = self.voters.get(place, ChunkVotes(self.votes[place]))
        holdout, rows = self.holdouts.get(place, Holdout()), self.rows.get(place)
        parts = Parts(seat, self.roster, storage, world, voter, rng, holdout, self.past, rows)
        if place in self.adversaries:
            parts = lying(parts, self.adversaries[place], self.number_adversaries.get(place))
        node = Node(parts, policy=self.policies.get(place), labels=self.labels.get(place), disk=self.disk)
        self.nodes[place] = node
        self._watch_listening(place, node)
        if place in self.hostile:
            self.hostile[place](self, place, node, world)
        node.start()

    def _watch_listening(self, place: int, node: Node) -> None:
        listen = node._driver._listen

        def watched(running: Running, votes: Colours) -> None:
            comparing = running.session._comparing
            owing = comparing.owing(range(self.n))
            told = {peer: marks.salt for peer, marks in comparing._told.items() if peer not in owing}
            assert comparing._own is not None
            self.listened.append(
                Listened(running.session.name, place, votes.copy(), comparing._own.salt, told)
            )
            listen(running, votes)

        setattr(node._driver, "_listen", watched)  # noqa: B010 (a method is watched)

    def make_sleeper(self, place: int, share: float = 1.0) -> None:
        """A participant that votes as it should and, when it is asked, says the opposite on some inputs."""
        world = self.network.of(place)
        struck = Sleeper(share=share).lies_on(self.votes.shape[1])
        send, key = world.send, self.keys[place]

        def lie(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Answer):
                held = unpack(message.votes, self.votes.shape[1], 2)
                votes = pack(np.where(struck & (held >= 0), 1 - held, held).astype(np.int8), 2)
                said = statements.state(
                    message.motion, place, message.version, hashlib.sha256(votes).digest()
                )
                frame = m.encode(msgspec.structs.replace(message, votes=votes, signature=key.sign(said)))
            send(peer, frame)

        world.send = lie  # type: ignore[method-assign]

    def watch_reveals(self, place: int, early: list[int]) -> None:
        """Note in ``early`` who shows first votes while it still lacks a commitment."""
        world, node = self.network.of(place), self.nodes[place]
        send = world.send
        assert node is not None

        def look(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Reveal):
                self.reveals += 1
                session = node.session(message.motion)
                if session is None or len(session.commits) < self.n:
                    early.append(place)
            send(peer, frame)

        world.send = look  # type: ignore[method-assign]

    def crash(self, place: int) -> None:
        """The process is gone; its database stays."""
        self.network.crash(place)
        self.nodes[place] = None

    def motion(self, asker: int = 0, batch: Batch | None = None, **changes: Any) -> tuple[Motion, InMemory]:
        """A motion on all inputs, or on a batch for real models."""
        if batch is None:
            batch = Batch(np.arange(self.votes.shape[1], dtype="<i4")[:, None])
        nonce = hashlib.sha256(repr((self.seed, asker, changes)).encode()).digest()[:16]
        settings: dict[str, Any] = {
            "moot": bytes.fromhex(self.roster.digest), "asker": asker, "nonce": nonce,
            "created": 1e9, "seconds": 30.0, "protocol": "slush", "k": 5, "alpha": 3, "beta": 20,
            "rounds": 15,
            "pace": 0.02, "weighted": False, "trust": False,
            "labels": ("a", "b"), "inputs": len(batch), "columns": batch.columns,
            "dtype": batch.dtype, "chunk_rows": batch.chunk_rows,
            "chunks": batch.digests(), "schema": batch.schema,
        } | changes  # fmt: skip
        return Motion(**settings), InMemory(list(batch.chunks()))

    def put(self, asker: int = 0, *, at: float = 0.0, **changes: Any) -> None:
        """Let a node put a motion at a time."""

        def put() -> None:
            node = self.nodes[asker]
            if node is not None:
                motion, inputs = self.motion(asker, **changes)
                node.propose(motion, inputs, lambda session, summary: self._over(session, summary))

        self.network.at(at, put)

    def _over(self, session: Session, summary: dict[str, Any]) -> None:
        self.over[session.name] = (session, summary)

    def at(self, when: float, call: Callable[[], None]) -> None:
        self.network.at(when, call)
