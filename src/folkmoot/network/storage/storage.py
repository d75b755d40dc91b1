"""What a node must not forget, in SQLite under its folder: motions, votes, closes, evidence, track records.

Everything a node signs is written, and synced to the disk, before it is sent. Rows are only ever added; the
one thing that changes is that an open motion may get more time, and becomes a closed one. Old motions are
forgotten as a whole when room is needed (``retention``).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from folkmoot.network.session.minutes import MAP, Ended, Memory, Opened, Save, Voted
from folkmoot.network.session.series import Rounds, read_series
from folkmoot.network.storage.audit import AuditLog, Entry, TamperedError, check_chain, written
from folkmoot.network.storage.database import CHILDREN, Database
from folkmoot.network.storage.opened import read_opened, read_owners
from folkmoot.network.storage.retention import Watermarks
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, read_header
from folkmoot.network.wire.review import OwnerMap
from folkmoot.network.wire.statements import Evidence

DATABASE: Final = "moot.db"  # in the node's folder
PRUNED_AT_ONCE: Final = 5  # motions in one transaction: 30 ms of a processor with the longest headers


@dataclass(frozen=True)
class StoredMotion:
    """One motion as a node remembers it."""

    name: bytes
    header: bytes
    signature: bytes
    members: list[str]  # fingerprints, by place
    names: list[str]
    opened: float
    ends: float
    closed: float | None
    summary: dict[str, Any]

    @property
    def motion(self) -> Motion:
        """The header, read."""
        return read_header(self.header)


@dataclass(frozen=True)
class Held:
    """What a node has stored of a motion besides the motion itself."""

    voted: Voted | None
    commits: dict[int, m.Commit]
    closes: dict[int, m.Close]
    evidence: list[tuple[int, Evidence]]
    truths: dict[int, str]
    series: bytes = b""  # this node's own rounds, packed
    opened: dict[int, Opened] = field(default_factory=dict)  # labels by place, the map of owners at -1
    owners: OwnerMap | None = None

    @property
    def rounds(self) -> Rounds:
        """The rounds that this node asked, as far as they were kept."""
        return read_series(self.series)

    @property
    def committed(self) -> set[int]:
        """Who had committed to its first votes before this node began to talk; itself included."""
        return {*self.commits} | ({self.voted.commit.node} if self.voted is not None else set())


class Storage:
    """What one node remembers; reading gives what was written, or DamagedError. ":memory:" is a path, too."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self.has_room = True  # may a new motion be stored? (``tend`` finds out)
        self._db = Database(path)
        self.audit = AuditLog(self._db)
        row = self._db.one("SELECT value FROM meta WHERE key = 'forgotten'")
        self._forgotten = float(row[0]) if row else float("-inf")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @property
    def database(self) -> Database:
        """The file itself; ``storage/chronicle.py`` keeps rosters in it."""
        return self._db

    def start(self, clock: float) -> int:
        """The number of this start: above every other, also after an old copy of the file was put back."""
        with self._db.writing():
            row = self._db.one("SELECT value FROM meta WHERE key = 'incarnation'")
            number = max(int(clock), 1 + (row[0] if row else 0))
            self._db.change("INSERT OR REPLACE INTO meta VALUES ('incarnation', ?)", number)
        return number

    # ---- motions -----------------------------------------------------------------------------

    def open_motion(
        self,
        name: bytes,
        header: bytes,
        signature: bytes,
        members: Sequence[tuple[str, str]],
        opened: float,
        ends: float,
    ) -> None:
        """A motion has been put; ``members`` are the fingerprints and names of its moot."""
        with self._db.writing():
            people = json.dumps(list(members))
            self._db.change(
                "INSERT INTO motions VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)",
                name, header, signature, people, opened, ends,
            )  # fmt: skip
            self._db.seal(name)
            self._note_asked(name, header, members, opened)

    def prolong(self, name: bytes, ends: float) -> None:
        """An open motion ends later than was said at first."""
        with self._db.writing():
            query = "UPDATE motions SET ends = ? WHERE name = ? AND closed IS NULL"
            self._db.change_motion(name, query, ends, name)

    def save(self, motion: bytes, saves: Sequence[Save], summary: Mapping[str, Any] | None = None) -> None:
        """What a session wants kept, all or nothing."""
        with self._db.writing():
            if not self.knows(motion):
                return  # forgotten meanwhile: what comes late has no place any more
            for record in saves:
                self._save(motion, record, summary)

    def _save(self, motion: bytes, record: Save, summary: Mapping[str, Any] | None) -> None:
        self._note(motion, record, summary)
        if isinstance(record, Voted):
            self._db.add("voted", motion, m.encode(record.commit), record.salt, record.first, record.reason)
        elif isinstance(record, m.Commit | m.Close):
            table = "commits" if isinstance(record, m.Commit) else "closes"
            self._db.add(table, motion, record.node, m.encode(record), verb="INSERT OR IGNORE")
        elif isinstance(record, m.Owners | m.Labels):
            place = record.node if isinstance(record, m.Labels) else MAP
            self._db.add("opened", motion, place, m.encode(record), verb="INSERT OR IGNORE")
        elif isinstance(record, Ended):
            query = "UPDATE motions SET closed = ?, summary = ? WHERE name = ? AND closed IS NULL"
            self._db.change_motion(motion, query, time.time(), json.dumps(dict(summary or {})), motion)
            if record.series:
                self._db.add("series", motion, record.series, verb="INSERT OR IGNORE")
        else:
            self._db.add(
                "evidence", motion, statements.accused(record), statements.kind(record),
                statements.write_evidence(record), time.time(), verb="INSERT OR IGNORE",
            )  # fmt: skip

    # ---- the audit log -----------------------------------------------------------------------

    def refused(self, motion: bytes, asker: str, why: str, clock: float) -> None:
        """Note that this node takes no part in a motion, and why."""
        with self._db.writing():
            self.audit.add("refused", clock, motion=motion.hex(), asker=asker, why=why)

    def showed(self, invitation: bytes, asker: str, rows: int, digest: bytes, clock: float) -> None:
        """Note that check rows were given to an asker; ``invitation`` is what it had sent."""
        with self._db.writing():
            self.audit.add(
                "showed", clock, invitation=invitation.hex(), asker=asker, rows=rows, digest=digest.hex()
            )

    def check_audit(self) -> list[Entry]:
        """The audit log, if it is a chain that tells of every motion here; TamperedError if it is not."""
        with self._db.reading():
            entries = list(self.audit.entries())
            check_chain(entries, self.audit.base())
            told: dict[str, set[str]] = {}
            for entry in entries:
                details = entry.details
                told.setdefault(details.get("motion", ""), set()).add(details.get("event", ""))
            since = float("-inf")
            if self.audit.base()[0] > 1 and entries:  # what was let go told of older ones
                since = entries[0].details.get("at", float("inf"))
            stored = self._db.all("SELECT name, opened, closed FROM motions")
        for name, opened, closed in stored:
            missing = {"asked", *(["over"] if closed is not None else [])} - told.get(name.hex(), set())
            if missing and opened > since:
                raise TamperedError(
                    f"motion {name.hex()[:12]} is stored, and the log does not tell that it was "
                    f"{min(missing)}: entries were cut off or taken out"
                )
        return entries

    def _note_asked(
        self, name: bytes, header: bytes, members: Sequence[tuple[str, str]], opened: float
    ) -> None:
        motion = read_header(header)
        fingerprint, asker = members[motion.asker]
        self.audit.add(
            "asked", opened, motion=name.hex(), asker=asker, fingerprint=fingerprint,
            created=round(motion.created, 3), inputs=motion.inputs, answers=motion.answers,
            columns=hashlib.sha256(repr([(c.name, c.unit) for c in motion.schema]).encode()).hexdigest(),
        )  # fmt: skip

    def _note(self, motion: bytes, record: Save, summary: Mapping[str, Any] | None) -> None:
        """What this node itself has answered, found out and learnt; what others signed is in the motion."""
        name, now = motion.hex(), time.time()
        if isinstance(record, Voted):
            digest = hashlib.sha256(record.first).hexdigest()
            commitment = record.commit.commitment.hex()
            self.audit.add(
                "answered", now, motion=name, commitment=commitment, first=digest, abstained=record.reason
            )
        elif isinstance(record, Ended):
            known = self._db.one("SELECT members, closed FROM motions WHERE name = ?", motion)
            if known is not None and known[1] is None:
                closes = self._db.all("SELECT frame FROM closes WHERE motion = ? ORDER BY node", motion)
                held = hashlib.sha256(b"".join(hashlib.sha256(frame).digest() for (frame,) in closes))
                told = dict(summary or {})
                learnt = {key: told[key] for key in ("trust", "anchored") if key in told}
                self.audit.add(
                    "over", now, motion=name, closes=len(closes), held=held.hexdigest(), rounds=record.rounds,
                    **({"learnt": learnt} if learnt else {}),
                )  # fmt: skip
        elif isinstance(record, Evidence):
            data = hashlib.sha256(statements.write_evidence(record)).hexdigest()
            kind, against = statements.kind(record), statements.accused(record)
            self.audit.add("evidence", now, motion=name, against=against, what=kind, evidence=data)

    # ---- which motions there are -------------------------------------------------------------

    def count(self) -> int:
        """How many motions are stored."""
        return int(self._db.one("SELECT count(*) FROM motions")[0])

    def names(
        self,
        which: Literal["all", "open", "told", "with evidence"] = "all",
        last: int | None = None,
        prefix: str = "",
    ) -> list[bytes]:
        """The names of motions, the oldest first: all, the ``last`` ones, or those that begin so, in hex."""
        where = {
            "all": "",
            "open": "AND closed IS NULL",
            "told": "AND name IN (SELECT DISTINCT motion FROM truths)",
            "with evidence": "AND name IN (SELECT DISTINCT motion FROM evidence)",
        }[which]
        bounds: list[bytes] = []
        if prefix:
            bounds = [bytes.fromhex(prefix.ljust(64, digit)) for digit in "0f"]
            where += " AND name BETWEEN ? AND ?"
        query = f"SELECT name FROM motions WHERE 1 {where} ORDER BY opened DESC, name DESC LIMIT ?"  # noqa: S608
        found = self._db.all(query, *bounds, -1 if last is None else last)
        return [name for (name,) in reversed(found)]

    def motions(self) -> list[StoredMotion]:
        """All motions, the oldest first."""
        return [self.motion(name) for name in self.names()]

    def knows(self, motion: bytes) -> bool:
        """Whether this motion was ever put to this node."""
        return self._db.one("SELECT 1 FROM motions WHERE name = ?", motion) is not None

    # ---- one of them -------------------------------------------------------------------------

    def motion(self, name: bytes) -> StoredMotion:
        """One motion."""
        row, _ = self._db.verified(name)
        _, header, signature, members, opened, ends, closed, summary = row
        fingerprints, names = zip(*json.loads(members), strict=True)
        details = json.loads(summary or "{}")
        return StoredMotion(
            name, header, signature, list(fingerprints), list(names), opened, ends, closed, details
        )

    def mark(self, name: bytes) -> bytes:
        """A few bytes that are others as soon as anything that is stored of a motion is; none if unknown."""
        row = self._db.one("SELECT seal FROM seals WHERE motion = ?", name)
        return b"" if row is None else bytes(row[0])

    def held(self, motion: bytes) -> Held:
        """What is stored of a motion; nothing if it is not known."""
        if not self.knows(motion):
            return Held(None, {}, {}, [], {})
        row, rows = self._db.verified(motion)
        opened = {node: read_opened(frame) for _, node, frame in rows["opened"]}
        voted = [
            Voted(m.decode_as(frame, m.Commit), salt, first, why)
            for _, frame, salt, first, why in rows["voted"]
        ]
        return Held(
            voted[0] if voted else None,
            {node: m.decode_as(frame, m.Commit) for _, node, frame in rows["commits"]},
            {node: m.decode_as(frame, m.Close) for _, node, frame in rows["closes"]},
            [(node, statements.read_evidence(data)) for _, node, _, data, _ in rows["evidence"]],
            {place: label for _, place, label in rows["truths"]},
            b"".join(data for _, data in rows["series"]),
            opened,
            read_owners(opened.get(MAP), row[1], len(json.loads(row[3]))),
        )

    def memory(self, motion: bytes) -> Memory:
        """What the session of a motion had said and heard."""
        held = self.held(motion)
        cheats = {node for node, _ in held.evidence}
        return Memory(held.voted, held.commits, held.closes, cheats, held.opened)

    def closes(self, motion: bytes) -> dict[int, m.Close]:
        """The signed closes of a motion, by place."""
        return self.held(motion).closes

    def committed(self, motion: bytes) -> set[int]:
        """Who had committed to its first votes before this node began to talk; itself included."""
        return self.held(motion).committed

    def evidence(self, motion: bytes) -> list[tuple[int, Evidence]]:
        """Who contradicted itself in a motion, and what shows it."""
        return self.held(motion).evidence

    def kept(self, clock: float) -> Iterator[bytes]:
        """The headers of the motions that must not be forgotten yet, one at a time: they may be long."""
        for (name,) in self._db.all("SELECT motion FROM seals WHERE until > ?", clock):
            found = self._db.one("SELECT header FROM motions WHERE name = ?", name)
            if found is not None:
                yield found[0]

    def since(self, clock: float) -> Iterator[tuple[float, bytes]]:
        """When motions were opened since then, and their headers, the oldest first."""
        for name, opened in self._db.all(
            "SELECT name, opened FROM motions WHERE opened > ? ORDER BY opened", clock
        ):
            found = self._db.one("SELECT header FROM motions WHERE name = ?", name)
            if found is not None:
                yield opened, found[0]

    # ---- forgetting --------------------------------------------------------------------------

    def has_forgotten(self, motion: Motion) -> bool:
        """Whether this node may have stored and forgotten a motion: then it must not be played again.

        By what was forgotten and not by the clock, which may be set back.
        """
        return motion.until <= self._forgotten

    def used(self) -> int:
        """Bytes that what is stored takes; room that is free again inside the file does not count."""
        pages, free, size = (
            int(self._db.one(f"PRAGMA {what}")[0]) for what in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size

    def tend(self, clock: float, marks: Watermarks) -> int:
        """Forget some old motions if there are too many, and find out whether there is room for new ones.

        Returns how many were forgotten; as long as that is not 0, there may be more to do.
        """
        care = marks.care(self.used(), self._free())
        gone = 0 if care.prune_to is None else self.prune(clock, care.prune_to)
        self.has_room = marks.care(self.used(), self._free()).room
        return gone

    def prune(self, clock: float, target: int, most: int = PRUNED_AT_ONCE) -> int:
        """Forget the oldest motions, ``most`` at a time, until ``target`` bytes are used; returns how many.

        Only motions that are over, and that nobody would play again (``Motion.until``). Those with evidence
        or truths are the last to go.
        """
        precious = "(motion IN (SELECT motion FROM evidence) OR motion IN (SELECT motion FROM truths))"
        query = (
            "SELECT motion, until FROM seals WHERE until <= ? AND motion NOT IN "  # noqa: S608 (ours)
            f"(SELECT name FROM motions WHERE closed IS NULL) AND {precious} = ? ORDER BY until LIMIT ?"
        )
        old = self._db.all(query, clock, 0, most)
        old += self._db.all(query, clock, 1, most - len(old))
        gone, forgotten = 0, self._forgotten
        with self._db.writing():
            for name, until in old:
                if self.used() <= target:
                    break
                self._forget_in_audit(name, clock)
                for table in (*CHILDREN, "seals"):
                    self._db.change(f"DELETE FROM {table} WHERE motion = ?", name)  # noqa: S608 (ours)
                self._db.change("DELETE FROM motions WHERE name = ?", name)
                gone, forgotten = gone + 1, max(forgotten, until)
            self.audit.shorten()
            if gone:  # in the same transaction: there is no moment at which it could be played again
                self._db.change("INSERT OR REPLACE INTO meta VALUES ('forgotten', ?)", forgotten)
        self._forgotten = forgotten
        return gone

    def _forget_in_audit(self, name: bytes, clock: float) -> None:
        """What is forgotten leaves a digest of all of it, and those of its entries."""
        row, rows = self._db.rows(name)
        everything = msgspec.msgpack.encode([list(row), rows])
        self.audit.forget(name.hex())
        digest = hashlib.sha256(everything).hexdigest()
        self.audit.add("forgotten", clock, motion=name.hex(), digest=digest)

    def _free(self) -> int:
        return 1 << 62 if self.path == ":memory:" else shutil.disk_usage(self.path).free

    # ---- truths ------------------------------------------------------------------------------

    def tell(self, motion: bytes, labels: Mapping[int, str]) -> None:
        """The right labels of some inputs of a motion; told again they replace the old ones."""
        with self._db.writing():
            for row in self._db.all("SELECT * FROM truths WHERE motion = ?", motion):
                if row[1] in labels:
                    self._db.toggle(motion, "truths", row)
            told = written({str(place): label for place, label in labels.items()})
            self.audit.add(
                "learnt", time.time(), motion=motion.hex(), truths=len(labels),
                digest=hashlib.sha256(told.encode()).hexdigest(),
            )  # fmt: skip
            for place, label in labels.items():
                self._db.add("truths", motion, place, label, verb="INSERT OR REPLACE")

    def truths(self, motion: bytes) -> dict[int, str]:
        """What is known to be right."""
        return self.held(motion).truths
