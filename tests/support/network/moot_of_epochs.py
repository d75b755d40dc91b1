"""A moot whose roster changes, on the memory transport: real nodes, real SQLite, peers known by fingerprints.

Who is called ``anna`` has anna's first key; ``anna 1`` is anna with another key: a process of its own.
"""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.network.service.assembly import Assembly
from folkmoot.network.service.node import Node
from folkmoot.network.service.parts import Lasting, Parts
from folkmoot.network.service.policy import Policy
from folkmoot.network.session.minutes import Seat
from folkmoot.network.session.session import Session
from folkmoot.network.storage.chronicle import Chronicle
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.succession import Succession
from folkmoot.node.log import Journal
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.transports.memory import Network, Weather, World
from folkmoot.node.transports.places import Places
from folkmoot.node.wire.batch import Batch
from support.network.blank_storage import blank_storage
from support.network.epochs import key_of, member
from support.network.moot_in_memory import ChunkVotes, InMemory

ANYTHING = Policy(least_alpha=1, least_k=1)


def person(who: str) -> Member:
    """The member of that name and generation."""
    name, _, generation = who.partition(" ")
    return member(name, int(generation or 0))


def address(who: str) -> bytes:
    """Its fingerprint."""
    return bytes.fromhex(person(who).fingerprint)


Interference = Callable[["MootOfEpochs", str, Assembly, World[bytes]], None]


