"""The rosters of a node, from the one in its file to the one in force, and what is proposed to come next.

A node signs at most one successor of a roster: ``sign`` stores that it does, and the signature, in one
transaction that is on the disk before it returns. Which roster is in force follows from the signatures that
are stored, so a command may add some while the node runs: the node calls ``refresh`` now and then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire.statements import Consent, TwoSuccessors
from folkmoot.network.wire.succession import Standing, Succession, agrees
from folkmoot.node.membership.roster import Roster, quorum

MOST_SIGNED = 2  # successors of one roster that are kept of a member: two prove that it contradicts itself

Heard: TypeAlias = Literal["new", "known", "old", "unknown", "forged"]


@dataclass(frozen=True)
class Proposal:
    """A successor of a roster, with the signatures that a node holds."""

    old: Roster
    succession: Succession
    signatures: Mapping[int, bytes]  # by place in the old roster; each holds

    @property
    def standing(self) -> Standing:
        """Who has signed, and what is missing."""
        return self.succession.tally(self.old, sorted(self.signatures))


class Chronicle:
    """What one node knows of the rosters of its moot; ``root`` is the one in its file."""

    def __init__(self, storage: Storage, root: Roster, clock: float) -> None:
        self.storage, self._db = storage, storage.database
        self.rosters = [root]  # the newest last
        self.since = [clock]  # when each came into force here; of the root it is not known
        self.proposals: list[Proposal] = []  # for what comes after the newest
        self._seen = -1
        self._adopted: dict[bytes, bytes] = {}  # what has replaced each roster, by name
        self._successions: dict[bytes, Succession | None] = {}  # read already, by name: it takes long
        self._verified: set[tuple[bytes, int, bytes]] = set()  # signatures that hold
        self.refresh(clock)

    @property
    def tip(self) -> Roster:
        """The roster in force."""
        return self.rosters[-1]

    def roster(self, digest: bytes) -> Roster | None:
        """The roster with that digest, if this node has gone through it."""
        return next((each for each in self.rosters if each.digest == digest.hex()), None)

    def refresh(self, clock: float) -> bool:
        """Look at what is stored, by others too; whether another roster is in force now."""
        before = len(self.rosters)
        self._read()
        while (ready := next((each for each in self.proposals if self._holds(each)), None)) is not None:
            self._adopt(ready, clock)
            self._read()
        return len(self.rosters) > before

    def changed(self) -> bool:
        """Whether another process has written to the file since this was last asked."""
        seen, self._seen = self._seen, int(self._db.one("PRAGMA data_version")[0])
        return seen != self._seen

    def after(self, roster: Roster) -> Proposal | None:
        """What has replaced a roster, with its signatures: for those who have missed it."""
        place = next((i for i, each in enumerate(self.rosters[:-1]) if each.digest == roster.digest), None)
        if place is None:
            return None
        held = (each for each in self.stored(roster) if each.succession.roster == self.rosters[place + 1])
        return next((each for each in held if each.standing.complete), None)

    def learn(self, proposal: Proposal, clock: float) -> bool:
        """Keep a successor of the newest roster and signatures that hold; whether anything of it was new."""
        succession, previous = proposal.succession, bytes.fromhex(self.tip.digest)
        if proposal.old.digest != self.tip.digest:
            return False
        stored = self._signatures(previous, succession.name)
        new = {place: signature for place, signature in proposal.signatures.items() if place not in stored}
        fresh = {
            place: new[place] for place in new if self._verify(succession, proposal.old, place, new[place])
        }
        if not succession.tally(proposal.old, sorted({*stored, *fresh})).complete:
            # Of liars who sign everything so much is kept as proves it.
            fresh = {p: fresh[p] for p in fresh if self._signed(previous, p) < MOST_SIGNED}
        if not fresh:
            return False
        with self._db.writing():
            self._store(previous, succession, fresh)
        self.refresh(clock)
        return True

    def hear(self, previous: bytes, content: bytes, signatures: Mapping[int, bytes], clock: float) -> Heard:
        """What somebody says that members have signed: kept, if it is new and holds.

        A content is read only if a member has signed it that has not signed two others already, so that each
        can have two of them read at the most.
        """
        old, name = self.tip, hashlib.sha256(content).digest()
        if previous.hex() != old.digest:
            if self.roster(previous) is None:
                return "unknown"
            return "known" if self._adopted.get(previous) == name else "old"
        stored = self._signatures(previous, name)
        new = [place for place in signatures if place < len(old) and place not in stored]
        if len({*new, *stored}) < quorum(len(old)):
            new = [place for place in new if self._signed(previous, place) < MOST_SIGNED]
        if not new:
            return "known"
        consents = {place: Consent(previous, place, name, signatures[place]) for place in new}
        holding = {place: signatures[place] for place in new if agrees(old, consents[place])}
        if not holding:
            return "forged"
        if name not in self._successions:
            self._successions[name] = _read(content, old)
        succession = self._successions[name]
        if succession is None:
            return "forged"
        return "new" if self.learn(Proposal(old, succession, holding), clock) else "known"

    def sign(
        self, succession: Succession, key: Ed25519PrivateKey, fingerprint: str, clock: float
    ) -> Proposal:
        """Sign a successor of the newest roster, stored first; ValueError if it has signed another."""
        old = self.tip
        succession.check(old)
        place = old.position(fingerprint)
        if place is None:
            raise ValueError(
                f"only members of the roster in force (epoch {old.epoch}) may sign what replaces it: "
                "this node is none"
            )
        previous = bytes.fromhex(old.digest)
        with self._db.writing():
            own = self._db.one("SELECT name FROM own_consents WHERE previous = ?", previous)
            if own is not None and own[0] != succession.name:
                raise ValueError(
                    f"this node has signed another successor of epoch {old.epoch}, {own[0].hex()[:12]}: "
                    "a node signs one at most, since two prove that it contradicts itself"
                )
            if own is None:
                self._db.change("INSERT INTO own_consents VALUES (?, ?)", previous, succession.name)
                epoch, digest = succession.roster.epoch, succession.roster.digest
                self.storage.audit.add("signed a roster", clock, epoch=epoch, moot=digest)
            self._store(previous, succession, {place: succession.signed_by(key, place)})
            signatures = self._signatures(previous, succession.name)
        self.refresh(clock)
        return Proposal(old, succession, signatures)

    def own(self, old: Roster) -> bytes | None:
        """The name of the successor of a roster that this node has signed."""
        row = self._db.one("SELECT name FROM own_consents WHERE previous = ?", bytes.fromhex(old.digest))
        return None if row is None else bytes(row[0])

    def open_moots(self) -> set[bytes]:
        """The digests of the rosters of motions that were under way when this node last stopped."""
        return {self.storage.motion(name).motion.moot for name in self.storage.names("open")}

    def evidence(self) -> Iterator[tuple[Roster, TwoSuccessors]]:
        """Who has signed two successors of one roster."""
        for old in self.rosters:
            consents: dict[int, list[tuple[Succession, bytes]]] = {}
            for proposal in self.stored(old):
                for place, signature in proposal.signatures.items():
                    consents.setdefault(place, []).append((proposal.succession, signature))
            for place, found in sorted(consents.items()):
                if len(found) >= MOST_SIGNED:
                    one, other = (each.consent(place, signature) for each, signature in found[:MOST_SIGNED])
                    yield old, TwoSuccessors(one, other)

    # ---- the file ----------------------------------------------------------------------------

    def _holds(self, proposal: Proposal) -> bool:
        """Whether it is in force: the first that held, if liars are so many that two do."""
        row = self._db.one("SELECT name FROM adopted WHERE previous = ?", bytes.fromhex(self.tip.digest))
        return proposal.standing.complete and row in (None, (proposal.succession.name,))

    def _adopt(self, proposal: Proposal, clock: float) -> None:
        previous, name = bytes.fromhex(self.tip.digest), proposal.succession.name
        query = "SELECT name, at FROM adopted WHERE previous = ?"
        if self._db.one(query, previous) is None:
            with self._db.writing():
                if self._db.change("INSERT OR IGNORE INTO adopted VALUES (?, ?, ?)", previous, name, clock):
                    epoch, digest = proposal.succession.roster.epoch, proposal.succession.roster.digest
                    signers = [self.tip[place].name for place in sorted(proposal.signatures)]
                    self.storage.audit.add(
                        "roster in force", clock, epoch=epoch, moot=digest, signed_by=signers
                    )
                before = {member.name: member.fingerprint for member in self.tip}
                for member in proposal.succession.roster:
                    old = before.get(member.name, member.fingerprint)
                    if old != member.fingerprint:
                        self._db.change(
                            "INSERT OR REPLACE INTO renewed VALUES (?, ?)", old, member.fingerprint
                        )
        first, at = self._db.one(query, previous)
        if first != name:  # a command was faster, and more lie than may
            return
        self._adopted[previous] = name
        self.rosters.append(proposal.succession.roster)
        self.since.append(at)

    def _read(self) -> None:
        self.proposals = list(self.stored(self.tip))

    def stored(self, old: Roster) -> Iterator[Proposal]:
        """Every successor of a roster that is stored, with the signatures that hold."""
        previous = bytes.fromhex(old.digest)
        query = "SELECT name, content FROM successors WHERE previous = ? ORDER BY name"
        for name, content in self._db.all(query, previous):
            if name not in self._successions:
                self._successions[name] = _read(content, old)
            succession = self._successions[name]
            if succession is not None:
                found = self._signatures(previous, name).items()
                holding = {p: s for p, s in found if self._verify(succession, old, p, s)}
                yield Proposal(old, succession, holding)

    def _verify(self, succession: Succession, old: Roster, place: int, signature: bytes) -> bool:
        what = (succession.name, place, signature)
        if what not in self._verified and agrees(old, succession.consent(place, signature)):
            self._verified.add(what)
        return what in self._verified

    def _signatures(self, previous: bytes, name: bytes) -> dict[int, bytes]:
        query = "SELECT node, signature FROM consents WHERE previous = ? AND name = ? ORDER BY node"
        return dict(self._db.all(query, previous, name))

    def _signed(self, previous: bytes, place: int) -> int:
        query = "SELECT count(*) FROM consents WHERE previous = ? AND node = ?"
        return int(self._db.one(query, previous, place)[0])

    def _store(self, previous: bytes, succession: Succession, signatures: Mapping[int, bytes]) -> None:
        name = succession.name
        self._db.change(
            "INSERT OR IGNORE INTO successors VALUES (?, ?, ?)", previous, name, succession.content
        )
        for place, signature in signatures.items():
            self._db.change(
                "INSERT OR IGNORE INTO consents VALUES (?, ?, ?, ?)", previous, place, name, signature
            )


def _read(content: bytes, old: Roster) -> Succession | None:
    """None if it is damaged: what is not as it was signed counts for nothing."""
    try:
        return Succession.read(content, old)
    except ValueError:
        return None


class Renewals:
    """Which certificates were one member's, one after the other, as far as this node has seen it."""

    def __init__(self, storage: Storage) -> None:
        self._groups: dict[str, list[str]] = {}  # the newest last; of one member all share a list
        for old, new in storage.database.all("SELECT old, new FROM renewed ORDER BY rowid"):
            group = self._groups.setdefault(old, [old])
            joined = [each for each in self._groups.get(new, [new]) if each not in group]
            group += joined
            if new in group[:-1]:  # back to an earlier one
                group.remove(new)
                group.append(new)
            self._groups |= dict.fromkeys(group, group)

    def newest(self, fingerprint: str) -> str:
        """The certificate that the member with this one had last."""
        return self._groups.get(fingerprint, [fingerprint])[-1]
