"""The calls of an ``Archive``, handed on: what a running node answers from what it has stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from folkmoot.node.service.interface import (
    Accusation,
    Archive,
    Invited,
    ProposalStatus,
    Record,
    RosterChange,
    RosterNews,
    Round,
    Truths,
)


class OverArchive:
    """An ``Archive`` that another one answers for."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.forms, self.node = archive.forms, archive.node

    def find(self, prefix: str) -> bytes:
        """The motion whose name begins so, or the ``last``."""
        return self._archive.find(prefix)

    def names(self, last: int | None = None) -> list[bytes]:
        """The motions that are stored, the newest last."""
        return self._archive.names(last)

    def count(self) -> int:
        """How many there are."""
        return self._archive.count()

    def mark(self, motion: bytes) -> bytes:
        """Some bytes that are others as soon as anything that is stored of a motion is."""
        return self._archive.mark(motion)

    async def account(self, motion: bytes) -> Any:
        """What came of a motion."""
        return await self._archive.account(motion)

    async def certificate(self, motion: bytes) -> bytes:
        """The certificate of a motion."""
        return await self._archive.certificate(motion)

    async def rounds(self, motion: bytes) -> tuple[list[Round], int]:
        """The rounds of the talk that are kept; and how many there were."""
        return await self._archive.rounds(motion)

    async def why(self, motion: bytes, about: int) -> tuple[str, dict[str, Any]]:
        """Why an input of a motion got its answer."""
        return await self._archive.why(motion, about)

    async def play(self, motion: bytes) -> str:
        """A page that plays what this node saw of a motion."""
        return await self._archive.play(motion)

    def invited(self) -> list[Invited]:
        """Invitations of this node that came to nothing."""
        return self._archive.invited()

    def accusations(self, last: int) -> list[Accusation]:
        """All evidence."""
        return self._archive.accusations(last)

    def evidence(self, about: str, participant: str) -> bytes:
        """The file of evidence against a participant."""
        return self._archive.evidence(about, participant)

    async def audit(self) -> bytes:
        """The audit log, signed."""
        return await self._archive.audit()

    def records(self) -> dict[str, Record]:
        """How often each participant was right."""
        return self._archive.records()

    async def tell(self, motion: bytes, truths: Mapping[int, str] | bytes, source: str) -> Truths:
        """Store what was right."""
        return await self._archive.tell(motion, truths, source)

    def roster(self) -> RosterNews:
        """The roster in force, and proposals."""
        return self._archive.roster()

    def roster_file(self, epoch: int | None = None) -> bytes:
        """The roster of an epoch, with the signatures that made it so."""
        return self._archive.roster_file(epoch)

    def propose(self, change: RosterChange) -> tuple[ProposalStatus, bytes]:
        """Propose and sign a successor of the roster in force."""
        return self._archive.propose(change)

    def sign(self, proposal: str | bytes) -> tuple[ProposalStatus, bytes]:
        """Sign a proposal."""
        return self._archive.sign(proposal)