class MootOfEpochs:
    """Processes by name, each with a database that outlives it."""

    policy = ANYTHING

    def __init__(
        self,
        first: Iterable[str],
        later: Iterable[str],
        votes: Mapping[str, Colours],
        seed: int,
        *,
        weather: Weather | None = None,
        hostile: Mapping[str, Interference] | None = None,
    ) -> None:
        """``later`` are those that may join; ``votes`` are by name, without generation."""
        self.first, self.votes, self.seed = list(first), dict(votes), seed
        self.inputs = next(iter(self.votes.values())).size  # that are asked about
        self.root = Roster(map(person, self.first))
        self.everybody = [*self.first, *later]
        self.hostile = dict(hostile or {})
        self.network = Network(map(address, self.everybody), seed, weather)
        self.storages = {who: blank_storage() for who in self.everybody}
        self.roots = dict.fromkeys(self.first, self.root)
        self.nodes: dict[str, Assembly] = {}
        self.over: dict[bytes, tuple[Session, dict[str, Any]]] = {}
        self.starts = self.asked = 0
        self.logs: dict[str, io.StringIO] = {}  # what each has to say about rosters
        for who in self.first:
            self.start(who)

    def start(self, who: str, root: Roster | None = None) -> None:
        """Start a process, or start it again with what it had stored."""
        self.starts += 1
        self.roots.setdefault(who, root or self.root)
        world, storage = self.network.world(address(who)), self.storages[who]
        incarnation, rng = storage.start(world.clock()), random.Random(f"{self.seed} {self.starts}")
        key, name = key_of(person(who).name, int(who.partition(" ")[2] or 0)), person(who).name
        own = person(who).fingerprint

        def make(roster: Roster, places: Places, lasting: Lasting) -> Node:
            place = roster.position(own)
            assert place is not None
            keys = [each.public_key for each in roster]
            fingerprints = [bytes.fromhex(each.fingerprint) for each in roster]
            seat = Seat(place, key, keys, fingerprints, incarnation)
            parts = Parts(seat, roster, storage, places, ChunkVotes(self.votes[name]), rng)
            return Node(self.furnished(parts, name), policy=self.policy, lasting=lasting)

        chronicle = Chronicle(storage, self.roots[who], world.clock())
        self.logs.setdefault(who, io.StringIO())
        journal = Journal("info", self.logs[who])
        assembly = Assembly(chronicle, world, own, make, rng=rng, journal=journal)
        self.nodes[who] = assembly
        if who in self.hostile:
            self.hostile[who](self, who, assembly, world)
        assembly.start()

    def furnished(self, parts: Parts, _name: str) -> Parts:
        """What the node of a member has besides, by name."""
        return parts

    def crash(self, who: str) -> None:
        """The process is gone; its database stays."""
        self.network.crash(address(who))
        self.nodes.pop(who, None)

    def propose(self, who: str, change: Callable[[Roster], Succession]) -> None:
        """Let a member propose and sign what makes a successor of its own newest roster; it may refuse."""
        if who in self.nodes:
            self.sign(who, change(self.nodes[who].chronicle.tip))

    def sign(self, who: str, succession: Succession) -> None:
        """Let a member sign, as the command does: stored, then passed on by the node if it runs."""
        chronicle = self.nodes[who].chronicle
        name, _, generation = who.partition(" ")
        key = key_of(name, int(generation or 0))
        try:
            chronicle.sign(succession, key, person(who).fingerprint, self.network.of(address(who)).clock())
        except ValueError:  # it has signed another, is no member, or is further already
            return
        self.nodes[who].refresh()

    def sign_what_is_proposed(self, who: str) -> None:
        """Let a member sign the proposal that most have signed, of those that let in nobody unheard of."""
        if who in self.nodes:
            known = {*map(address, self.everybody)}
            found = [
                proposal
                for proposal in self.nodes[who].chronicle.proposals
                if all(bytes.fromhex(each.fingerprint) in known for each in proposal.succession.roster)
            ]
            for proposal in sorted(found, key=lambda p: -len(p.signatures))[:1]:
                self.sign(who, proposal.succession)

    def put(self, who: str, *, at: float = 0.0, **changes: Any) -> None:
        """Let a node put a motion under its newest roster at a time."""

        def put() -> None:
            node = self.nodes.get(who)
            if node is not None and node.present:
                node.propose(*self.motion(node, **changes), self._over)

        self.network.at(at, put)

    def motion(self, node: Assembly, **changes: Any) -> tuple[Motion, InMemory]:
        """A motion under the newest roster of a node, on the inputs that are asked about."""
        self.asked += 1
        batch = Batch(np.arange(self.inputs, dtype="<i4")[:, None])
        n = node.seat.n
        k = min(n - 1, 5)
        settings: dict[str, Any] = {
            "moot": bytes.fromhex(node.roster.digest), "asker": node.seat.place,
            "nonce": hashlib.sha256(repr((self.seed, self.asked)).encode()).digest()[:16],
            "created": 1e9 + self.network.time, "seconds": 8.0, "protocol": "slush", "k": k,
            "alpha": k // 2 + 1, "beta": 20, "rounds": 10, "pace": 0.02, "weighted": False,
            "trust": False, "labels": ("a", "b"), "inputs": len(batch), "columns": batch.columns,
            "dtype": batch.dtype, "chunk_rows": batch.chunk_rows, "chunks": batch.digests(),
        } | changes  # fmt: skip
        return Motion(**settings), InMemory(list(batch.chunks()))

    def _over(self, session: Session, summary: dict[str, Any]) -> None:
        self.over[session.name] = (session, summary)

    def tip(self, who: str) -> Roster:
        """The roster in force at a node that runs."""
        return self.nodes[who].chronicle.tip


def joined(*who: str) -> Callable[[Roster], Succession]:
    """With these besides."""
    return lambda old: Succession.after(old, [*old, *map(person, who)])


def left(*names: str) -> Callable[[Roster], Succession]:
    """Without these."""
    return lambda old: Succession.after(old, [each for each in old if each.name not in names])


def renewed(who: str, *, stolen: bool = False) -> Callable[[Roster], Succession]:
    """With another key of a member."""
    new = person(who)

    def change(old: Roster) -> Succession:
        members = [new if each.name == new.name else each for each in old]
        return Succession.after(old, members, [new.name] if stolen else [])

    return change
