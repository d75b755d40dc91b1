"""A member's statements: each slot once, stored before it is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from folkmoot.node.session.book import Book
from folkmoot.node.session.frames import Answer, Ask, Have, Part, Secret, encoded, split, told_of
from folkmoot.node.session.statement import NO_ROUND, Kind, Said, Sign, Slot, words


@dataclass
class Outbox:
    """Data to store, and after that frames to send: to a member, or with None to all others."""

    records: list[bytes] = field(default_factory=list)
    frames: list[tuple[int | None, bytes]] = field(default_factory=list)


class Signer:
    """Signs what its member says, unless it has said something there before."""

    def __init__(self, motion: bytes, me: int, sign: Sign, book: Book) -> None:
        self.motion, self.me, self.book = motion, me, book
        self.outbox = Outbox()
        self._sign = sign

    def has_said(self, kind: Kind, poll: int, stage: int, number: int) -> Said | None:
        """Its own statement in a slot."""
        said = self.book.of((kind, poll, stage, number), self.me)
        return said[0] if said else None

    def say(
        self,
        slot: Slot,
        value: bytes,
        *,
        just: int = NO_ROUND,
        store: Iterable[Part] = (),
        send: Iterable[Part] = (),
    ) -> bool:
        """Say it to all, with what they may need beside it; False if it has said something there before.

        ``store`` is what the member must still hold after a crash.
        """
        if self.book.of(slot, self.me):
            return False
        signature = self._sign(words(self.motion, self.me, slot, just, value))
        kind, poll, stage, number = slot
        said = Said(self.me, kind, poll, stage, number, just, value, signature)
        self.store((said, *store))
        self.book.add(said)
        self.send(None, (said, *send))
        return True

    def store(self, parts: Iterable[Part]) -> None:
        """Keep it in the journal, in one record."""
        self.outbox.records.append(encoded(told_of(self.motion, parts)))

    def store_secret(self, secret: Secret) -> None:
        """Keep votes and salt, before anybody is told the commitment to them."""
        self.outbox.records.append(encoded(secret))

    def send(self, to: int | None, parts: Iterable[Part]) -> None:
        """Send, after what is to be stored was stored."""
        self.outbox.frames.extend((to, encoded(told)) for told in split(self.motion, parts))

    def put(self, to: int | None, frame: Have | Ask | Answer) -> None:
        """Ask a member, or all, or answer it."""
        self.outbox.frames.append((to, encoded(frame)))

    def take(self) -> Outbox:
        """Data since the last time."""
        taken, self.outbox = self.outbox, Outbox()
        return taken
