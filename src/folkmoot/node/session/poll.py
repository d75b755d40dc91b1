"""A poll: members commit to votes, agree on the commitments, reveal, and agree on who revealed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from folkmoot.node.session.agreement import Agreement, Pace, Source, Stages
from folkmoot.node.session.book import Book
from folkmoot.node.session.frames import Body, Reveal, Secret
from folkmoot.node.session.sets import (
    COMMITMENTS,
    REVEALS,
    Commitments,
    Entry,
    Revealed,
    encoded,
    read_commitments,
    read_revealed,
)
from folkmoot.node.session.signer import Signer
from folkmoot.node.session.statement import NO_ROUND, Kind, Said, commitment

# Delta that a member waits longer in stage 1 before a set may leave anybody out. Where liars hold a member
# up, it hears the first reveal of an honest one after delta, asks delta / 2 later, and learns what was agreed
# after 2 delta more. Its own reveal takes one. So all hold it 4.5 delta after the first of them began, and
# have held it for 2 delta when they judge a set 4 + 3 delta after that.
HELD_UP: Final = 3


class CommitmentSource(Source):
    """The commitments that a member holds, as sets of stage 0."""

    def __init__(self, poll: int, book: Book, me: int) -> None:
        self.since = {}
        self.refused: set[int] = set()  # who takes no part, so that nobody waits for it
        self._poll, self._book, self._me = poll, book, me
        self._read: dict[bytes, Commitments | None] = {}

    def held(self) -> set[int]:
        """Members with commitments."""
        return {said.member for said in self._book.all_of(self._slot)}

    @property
    def _slot(self) -> tuple[int, int, int, int]:
        return Kind.COMMIT, self._poll, 0, 0

    def _entry(self, member: int) -> Entry:
        said = self._book.of(self._slot, member)[:2]
        return tuple(sorted((each.value, each.signature) for each in said))

    def makeable(self) -> bool:
        """n - f commitments, without those of who signed two."""
        members = self._book.members
        if self._book.speakers(self._slot) < members.least:
            return False
        return sum(len(self._entry(i)) == 1 for i in range(members.n)) >= members.least

    def complete(self) -> bool:
        """All have committed, or said that they take no part; a commitment cancels that."""
        silent = sum(map(self.is_gone, self.refused))
        return self._book.speakers(self._slot) + silent == self._book.members.n

    def make(self) -> bytes:
        """All that are held; of who signed two, both."""
        members = self._book.members
        return encoded(Commitments(self._me, tuple(self._entry(i) for i in range(members.n))))

    def read(self, body: bytes) -> Commitments | None:
        """The set, if it is well formed."""
        if body not in self._read:
            try:
                found = read_commitments(body)
                found.check(self._book.motion, self._poll, self._book.members)
                self._read[body] = found
            except ValueError:
                self._read[body] = None
        return self._read[body]

    def well_formed(self, body: bytes, proposer: int | None) -> bool:
        """A set of stage 0; a new one names who proposes it."""
        found = self.read(body)
        return found is not None and proposer in (None, found.proposer)

    def holds(self, body: bytes) -> bool:
        """It carries its commitments."""
        return self.read(body) is not None

    def lacks(self, body: bytes) -> list[int]:
        """Members without an entry, but for those who take no part."""
        found = self.read(body)
        absent = [] if found is None else found.absent
        return [i for i in absent if not self.is_gone(i)]

    def is_gone(self, member: int) -> bool:
        """Whether a member has refused and not committed."""
        return member in self.refused and not self._book.of(self._slot, member)

    def of(self, member: int) -> list[Said | Reveal]:
        """The commitments of a member."""
        return list(self._book.of(self._slot, member))

    def statements(self, body: bytes) -> list[Said]:
        """The commitments that a set carries."""
        found = self.read(body)
        entries = () if found is None else found.entries
        return [
            Said(member, Kind.COMMIT, self._poll, 0, 0, NO_ROUND, value, signature)
            for member, entry in enumerate(entries)
            for value, signature in entry
        ]


class RevealSource(Source):
    """The reveals of agreed commitments that a member holds, as sets of stage 1."""

    def __init__(self, agreed: Commitments, value: bytes, book: Book, reveals: dict[int, Reveal]) -> None:
        self.since = {}
        self._agreed, self._value, self._book, self._reveals = agreed, value, book, reveals
        self._expected = agreed.members

    def held(self) -> set[int]:
        """Members with reveals."""
        return {*self._reveals}

    def makeable(self) -> bool:
        """All but f of the agreed members revealed."""
        return len(self._reveals) >= len(self._expected) - self._book.members.faults

    def complete(self) -> bool:
        """All of them did."""
        return len(self._reveals) == len(self._expected)

    def make(self) -> bytes:
        """Those who did."""
        return encoded(Revealed.of(self._value, sorted(self._reveals), self._book.members.n))

    def read(self, body: bytes) -> Revealed | None:
        """The set, if it is well formed."""
        try:
            found = read_revealed(body)
            found.check(self._value, self._agreed, self._book.members)
        except ValueError:
            return None
        return found

    def well_formed(self, body: bytes, _proposer: int | None) -> bool:
        """A set of stage 1, whoever proposes it."""
        return self.read(body) is not None

    def holds(self, body: bytes) -> bool:
        """Nobody prevotes a set before holding every reveal in it."""
        found = self.read(body)
        return found is not None and all(member in self._reveals for member in found.members)

    def lacks(self, body: bytes) -> list[int]:
        """Agreed members that are not in it."""
        found = self.read(body)
        return [] if found is None else sorted(set(self._expected) - set(found.members))

    def of(self, member: int) -> list[Said | Reveal]:
        """The reveal of a member."""
        return [self._reveals[member]] if member in self._reveals else []


class Poll(Stages):
    """One member's part in a poll. ``table`` is what it brings: the votes of all who revealed, by member."""

    def __init__(
        self, number: int, before: bytes, *, pace: Pace, opened: float, book: Book, signer: Signer,
        is_ballot: Callable[[int, bytes], bool],
    ) -> None:  # fmt: skip
        super().__init__(number)
        self.before, self.pace, self.opened = before, pace, opened
        self.book, self.signer = book, signer
        self.secret: Secret | None = None
        self.commitments = CommitmentSource(number, book, signer.me)
        self.agreed: Commitments | None = None
        self.table: dict[int, bytes] | None = None
        self.is_ballot = is_ballot
        self._early: dict[bytes, Reveal] = {}  # by commitment
        self.agreements = [
            Agreement(
                number, COMMITMENTS, order=order_of(book.motion, number, book.members.n), pace=pace,
                opened=opened, source=self.commitments, book=book, signer=signer,
            )
        ]  # fmt: skip
        self._source: RevealSource | None = None

    @property
    def opens_later(self) -> bool:
        """Whether the commitments are not agreed yet."""
        return self.agreed is None

    @property
    def has_committed(self) -> bool:
        """Whether this member has."""
        return self.signer.has_said(Kind.COMMIT, self.number, 0, 0) is not None

    def commit(self, votes: bytes, salt: bytes) -> None:
        """Commit to votes: store them, then say so to all."""
        if self.has_committed:
            return
        motion, me = self.book.motion, self.signer.me
        self.secret = Secret(motion, self.number, salt, votes)
        self.signer.store_secret(self.secret)
        value = commitment(motion, self.number, self.before, me, salt, votes)
        self.signer.say((Kind.COMMIT, self.number, 0, 0), value)

    def commitment_of(self, reveal: Reveal) -> bytes:
        """The commitment that votes open."""
        motion = self.book.motion
        return commitment(motion, self.number, self.before, reveal.member, reveal.salt, reveal.votes)

    def add_body(self, body: Body) -> bool:
        """Keep a set, and the commitments that it carries; whether any of it is new."""
        new = super().add_body(body)
        if new and body.stage == COMMITMENTS:
            for said in self.commitments.statements(body.body):
                self.book.add(said)
        return new

    def add_reveal(self, reveal: Reveal) -> bool:
        """Keep votes that open a commitment that is held; False if they open none, or are no ballot."""
        said = self.book.of((Kind.COMMIT, self.number, 0, 0), reveal.member)
        if reveal.member in self.reveals or not said:
            return False
        value = self.commitment_of(reveal)
        if value not in {each.value for each in said} or value in self._early:
            return False
        if not self.is_ballot(reveal.member, reveal.votes):  # parsed only now that a commitment binds it
            return False
        self._early[value] = reveal
        self._sort_reveals()
        return True

    def _sort_reveals(self) -> None:
        """Those that open agreed commitments."""
        if self.agreed is None:
            return
        for value, reveal in self._early.items():
            entry = self.agreed.entries[reveal.member]
            if len(entry) == 1 and entry[0][0] == value:
                self.reveals[reveal.member] = reveal

    def step(self, now: float) -> bool:
        """Do all that can be done now; whether anything was."""
        self._note(now)
        moved = self.stage.step(now)
        if self.agreed is None and self.stage.decided is not None:
            self._open(now)
            self._note(now)
            self.stage.step(now)
            moved = True
        if self.agreed is not None and self.table is None and self.stage.decided is not None:
            assert self._source is not None  # noqa: S101 (for mypy: stage 1 has one)
            found = self._source.read(self.stage.bodies[self.stage.decided])
            members = [] if found is None else found.members
            self.table = {i: self.reveals[i].votes for i in members}
            self.signer.store([self.reveals[i] for i in members])
            return True
        return moved

    def _open(self, now: float) -> None:
        """on decide(0) = C: send Reveal(salt, votes), unsigned, since C binds it"""
        value = self.stage.decided
        agreed = self.commitments.read(self.stage.bodies[value]) if value is not None else None
        if agreed is None or value is None:
            return
        self.agreed = agreed
        self._sort_reveals()
        me = self.signer.me
        if self.secret is not None:
            own = Reveal(self.number, me, self.secret.salt, self.secret.votes)
            entry = agreed.entries[me]
            if len(entry) == 1 and entry[0][0] == self.commitment_of(own):
                self.reveals[me] = own
                self.signer.send(None, [own])
        self._source = RevealSource(agreed, value, self.book, self.reveals)
        order = order_of(self.book.motion, self.number, self.book.members.n)
        order = [agreed.proposer, *(i for i in order if i != agreed.proposer)]
        self.agreements.append(
            Agreement(
                self.number, REVEALS, order=order, opened=now,
                pace=Pace(self.pace.delta, late=HELD_UP * self.pace.delta),
                source=self._source, book=self.book, signer=self.signer,
            )
        )  # fmt: skip

    def _note(self, now: float) -> None:
        """Remember what is new, and pass on once what came late."""
        source = self._source or self.commitments
        new = source.held() - source.since.keys()
        source.since |= dict.fromkeys(sorted(new), now)
        stage, me = self.stage, {self.signer.me}
        if stage.is_late(now):
            for member in sorted(new - me):
                for to in sorted({stage.proposer(stage.round), stage.proposer(stage.round + 1)} - me):
                    self.signer.send(to, source.of(member))

    def due(self, now: float) -> float | None:
        """When to step again although nothing arrives."""
        return super().due(now) if self.table is None else None


def order_of(motion: bytes, poll: int, n: int) -> list[int]:
    """In which order members propose: by a hash, so that nobody chooses it."""
    return sorted(
        range(n), key=lambda i: hashlib.sha256(motion + bytes([poll]) + i.to_bytes(4, "big")).digest()
    )
