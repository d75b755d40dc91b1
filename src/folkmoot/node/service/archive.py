"""The folder of a node, asked for what it holds, whether the node runs or not.

The database is read in the thread of the caller; what takes long for a large motion is done in another one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from folkmoot.files.terminal import printable
from folkmoot.node.account import Account, account_of, votes_in
from folkmoot.node.evidence import evidence_file, what_of
from folkmoot.node.membership.identity import Identity, load
from folkmoot.node.membership.roster import HEADER, Member, Roster
from folkmoot.node.page import motion_page
from folkmoot.node.rosters.history import Proposal, Renewals, RosterHistory
from folkmoot.node.rosters.roster_file import read_roster_text, roster_text
from folkmoot.node.rosters.successor import Successor
from folkmoot.node.service.interface import (
    Accusation,
    Invited,
    MemberFacts,
    NotFoundError,
    ProposalStatus,
    Record,
    RefusedError,
    RosterChange,
    RosterNews,
    Truths,
)
from folkmoot.node.service.node_file import read_node_file
from folkmoot.node.service.records import checked_truths, read_records, truths_in
from folkmoot.node.storage.audit import TamperedError, export_log
from folkmoot.node.storage.database import DamagedError
from folkmoot.node.storage.storage import Round, Storage, StoredMotion, open_storage
from folkmoot.node.why import why as reasons

MOST_KEPT: Final = 256  # accounts, so that they are not made again
MOST_INPUTS: Final = 200_000  # in all of them together, unless there is just one
LEAST_DIGITS: Final = 4  # of the name of a proposal or a roster
MOST_INVITED: Final = 64  # invitations that are told of, the newest


class NodeArchive:
    """The contents of a node's folder. A running node and a command make it in the same way."""

    def __init__(self, storage: Storage, history: RosterHistory, me: Identity) -> None:
        """``history`` is of the same ``storage``; ``me`` signs audit logs and rosters."""
        self.storage, self.history = storage, history
        self.node = me.name
        self._me = me
        self._accounts: dict[bytes, tuple[bytes, Account]] = {}  # with the mark of what was read

    # Motions

    def find(self, prefix: str) -> bytes:
        """The motion whose name begins so, or the ``last``; NotFoundError if there is not just one."""
        try:
            return self.storage.find(prefix)
        except ValueError as error:
            raise NotFoundError(str(error)) from None

    def names(self, last: int | None = None) -> list[bytes]:
        """The motions that are stored, the newest last."""
        return self.storage.names(last=last)

    def count(self) -> int:
        """How many there are."""
        return self.storage.count()

    async def account(self, motion: bytes) -> Account:
        """The result of a motion, cached until more is stored of it; ``DamagedError`` if that was changed."""
        stored, journal = self._stored(motion)
        mark = self.storage.mark(motion)
        known, account = self._accounts.pop(motion, (b"", None))
        if account is None or known != mark:
            account = await asyncio.to_thread(lambda: account_of(votes_in(stored, journal), self.node))
        kept = self._accounts
        kept[motion] = mark, account
        while len(kept) > 1 and (
            len(kept) > MOST_KEPT or sum(each.inputs for _, each in kept.values()) > MOST_INPUTS
        ):
            del kept[next(iter(kept))]
        return account

    async def certificate(self, motion: bytes) -> bytes:
        """The certificate of a motion; RefusedError if it has none, or none yet."""
        stored, _ = self._stored(motion)
        if stored.certificate is None:
            what = "is still open" if stored.state == "open" else "was given up undecided"
            raise RefusedError(f"motion {motion.hex()[:12]} {what} at this node: it has no certificate")
        return stored.certificate

    async def rounds(self, motion: bytes) -> tuple[list[Round], int]:
        """The rounds of the talk that are kept; and how many there were."""
        part = self._stored(motion)[0].part
        return part.rounds, part.rounds_played

    async def why(self, motion: bytes, about: int) -> tuple[str, dict[str, Any]]:
        """Why an input of a motion got its answer: as text, and as data."""
        stored, journal = self._stored(motion)
        found = await asyncio.to_thread(lambda: reasons(votes_in(stored, journal), about))
        return str(found), msgspec.to_builtins(found)

    async def play(self, motion: bytes) -> str:
        """A page that plays what this node saw of a motion."""
        stored, journal = self._stored(motion)
        return await asyncio.to_thread(lambda: motion_page(votes_in(stored, journal)))

    def invited(self) -> list[Invited]:
        """Invitations of this node that came to nothing, the newest first."""
        renewals = Renewals(self.storage)
        me = renewals.newest(self._me.fingerprint)
        found = []
        for stored in self.storage.invitations():
            asker = renewals.newest(stored.members[stored.header.asker])
            why = stored.part.why
            if asker == me and why:
                found.append(Invited(stored.name.hex(), stored.header.created, stored.header.inputs, why))
        return found[:MOST_INVITED]

    def accusations(self, last: int) -> list[Accusation]:
        """All evidence: of so many motions with any, the newest last; then about rosters."""
        found = []
        for name in self.storage.names("with evidence", last):
            with suppress(DamagedError):
                stored = self.storage.motion(name)
                found += [
                    Accusation(name.hex(), stored.names[place], what_of(each))
                    for place, each in sorted(stored.evidence.items())
                ]
        return found + self._about_rosters()

    def _about_rosters(self) -> list[Accusation]:
        return [
            Accusation("", old[each.one.member].name, what_of(each), old.digest, old.epoch)
            for old, each in self.history.evidence()
        ]

    def evidence(self, about: str, participant: str) -> bytes:
        """The file of evidence against a participant in a motion, or about a roster, by name or digest."""
        named = printable(participant)[:80]
        rosters = [] if about == "last" else self._rosters_called(about)
        for old, evidence in self.history.evidence():
            member = old[evidence.one.member]
            if old in rosters and member.name == participant:
                return evidence_file(evidence, member.fingerprint, old.digest)
        if rosters:
            raise NotFoundError(
                f"there is no evidence against {named!r} about the successor of epoch {rosters[0].epoch}"
            )
        stored = self.storage.motion(self.find(about))
        places = {name: place for place, name in enumerate(stored.names)}
        found = stored.evidence.get(places.get(participant, -1))
        if found is None:
            accused = ", ".join(stored.names[place] for place in sorted(stored.evidence)) or "nobody"
            raise NotFoundError(
                f"there is no evidence against {named!r} in motion {stored.name.hex()[:12]}: "
                f"there is against {accused}"
            )
        return evidence_file(found, stored.members[found.one.member])

    async def audit(self) -> bytes:
        """The audit log, signed; RefusedError if it was tampered with."""
        try:
            entries, base = self.storage.check_audit(), self.storage.audit.base()
        except TamperedError as error:
            raise RefusedError(f"the audit log of this node is not as it was written: {error}") from None
        name, fingerprint, key = self._me.name, self._me.fingerprint, self._me.key
        text = await asyncio.to_thread(lambda: export_log(entries, base, name, fingerprint, key))
        return text.encode()

    # Truths

    def records(self) -> dict[str, Record]:
        """How often each participant was right."""
        renewals = Renewals(self.storage)
        names = {
            renewals.newest(each.fingerprint): each.name for roster in self.history.rosters for each in roster
        }
        found = read_records(self.storage).items()
        return {names[who]: record for who, record in found if who in names}

    async def tell(self, motion: bytes, truths: Mapping[int, str] | bytes, source: str) -> Truths:
        """Store what was right: labels by input, or a table as text; ``source`` is its name in messages."""
        stored, journal = self._stored(motion)
        header = stored.header

        def read() -> tuple[dict[int, str], Account]:
            if isinstance(truths, bytes):
                labels = truths_in(truths, source, header)
            else:
                labels = checked_truths(truths, header)
            return labels, account_of(votes_in(stored, journal))

        labels, account = await asyncio.to_thread(read)
        self.storage.tell(motion, labels, time.time())
        warning = ""
        if labels == {i: label for i, label in enumerate(account.decisions) if label is not None}:
            warning = (
                f"{source} holds exactly what the moot decided: agreement is not truth; if nobody has "
                "checked these labels, correct them and tell them again"
            )
        names, known = set(stored.names), self.records()
        records = {name: record for name, record in known.items() if name in names}
        return Truths(motion.hex(), len(labels), records, warning)

    # Rosters

    def roster(self) -> RosterNews:
        """The roster in force, and proposals."""
        tip = self.history.tip
        facts = [
            MemberFacts(each.name, each.organisation, each.fingerprint, list(each.addresses)) for each in tip
        ]
        return RosterNews(
            tip.epoch, tip.digest, tip.previous or None, len(tip), tip.members.quorum,
            tip.faults, facts, [each.epoch for each in self.history.rosters], self.proposals(),
            self._about_rosters(),
        )  # fmt: skip

    def proposals(self) -> list[ProposalStatus]:
        """Proposals to follow the roster in force."""
        return [self._status(each) for each in self.history.proposals]

    def roster_file(self, epoch: int | None = None) -> bytes:
        """The roster of an epoch with the signatures that made it so; None: the one in force."""
        rosters = self.history.rosters
        wanted = rosters[-1].epoch if epoch is None else epoch
        place = next((i for i, each in enumerate(rosters) if each.epoch == wanted), None)
        if place is None:
            raise NotFoundError(
                f"epoch must be one that this node has gone through, {rosters[0].epoch} to "
                f"{rosters[-1].epoch}: got {wanted}"
            )
        if place == 0:
            return f"{HEADER}{rosters[0].toml()}".encode()
        proposal = self.history.after(rosters[place - 1])
        if proposal is None:
            raise DamagedError(f"the roster of epoch {wanted} is not in the database as it was signed")
        return roster_text(proposal)

    def propose(self, change: RosterChange) -> tuple[ProposalStatus, bytes]:
        """Propose and sign a successor of the roster in force; its file, too."""
        old = self.history.tip
        members = {member.name: member for member in old}
        for name in change.remove:
            if members.pop(name, None) is None:
                known = ", ".join(member.name for member in old)
                raise ValueError(f"remove must name members, of {known}: got {printable(name)!r:.80}")
        for member in map(Member.parse, change.add):
            if member.name in members:
                raise ValueError(
                    f"add: {member.name!r} takes part already; for another key of the same member give "
                    "rotate, or replace if the old one was lost or stolen"
                )
            members[member.name] = member
        for what, lines in (("rotate", change.rotate), ("replace", change.replace)):
            for member in map(Member.parse, lines):
                before = members.get(member.name)
                if before is None or before.fingerprint == member.fingerprint:
                    known = "takes no part" if before is None else "has this key already"
                    raise ValueError(f"{what} must be another key of a member: {member.name!r} {known}")
                members[member.name] = member
        if not (change.add or change.remove or change.rotate or change.replace):
            raise ValueError("give what changes: add, remove, rotate or replace")
        stolen = [Member.parse(line).name for line in change.replace]
        return self._consent(Successor.after(old, members.values(), stolen))

    def sign(self, proposal: str | bytes) -> tuple[ProposalStatus, bytes]:
        """Sign a proposal: the first digits of one that is known here, or a file of one. Its file, too."""
        if isinstance(proposal, bytes):
            tip = self.history.tip
            given = Roster.parse(proposal, "the file")
            before = self.history.roster(bytes.fromhex(given.previous))
            if given.moot == tip.moot and before is not None:  # in force already: nothing is left to sign
                agreed = read_roster_text(proposal, before).successor
                followed = self.history.proposal(before, agreed.name)
                return self._status(followed), roster_text(followed)
            found = read_roster_text(proposal, tip)
            previous = found.old.moot
            signed = sorted(found.consents.items())
            made = self._consent(found.successor)
            if self.history.hear(previous, found.successor.content, signed) != "new":
                return made
            again = self.history.proposal(found.old, found.successor.name)
            return self._status(again), roster_text(again)
        name = proposal.lower()
        found_here = [each for each in self.history.proposals if each.successor.name.hex().startswith(name)]
        if len(found_here) != 1 or len(name) < LEAST_DIGITS:
            known = ", ".join(each.successor.name.hex()[:12] for each in self.history.proposals) or "none"
            raise NotFoundError(
                f"a proposal must be named by {LEAST_DIGITS} or more of its digits: got "
                f"{printable(proposal)!r:.80}; there is {known} at this node"
            )
        return self._consent(found_here[0].successor)

    def _consent(self, successor: Successor) -> tuple[ProposalStatus, bytes]:
        found = self.history.consent(successor, self._me.key, self._me.fingerprint, time.time())
        return self._status(found), roster_text(found)

    def _status(self, proposal: Proposal) -> ProposalStatus:
        old, found, standing = proposal.old, proposal.successor, proposal.standing
        changes = found.changes(old)
        return ProposalStatus(
            found.name.hex(), found.roster.epoch, found.roster.digest, list(changes.joined),
            list(changes.left), list(changes.rotated), list(changes.replaced), list(changes.edited),
            [old[place].name for place in standing.signed], standing.counted, standing.needed,
            list(standing.owed), self.history.tip.digest == found.roster.digest,
        )  # fmt: skip

    # Inside

    def _stored(self, motion: bytes) -> tuple[StoredMotion, list[bytes]]:
        """What is stored of a motion, read: the rest may be done in another thread."""
        if not self.storage.knows(motion):
            raise NotFoundError(f"there is no motion {motion.hex()[:12]} at this node")
        stored = self.storage.motion(motion)
        return stored, [] if stored.certificate is not None else self.storage.journal(motion)

    def _rosters_called(self, prefix: str) -> list[Roster]:
        if len(prefix) < LEAST_DIGITS:
            return []
        return [each for each in self.history.rosters if each.digest.startswith(prefix.lower())][:1]


@contextmanager
def open_archive(folder: Path, roster: Path | None = None) -> Iterator[NodeArchive]:
    """The archive of the node in a folder; ``roster`` is given at the prompt, None is that of node.toml."""
    me = load(folder)
    root = read_node_file(folder).read_roster(roster)
    storage, _ = open_storage(folder, me.fingerprint, time.time())
    try:
        yield NodeArchive(storage, RosterHistory(storage, root), me)
    finally:
        storage.close()
