"""The rosters of a node, from the one in its file to the one in force, and what is proposed to come next.

Data of others are bounded before they are read. A roster that is proposed comes with consents; these are
verified one after the other, and the first that does not hold ends the work. Its content is read only if one
of the consents is of a member that has not consented to ``MOST_CONSENTS`` others. So each member can have so
many stored, whatever it claims that others have signed.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.successor import Standing, Successor, agrees, check_agreed, consents
from folkmoot.node.session.book import Evidence
from folkmoot.node.session.statement import Quorum, Signatures
from folkmoot.node.storage.storage import Storage

MOST_CONSENTS: Final = 8  # successors of one roster that a member can consent to

Heard: TypeAlias = Literal["new", "known", "old", "unknown", "forged", "too many"]

_EVIDENCE: Final = msgspec.msgpack.Decoder(Evidence)
_PRECOMMITS: Final = msgspec.msgpack.Decoder(Signatures)


@dataclass(frozen=True)
class Proposal:
    """A successor of a roster, with the consents that a node holds."""

    old: Roster
    successor: Successor
    consents: Mapping[int, bytes]  # by place in the old roster; each holds
    agreed: Quorum | None = None  # that decided that it is the next one

    @cached_property
    def standing(self) -> Standing:
        """Members that have consented, and what is missing."""
        return self.successor.tally(self.old, sorted(self.consents))


class RosterHistory:
    """One node's knowledge of the rosters of its moot; ``root`` is the one in its file.

    A command may make one beside a node that runs: the node finds what it stores (``look_again``).
    """

    def __init__(self, storage: Storage, root: Roster) -> None:
        self.storage, self._db = storage, storage.database
        self.rosters = [root]  # the newest last
        self.proposals: list[Proposal] = []  # for what comes after the newest, by name
        self._seen = -1
        self._read: dict[bytes, Successor] = {}  # by name: it takes long
        self._holding: set[tuple[bytes, int, bytes]] = set()  # consents that hold
        # By roster and place: how often a member has signed what is no successor, since the start.
        self._junk: defaultdict[bytes, Counter[int]] = defaultdict(Counter)
        self.refresh()

    @property
    def tip(self) -> Roster:
        """The roster in force."""
        return self.rosters[-1]

    def roster(self, digest: bytes) -> Roster | None:
        """The roster with that digest, if this node has gone through it."""
        return next((each for each in self.rosters if each.moot == digest), None)

    def changed(self) -> bool:
        """Whether another process has written to the file since this was last asked."""
        seen, self._seen = self._seen, int(self._db.one("PRAGMA data_version")[0])
        return seen != self._seen

    def refresh(self) -> None:
        """Look at what is stored, by another process too."""
        while (followed := self._followed(self.tip)) is not None:
            self.rosters.append(followed.roster)
        self.proposals = list(self._stored(self.tip))

    # What members consent to

    def hear(self, previous: bytes, content: bytes, signed: Sequence[tuple[int, bytes]]) -> Heard:
        """Take in others' consents: kept, if they are new and hold.

        Whoever passes it on has verified it, so one consent that does not hold makes it forged.
        """
        old, name = self.tip, hashlib.sha256(content).digest()
        if previous != old.moot:
            return "unknown" if self.roster(previous) is None else "old"
        stored = self._consents(old, name)
        new = [(place, signature) for place, signature in signed if place not in stored]
        if not new:
            return "known"
        if len({place for place, _ in new}) < len(new) or not all(agrees(old, p, name, s) for p, s in new):
            return "forged"
        if self._successor(old, name) is None:
            junk = self._junk[previous]
            if all(self._many(old, place) + junk[place] >= MOST_CONSENTS for place, _ in new):
                return "too many"
            try:
                self._read[name] = Successor.read(content, old)
            except ValueError:  # to find out cost time
                junk.update(place for place, _ in new)
                return "forged"
        with self._db.writing():
            self._store(self._read[name], dict(new))
        self._renew(name)
        return "new"

    def consent(
        self, successor: Successor, key: Ed25519PrivateKey, fingerprint: str, clock: float
    ) -> Proposal:
        """Consent to a successor of the newest roster; ValueError if this node may not."""
        old, previous = self.tip, self.tip.moot
        successor.check(old)
        place = old.position(fingerprint)
        if place is None:
            raise ValueError(
                f"only members of the roster in force (epoch {old.epoch}) may sign what replaces it: "
                "this node is none"
            )
        stored = self._consents(old, successor.name)
        if place not in stored:
            if self._many(old, place) >= MOST_CONSENTS:
                raise ValueError(
                    f"a node can sign at most {MOST_CONSENTS} successors of one roster, and this one has: "
                    "get one of them signed by enough others"
                )
            with self._db.writing():
                new = successor.roster
                self.storage.audit.add("signed a roster", clock, epoch=new.epoch, moot=new.digest)
                self._store(successor, {place: key.sign(consents(previous, place, successor.name))})
            self._read[successor.name] = successor
            self._renew(successor.name)
        return self.proposal(old, successor.name)

    def proposal(self, old: Roster, name: bytes) -> Proposal:
        """A successor that is stored; ValueError if none is called so."""
        found = self._one(old, name)
        if found is None:
            raise ValueError(f"there is no proposal {name.hex()[:12]} at this node")
        return found

    # What they agree on

    def follow(self, name: bytes, agreed: Quorum, clock: float) -> None:
        """A successor is in force; the others that were proposed go. It must be stored and complete."""
        old, previous = self.tip, self.tip.moot
        proposal = self.proposal(old, name)
        new = proposal.successor.roster
        with self._db.writing():
            self._db.change("INSERT OR IGNORE INTO adopted VALUES (?, ?, ?)", previous, name, clock)
            precommits = msgspec.msgpack.encode(agreed.precommits)
            self._db.change(
                "INSERT OR IGNORE INTO agreed VALUES (?, ?, ?)", previous, agreed.round, precommits
            )
            self.storage.audit.add(
                "roster in force", clock, epoch=new.epoch, moot=new.digest,
                signed_by=[old[place].name for place in sorted(proposal.consents)],
            )  # fmt: skip
            before = {member.name: member.fingerprint for member in old}
            for member in new:
                earlier = before.get(member.name, member.fingerprint)
                if earlier != member.fingerprint:
                    self._db.change(
                        "INSERT OR REPLACE INTO renewed VALUES (?, ?)", earlier, member.fingerprint
                    )
            for table in ("successors", "consents"):
                self._db.change(
                    f"DELETE FROM {table} WHERE previous = ? AND name != ?", previous, name  # noqa: S608
                )  # fmt: skip
            self._db.change("DELETE FROM changes WHERE previous = ?", previous)
        self.refresh()

    def hear_followed(
        self,
        previous: bytes,
        content: bytes,
        signed: Sequence[tuple[int, bytes]],
        agreed: Quorum,
        clock: float,
    ) -> Heard:
        """Take in an agreement of others: in force, if a quorum's precommits hold."""
        old, name = self.tip, hashlib.sha256(content).digest()
        if previous != old.moot:
            return "unknown" if self.roster(previous) is None else "old"
        try:
            check_agreed(agreed, old, name)
            successor = Successor.read(content, old)
        except ValueError:
            return "forged"
        places = [place for place, _ in signed]
        if len({*places}) < len(places) or not all(agrees(old, p, name, s) for p, s in signed):
            return "forged"
        stored = self._consents(old, name)
        if not successor.tally(old, sorted({*places, *stored})).complete:
            return "forged"
        self._read[name] = successor
        with self._db.writing():
            self._store(successor, {place: each for place, each in signed if place not in stored})
        self.follow(name, agreed, clock)
        return "new"

    def after(self, old: Roster) -> Proposal | None:
        """The roster that replaced another, with all proof of it: for those who have missed it."""
        followed = self._followed(old)
        return None if followed is None else self.proposal(old, followed.name)

    def append(self, old: Roster, records: Sequence[bytes]) -> None:
        """Keep what the agreement on the successor of a roster wants kept, on the disk on return."""
        if not records:
            return
        previous = old.moot
        with self._db.writing():
            (place,) = self._db.one(
                "SELECT coalesce(max(place), -1) + 1 FROM changes WHERE previous = ?", previous
            )
            for number, record in enumerate(records, place):
                self._db.change("INSERT INTO changes VALUES (?, ?, ?)", previous, number, record)

    def journal(self, old: Roster) -> list[bytes]:
        """The entries that ``append`` was given of a roster, in order."""
        query = "SELECT record FROM changes WHERE previous = ? ORDER BY place"
        return [record for (record,) in self._db.all(query, old.moot)]

    def accuse(self, old: Roster, evidence: Evidence, clock: float) -> bool:
        """Keep the first evidence against a member of a roster; whether it is."""
        data, place = msgspec.msgpack.encode(evidence), evidence.one.member
        with self._db.writing():
            new = self._db.change(
                "INSERT OR IGNORE INTO roster_evidence VALUES (?, ?, ?, ?)",
                old.moot, place, data, clock,
            )  # fmt: skip
            if new:
                self.storage.audit.add(
                    "evidence", clock, moot=old.digest, against=place,
                    evidence=hashlib.sha256(data).hexdigest(),
                )  # fmt: skip
        return bool(new)

    def evidence(self) -> Iterator[tuple[Roster, Evidence]]:
        """Against whom there is evidence that it contradicted itself about the successor of a roster."""
        for old in self.rosters:
            query = "SELECT data FROM roster_evidence WHERE previous = ? ORDER BY node"
            for (data,) in self._db.all(query, old.moot):
                yield old, _EVIDENCE.decode(data)

    # The file

    def _followed(self, old: Roster) -> Successor | None:
        row = self._db.one("SELECT name FROM adopted WHERE previous = ?", old.moot)
        return None if row is None else self._successor(old, row[0])

    def _renew(self, name: bytes) -> None:
        """One of the proposals has more consents, or is new: the others are as they were."""
        others = [each for each in self.proposals if each.successor.name != name]
        one = self._one(self.tip, name)
        self.proposals = sorted(
            [*others, *([] if one is None else [one])], key=lambda each: each.successor.name
        )

    def _stored(self, old: Roster) -> Iterator[Proposal]:
        """Every successor of a roster that is stored, with the consents that hold."""
        query = "SELECT name FROM successors WHERE previous = ? ORDER BY name"
        for (name,) in self._db.all(query, old.moot):
            found = self._one(old, name)
            if found is not None:
                yield found

    def _one(self, old: Roster, name: bytes) -> Proposal | None:
        successor = self._successor(old, name)
        if successor is None:
            return None
        query = "SELECT round, precommits FROM agreed NATURAL JOIN adopted WHERE previous = ? AND name = ?"
        row = self._db.one(query, old.moot, name)
        shown = None if row is None else Quorum(row[0], _PRECOMMITS.decode(row[1]))
        return Proposal(old, successor, self._consents(old, name), shown)

    def _successor(self, old: Roster, name: bytes) -> Successor | None:
        """What is stored under a name; None if it is not as it was signed: then it counts for nothing."""
        if name not in self._read:
            query = "SELECT content FROM successors WHERE previous = ? AND name = ?"
            row = self._db.one(query, old.moot, name)
            if row is None or hashlib.sha256(row[0]).digest() != name:
                return None
            self._read[name] = Successor.read(row[0], old)
        return self._read[name]

    def _holds(self, old: Roster, place: int, name: bytes, signature: bytes) -> bool:
        what = name, place, signature
        if what not in self._holding and agrees(old, place, name, signature):
            self._holding.add(what)
        return what in self._holding

    def _consents(self, old: Roster, name: bytes) -> dict[int, bytes]:
        """By place, those that are stored and hold."""
        query = "SELECT node, signature FROM consents WHERE previous = ? AND name = ? ORDER BY node"
        found = self._db.all(query, old.moot, name)
        return {place: signature for place, signature in found if self._holds(old, place, name, signature)}

    def _many(self, old: Roster, place: int) -> int:
        """How many successors of a roster a member has consented to."""
        query = "SELECT count(*) FROM consents WHERE previous = ? AND node = ?"
        return int(self._db.one(query, old.moot, place)[0])

    def _store(self, successor: Successor, signed: Mapping[int, bytes]) -> None:
        previous, name = bytes.fromhex(successor.roster.previous), successor.name
        self._db.change(
            "INSERT OR IGNORE INTO successors VALUES (?, ?, ?)", previous, name, successor.content
        )
        for place, signature in signed.items():
            self._db.change(
                "INSERT OR REPLACE INTO consents VALUES (?, ?, ?, ?)", previous, place, name, signature
            )


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
