"""One session by itself: the test plays all its peers, holds their keys, and reads what it wants done."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from folkmoot.arrays import Colours
from folkmoot.network.session.minutes import Memory, Save, Seat
from folkmoot.network.session.patience import Health
from folkmoot.network.session.phases import Phase
from folkmoot.network.session.session import Session
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.packing import pack
from folkmoot.node.wire.batch import Batch
from support.network.moot_in_memory import keys_and_roster

SECONDS = 30.0
PATIENCE = 2.0  # for an answer, in a motion of 30 s


def motion_of(n: int, inputs: int = 4, **changes: Any) -> Motion:
    """A motion of participant 0 on the numbers 0, 1, 2, ... by Slush."""
    batch = Batch(np.arange(inputs, dtype="<i4")[:, None])
    settings: dict[str, Any] = {
        "moot": bytes.fromhex(keys_and_roster(n)[1].digest), "asker": 0, "nonce": bytes(16), "created": 1e9,
        "seconds": SECONDS, "protocol": "slush", "k": 3, "alpha": 2, "beta": 20, "rounds": 5, "pace": 0.0,
        "weighted": False, "trust": False, "labels": ("a", "b"), "inputs": inputs, "columns": 1,
        "dtype": "<i4", "chunk_rows": batch.chunk_rows, "chunks": batch.digests(),
    } | changes  # fmt: skip
    return Motion(**settings)


def colours(*votes: int) -> Colours:
    return np.array(votes, dtype=np.int8)


class Table:
    """A session of participant 1 among n, and what the others would say to it."""

    def __init__(
        self,
        n: int = 5,
        *,
        place: int = 1,
        seed: int = 0,
        memory: Memory | None = None,
        incarnation: int = 1,
        alpha: int = 2,
        kind: Any = Session,
        **changes: Any,
    ) -> None:
        self.keys, self.roster = keys_and_roster(n)
        self.n, self.place = n, place
        self.motion = motion_of(n, **changes)
        self.health = Health(n)
        fingerprints = [bytes.fromhex(member.fingerprint) for member in self.roster]
        self.seat = Seat(
            place, self.keys[place], [member.public_key for member in self.roster], fingerprints, incarnation
        )
        self.session: Session = kind(
            self.motion.encoded(), self.motion, self.seat, self.health, random.Random(seed),
            now=0.0, end=SECONDS, alpha=alpha, memory=memory,
        )  # fmt: skip
        self.name = self.session.name

    @property
    def others(self) -> list[int]:
        return [place for place in range(self.n) if place != self.place]

    def phase(self) -> Phase:
        return self.session.phase

    def out(self) -> list[tuple[int, m.Message]]:
        """What it sends, as it would be taken to the transport."""
        sent, self.session.minutes.out = self.session.minutes.out, []
        return sent

    def sent(self, kind: type[m.Message]) -> dict[int, m.Message]:
        """What it sends of one kind, by peer."""
        return {peer: message for peer, message in self.out() if isinstance(message, kind)}

    def saves(self) -> list[Save]:
        saved, self.session.minutes.saves = self.session.minutes.saves, []
        return saved

    # ---- what peers say ----------------------------------------------------------------------

    def commit(self, place: int, first: Colours, *, salt: bytes = bytes(32), want: bool = False) -> m.Commit:
        packed = pack(first, self.motion.classes)
        told = statements.commitment_to(self.name, self.seat.fingerprints[place], salt, packed)
        signature = self.keys[place].sign(statements.committed(self.name, place, told))
        return m.Commit(self.name, place, told, signature, want)

    def reveal(self, place: int, first: Colours, *, salt: bytes = bytes(32), want: bool = False) -> m.Reveal:
        bare = m.Reveal(self.name, salt, pack(first, self.motion.classes), bytes(64), want)
        return replace(bare, signature=self.keys[place].sign(statements.revealed(bare, place)))

    def marks(
        self, place: int, commits: Mapping[int, m.Commit], *, salt: bytes = bytes(16), want: bool = False
    ) -> m.Marks:
        held = [statements.mark(salt, commits[p]) if p in commits else bytes(8) for p in range(self.n)]
        bare = m.Marks(self.name, salt, b"".join(held), bytes(64), want)
        return replace(bare, signature=self.keys[place].sign(statements.marked(bare, place)))

    def answer(self, place: int, votes: Colours, *, round_: int = 0, version: int = 1) -> m.Answer:
        packed = pack(votes, self.motion.classes)
        said = statements.state(self.name, place, version, hashlib.sha256(packed).digest())
        return m.Answer(self.name, round_, version, packed, self.keys[place].sign(said))

    def close(
        self, place: int, decisions: Colours, first: Colours, *, salt: bytes = bytes(32), reason: str = ""
    ) -> m.Close:
        classes = self.motion.classes
        fields = (self.name, place, pack(decisions, classes), salt, pack(first, classes), reason)
        signature = self.keys[place].sign(statements.closing(m.Close(*fields, bytes(64))))
        return m.Close(*fields, signature)

    # ---- how far it is -----------------------------------------------------------------------

    def vote(self, votes: Colours, now: float = 0.0) -> None:
        """The model votes, chunk by chunk."""
        for index in range(len(self.motion.chunks)):
            start = index * self.motion.chunk_rows
            self.session.predicted(now, index, votes[start : start + self.motion.chunk_rows])

    def gather(self, votes: Sequence[Colours] | Colours, now: float = 0.0) -> None:
        """Everybody else commits; to the same votes, or each to its own, by place."""
        for place in self.others:
            own = votes if isinstance(votes, np.ndarray) and votes.ndim == 1 else votes[place]
            self.session.receive(now, place, self.commit(place, np.asarray(own, dtype=np.int8)))
