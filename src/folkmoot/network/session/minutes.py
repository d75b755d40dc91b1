"""What a session has said and heard, and what it wants done: the one place in which all phases write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from folkmoot.arrays import Array, Ints
from folkmoot.network.session.judgement import Judgement, LocalThreshold
from folkmoot.network.session.patience import Health
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.network.wire.review import OwnerMap, first_of_asker
from folkmoot.network.wire.statements import Evidence
from folkmoot.node.membership.roster import quorum


@dataclass(frozen=True)
class Seat:
    """Who a node is among the participants of its moot."""

    place: int
    key: Ed25519PrivateKey
    keys: Sequence[Ed25519PublicKey]  # of all, by place
    fingerprints: Sequence[bytes]
    incarnation: int = 1  # higher at every start of this node

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.keys)


@dataclass(frozen=True)
class Voted:
    """To be stored: this node's first votes and the commitment to them."""

    commit: m.Commit
    salt: bytes
    first: bytes
    reason: str


@dataclass(frozen=True)
class Ended:
    """To be stored: the motion is over for this node."""

    rounds: int
    queries: int
    series: bytes = b""  # its rounds, packed


MAP: Final = -1  # where the map of owners stands among what was opened, beside the labels by place
Opened: TypeAlias = m.Owners | m.Labels
Signed: TypeAlias = m.Commit | m.Close | Opened  # by whoever is its ``node``
Save: TypeAlias = Voted | Signed | Evidence | Ended


@dataclass(frozen=True, eq=False)
class CheckRows:
    """Check rows whose labels were opened: where they stand, what is claimed of them, and by whom."""

    rows: Ints
    truth: Array  # colours; or numbers, (row, 1)
    publisher: Ints
    vanished: tuple[int, ...]  # whose rows are in the batch, and whose labels were not opened


@dataclass
class Memory:
    """What a restarted session finds of its former self."""

    voted: Voted | None = None
    commits: dict[int, m.Commit] = field(default_factory=dict)
    closes: dict[int, m.Close] = field(default_factory=dict)
    cheats: set[int] = field(default_factory=set)
    opened: dict[int, Opened] = field(default_factory=dict)


class Minutes:
    """The statements of one motion as one node knows them, and its orders to whoever drives it."""

    def __init__(self, header: bytes, motion: Motion, seat: Seat, health: Health, memory: Memory) -> None:
        self.name = motion_name(header)
        self.motion, self.seat, self.health = motion, seat, health
        self.phase = Phase.VOTING
        self.voted: Voted | None = None
        self.commits, self.closes = dict(memory.commits), dict(memory.closes)
        self.cheats = set(memory.cheats)
        self.late: set[int] = set()  # who committed when it may have heard others
        self.refusals: dict[int, str] = {}  # who said that it takes no part, and why
        self.judgement: Judgement | None = None
        self.local: LocalThreshold | None = None  # a threshold that is not yet settled
        # Orders, to be carried out in this order.
        self.saves: list[Save] = []
        self.out: list[tuple[int, m.Message]] = []
        self.work: list[tuple[int, bytes | None]] = []  # chunks to vote on; the asker's own are not sent
        self.study: Array | None = None  # first votes of all, to be listened to
        self.checked: CheckRows | None = None  # what was opened of their rows, to learn from
        self.owners: OwnerMap | None = None  # whose rows are where, once that is opened

    @property
    def own(self) -> Voted:
        """The first votes of this node; there are none before it has voted."""
        assert self.voted is not None  # noqa: S101
        return self.voted

    def of_asker(self, first: Array) -> Array:
        """First votes on the asker's rows; none while nobody knows which these are."""
        return first_of_asker(first, self.owners, self.motion.review)

    @property
    def chooses(self) -> Judgement | None:
        """What this node has learnt, if it asks and decides by it; about numbers it only opens with it."""
        return self.judgement if self.motion.trust else None

    @property
    def anchored(self) -> bool:
        """Whether this node has learnt whom to trust."""
        return self.judgement is not None and self.judgement.anchored

    def tell(self, peer: int, message: m.Message) -> None:
        """Send a message to a peer."""
        self.out.append((peer, message))

    def tell_all(self, message: m.Message) -> None:
        """Send a message to all others."""
        self.out.extend((peer, message) for peer in self.others())

    def accuse(self, node: int, evidence: Evidence) -> None:
        """Keep what proves that a participant contradicts itself; once is enough.

        All accusations pass here. One statement signed in two ways is two signatures and no contradiction: it
        must not take the place of evidence.
        """
        if node in self.cheats or node == self.seat.place:
            return
        if statements.proves(evidence, self.seat.keys[node], self.seat.fingerprints[node]):
            self.cheats.add(node)
            self.saves.append(evidence)

    def on_refuse(self, peer: int, message: m.Refuse) -> bool:
        """A peer says that it takes no part: nobody waits for its votes; whether that is new and signed."""
        if self.refusals.get(peer) == message.reason:
            return False
        said = statements.refusal(self.name, peer, message.reason)
        if message.node != peer or not statements.holds(self.seat.keys[peer], message.signature, said):
            return False
        self.refusals[peer] = message.reason
        return True

    def too_few_are_left(self) -> bool:
        """Whether so many take no part that no quorum can sign the same: there is nothing to wait for."""
        gone = self.refusals.keys() - self.commits.keys()
        return self.motion.by_quorum and self.seat.n - len(gone) < quorum(self.seat.n)

    def opens(self, place: int, salt: bytes, first: bytes) -> bool:
        """Whether these are the first votes to which a participant has committed."""
        fingerprint = self.seat.fingerprints[place]
        found = statements.commitment_to(self.name, fingerprint, salt, first)
        return found == self.commits[place].commitment

    def compare_with_commitment(self, place: int) -> None:
        """Keep evidence, if a participant has closed with other first votes than it committed to."""
        if place in self.commits and place in self.closes:
            commit, close = self.commits[place], self.closes[place]
            if not self.opens(place, close.salt, close.first):
                fingerprint = self.seat.fingerprints[place]
                self.accuse(place, statements.BrokenCommitment(commit, close, fingerprint))

    def others(self) -> list[int]:
        """Everybody else."""
        return [place for place in range(self.seat.n) if place != self.seat.place]

    def live_peers(self, now: float) -> list[int]:
        """Who has committed, answers, and has not been caught; in order, so that a seed draws the same
        peers.
        """
        own, commits, cheats, health = self.seat.place, self.commits, self.cheats, self.health
        return [
            place
            for place in range(self.seat.n)
            if place in commits
            and place != own
            and place not in cheats
            and (place not in health.failing or health.live(place, now))
        ]
