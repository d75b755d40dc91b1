"""A node's motions on disk: their journals, answers, certificates, evidence, truths.

Each write is one transaction that is on the disk when the method returns, so a frame may be sent after it.
Rows are only added; of a motion's own row the deadline and the outcome may change. Old motions are forgotten
as a whole when room is needed (``retention``).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

import msgspec

from folkmoot.node.session.book import Evidence
from folkmoot.node.session.frames import Secret, read_stored
from folkmoot.node.session.header import Header, read_header
from folkmoot.node.storage.audit import AuditLog, Entry, TamperedError, check_chain, written
from folkmoot.node.storage.database import CHILDREN, KEPT_OLD, DamagedError, Database, version_of
from folkmoot.node.storage.retention import Watermarks, until

DATABASE: Final = "moot.db"  # in the node's folder
PRUNED_AT_ONCE: Final = 5  # motions in one transaction
MOST_ASKED: Final = 64 << 20  # bytes of inputs, of all motions together; those beyond are in memory only
_HEAD: Final = -1  # asked: the place before those of the chunks
_OWNER: Final = "owner"  # meta: the fingerprint of the node whose file it is
_BORN: Final = "born"  # meta: motions that were put before this are not known here, and not played

Which = Literal["all", "open", "told", "with evidence"]
_WHERE: Final[dict[str, str]] = {
    "all": "",
    "open": "AND decided IS NULL AND stopped IS NULL",
    "told": "AND name IN (SELECT DISTINCT motion FROM truths)",
    "with evidence": "AND name IN (SELECT DISTINCT motion FROM evidence)",
}
_EVIDENCE: Final = msgspec.msgpack.Decoder(Evidence)


class Round(msgspec.Struct, frozen=True):
    """One round of a talk, as this node had it."""

    round: int
    seconds: float  # since its part in the motion began
    asked: list[str]
    heard: list[str]
    changed: int  # inputs on which it changed its vote
    shares: dict[str, float]  # of the answers, by label; empty where they were not kept


class Part(msgspec.Struct, frozen=True):
    """All that a node says of its own part in a motion.

    A running node writes what it knows; what is left out is as here.
    """

    seconds: float | None = None  # from when it heard of the motion until it knew the answer
    bytes_sent: int = 0
    bytes_received: int = 0
    refused: dict[str, str] = {}  # who said that it takes no part, or has no votes, and why
    abstained: str = ""  # why it did not vote on all inputs itself
    weights: dict[str, float] = {}  # what first votes counted in its own final votes, by member
    fell_back: str = ""  # why its final votes are the plurality of first votes, although it may choose
    rounds: list[Round] = []  # of its talk
    rounds_played: int = 0  # of its talk, in all
    shown: list[int] = []  # which of its own rows it showed in answer to an invitation
    shown_of: str = ""  # the digest of all its rows
    shown_for: str = ""  # the motion for which it named their labels
    order: str = ""  # an asker's order of inputs and validation rows, in hex, until it is revealed
    why: str = ""  # why it gave the motion up


@dataclass(frozen=True)
class StoredMotion:
    """A motion as a node remembers it, but for its journal."""

    name: bytes
    data: bytes  # its header
    signature: bytes  # of the asker
    members: list[str]  # fingerprints, by place
    names: list[str]
    faults: int
    opened: float
    ends: float  # when its asker stops waiting, by this node's clock
    decided: float | None
    stopped: float | None
    part: Part  # of this node
    answer: bytes | None
    certificate: bytes | None
    evidence: dict[int, Evidence]
    truths: dict[int, str]

    @cached_property
    def header(self) -> Header:
        """The header: inputs and terms."""
        return read_header(self.data, len(self.members))

    @property
    def state(self) -> Literal["open", "decided", "stopped"]:
        """Whether it goes on here."""
        if self.decided is not None:
            return "decided"
        return "open" if self.stopped is None else "stopped"


class Storage:
    """The storage of one node; reading gives what was written, or DamagedError. ":memory:" is a path, too."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self.has_room = True  # may a new motion be stored? (``tend`` finds out)
        self.database = self._db = Database(path)
        self.audit = AuditLog(self._db)
        self.asked = Asked(self._db)
        self.damaged: list[bytes] = []  # names of motions, as ``check`` found them
        self._forgotten = self._time("forgotten")
        self._born = self._time(_BORN)
        if self._db.upgraded:
            with self._db.writing():
                self.audit.add("upgraded", 0.0, motions=self._db.upgraded, kept=KEPT_OLD)

    def _time(self, key: str) -> float:
        found = self._db.kept(key)
        return float("-inf") if found is None else float(found)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def start(self, clock: float) -> int:
        """The number of this start: above every other, also after an old copy of the file was put back."""
        with self._db.writing():
            number = max(int(clock), 1 + (self._db.kept("incarnation") or 0))
            self._db.keep("incarnation", number)
        return number

    def check(self) -> list[bytes]:
        """The names of damaged motions; DamagedError if the file itself is damaged."""
        self.damaged = self._db.check()
        return self.damaged

    # A motion goes on

    def open_motion(
        self,
        name: bytes,
        header: bytes,
        signature: bytes,
        members: Sequence[tuple[str, str]],
        faults: int,
        opened: float,
        ends: float,
    ) -> None:
        """A motion has been put; ``members`` are the fingerprints and names of its moot, by place."""
        read = read_header(header, len(members))
        fingerprint, asker = members[read.asker]
        with self._db.writing():
            self._db.change(
                "INSERT INTO motions VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, '{}', ?)",
                name, header, signature, json.dumps(list(members)), faults, opened, ends, read.invites,
            )  # fmt: skip
            self._db.seal(name, until(read))
            self.audit.add(
                "asked", opened, motion=name.hex(), asker=asker, fingerprint=fingerprint,
                created=round(read.created, 3), inputs=read.inputs, answers=read.terms.answers,
            )  # fmt: skip

    def append(self, motion: bytes, records: Sequence[bytes], clock: float) -> None:
        """Keep what a session wants kept (``Outbox.records``): all or nothing, on the disk on return."""
        if not records:
            return
        with self._db.writing():
            if not self.knows(motion):
                return  # forgotten meanwhile: what comes late has no place any more
            (place,) = self._db.one(
                "SELECT coalesce(max(place), -1) + 1 FROM journal WHERE motion = ?", motion
            )
            for record in records:
                self._db.add("journal", motion, place, record)
                place += 1
                said = read_stored(record)
                if isinstance(said, Secret):
                    digest = hashlib.sha256(said.salt + said.votes).hexdigest()
                    self.audit.add("answered", clock, motion=motion.hex(), poll=said.poll, votes=digest)

    def journal(self, motion: bytes) -> list[bytes]:
        """The entries that ``append`` was given of a motion, in order."""
        _, rows = self._db.verified(motion)
        return [record for _, _, record in rows["journal"]]

    def accuse(self, motion: bytes, evidence: Evidence, clock: float) -> bool:
        """Keep the first evidence against a member; whether it is."""
        data = msgspec.msgpack.encode(evidence)
        with self._db.writing():
            new = self.knows(motion) and self._db.add(
                "evidence", motion, evidence.one.member, data, clock, verb="INSERT OR IGNORE"
            )
            if new:
                self.audit.add(
                    "evidence", clock, motion=motion.hex(), against=evidence.one.member,
                    evidence=hashlib.sha256(data).hexdigest(),
                )  # fmt: skip
        return new

    def conclude(
        self, motion: bytes, answer: bytes, certificate: bytes, clock: float, **summary: object
    ) -> None:
        """The answer is final; a motion is concluded once."""
        with self._db.writing():
            if self.knows(motion) and self._db.add(
                "results", motion, answer, certificate, verb="INSERT OR IGNORE"
            ):
                self._end("decided", motion, clock, summary)
                told = {
                    "answer": hashlib.sha256(answer).hexdigest(),
                    "certificate": hashlib.sha256(certificate).hexdigest(),
                }
                self.audit.add("over", clock, motion=motion.hex(), decided=True, **told)

    def stop(self, motion: bytes, why: str, clock: float, **summary: object) -> None:
        """Give a motion up, undecided; nothing happens if it is over."""
        with self._db.writing():
            if self._end("stopped", motion, clock, {**summary, "why": why}):
                self.audit.add("over", clock, motion=motion.hex(), decided=False, why=why)

    def _end(self, how: str, motion: bytes, clock: float, summary: Mapping[str, object]) -> bool:
        row = self._db.one("SELECT decided, stopped FROM motions WHERE name = ?", motion)
        if row != (None, None):
            return False
        query = f"UPDATE motions SET {how} = ? WHERE name = ?"  # noqa: S608 (ours)
        self._db.change_motion(motion, query, clock, motion)
        self._amend(motion, summary)
        return True

    def amend(self, motion: bytes, **summary: object) -> None:
        """Keep more of what this node has to say about its part in a motion: what it cost, who refused."""
        with self._db.writing():
            self._amend(motion, summary)

    def _amend(self, motion: bytes, summary: Mapping[str, object]) -> None:
        row = self._db.one("SELECT summary FROM motions WHERE name = ?", motion)
        if row is not None and summary:
            text = json.dumps(json.loads(row[0]) | summary)
            self._db.change_motion(motion, "UPDATE motions SET summary = ? WHERE name = ?", text, motion)

    def shown(self, rows: str) -> int:
        """How far a node has come in showing labelled rows with this digest."""
        return self._db.kept(f"shown {rows}") or 0

    def show(self, motion: bytes, rows: str, taken: int, which: Sequence[int], clock: float) -> None:
        """Note that these of its labelled rows answer an invitation: before anybody is told."""
        with self._db.writing():
            self._db.keep(f"shown {rows}", taken)
            self._amend(motion, {"shown": list(which), "shown_of": rows})
            self.audit.add("showed", clock, motion=motion.hex(), rows=len(which), digest=rows)

    def refused(self, motion: bytes, asker: str, why: str, clock: float) -> None:
        """Note that this node takes no part in a motion, and why."""
        with self._db.writing():
            self.audit.add("refused", clock, motion=motion.hex(), asker=asker, why=why)

    def tell(self, motion: bytes, labels: Mapping[int, str], clock: float) -> None:
        """The right labels of some inputs of a motion; told again they replace the old ones."""
        with self._db.writing():
            for row in self._db.all("SELECT * FROM truths WHERE motion = ?", motion):
                if row[1] in labels:
                    self._db.toggle(motion, "truths", row)
            told = written({str(place): label for place, label in labels.items()})
            self.audit.add(
                "learnt", clock, motion=motion.hex(), truths=len(labels),
                digest=hashlib.sha256(told.encode()).hexdigest(),
            )  # fmt: skip
            for place, label in labels.items():
                self._db.add("truths", motion, place, label, verb="INSERT OR REPLACE")

    # Which motions there are

    def count(self) -> int:
        """How many motions are stored."""
        return int(self._db.one("SELECT count(*) FROM motions")[0])

    def names(self, which: Which = "all", last: int | None = None, prefix: str = "") -> list[bytes]:
        """The names of motions, the oldest first: all, the ``last`` ones, or those that begin so, in hex."""
        where, bounds = _WHERE[which], []
        if prefix:
            bounds = [bytes.fromhex(prefix.ljust(64, digit)) for digit in "0f"]
            where += " AND name BETWEEN ? AND ?"
        query = f"SELECT name FROM motions WHERE 1 {where} ORDER BY opened DESC, name DESC LIMIT ?"  # noqa: S608
        found = self._db.all(query, *bounds, -1 if last is None else last)
        return [name for (name,) in reversed(found)]

    def find(self, prefix: str) -> bytes:
        """The name of the motion that begins so, or of the last; ValueError if there is none, or several."""
        found: list[bytes] = []
        if prefix == "last":
            found = self.names(last=1)
        elif 4 <= len(prefix) <= 64 and not prefix.lower().strip("0123456789abcdef"):
            found = self.names(prefix=prefix.lower())
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(
                f"{prefix!r} must begin the name of one motion: {len(found)} begin so; type more of it"
            )
        raise ValueError(
            f"there is no motion {prefix!r} at this node: type 4 or more digits of its name, or 'last' "
            "(folkmoot motions list shows them)"
        )

    def knows(self, motion: bytes) -> bool:
        """Whether this motion was ever put to this node."""
        return self._db.one("SELECT 1 FROM motions WHERE name = ?", motion) is not None

    def motion(self, name: bytes) -> StoredMotion:
        """One motion."""
        row, rows = self._db.verified(name)
        _, header, signature, members, faults, opened, ends, decided, stopped, summary, _ = row
        fingerprints, names = zip(*json.loads(members), strict=True)
        result = rows["results"][0] if rows["results"] else (name, None, None)
        return StoredMotion(
            name, header, signature, list(fingerprints), list(names), faults, opened, ends, decided, stopped,
            msgspec.json.decode(summary, type=Part), result[1], result[2],
            {node: _EVIDENCE.decode(data) for _, node, data, _ in rows["evidence"]},
            {place: label for _, place, label in rows["truths"]},
        )  # fmt: skip

    def invitations(self) -> list[StoredMotion]:
        """Motions that invited validation rows, the newest first; a damaged one is left out."""
        found = []
        for (name,) in self._db.all(
            "SELECT name FROM motions WHERE invites = 1 ORDER BY opened DESC, name DESC"
        ):
            with suppress(DamagedError):
                found.append(self.motion(name))
        return found

    def mark(self, name: bytes) -> bytes:
        """A few bytes that are others as soon as anything that is stored of a motion is; none if unknown."""
        row = self._db.one("SELECT seal FROM seals WHERE motion = ?", name)
        return b"" if row is None else bytes(row[0])

    def since(self, clock: float) -> Iterator[tuple[float, bytes, int]]:
        """When motions were opened since then, their headers and sizes of moots, the oldest first.

        A damaged one is left out.
        """
        query = "SELECT name, opened FROM motions WHERE opened > ? ORDER BY opened"
        for name, opened in self._db.all(query, clock):
            found = self._db.one("SELECT header, members FROM motions WHERE name = ?", name)
            if found is not None and name not in self.damaged:
                yield opened, found[0], len(json.loads(found[1]))

    # The audit log

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
            stored = self._db.all("SELECT name, opened, decided IS NULL AND stopped IS NULL FROM motions")
        for name, opened, is_open in stored:
            missing = {"asked", *([] if is_open else ["over"])} - told.get(name.hex(), set())
            if missing and opened > since:
                raise TamperedError(
                    f"motion {name.hex()[:12]} is stored, and the log does not tell that it was "
                    f"{min(missing)}: entries were cut off or taken out"
                )
        return entries

    # Forgetting

    def has_forgotten(self, header: Header) -> bool:
        """Whether this node may have signed in a motion and forgotten it: then it must not play it again.

        By what was forgotten, and by when this file was made, not by the clock, which may be set back.
        """
        return until(header) <= self._forgotten or header.created <= self._born

    def used(self) -> int:
        """Bytes that what is stored takes; room that is free again inside the file does not count."""
        pages, free, size = (
            int(self._db.one(f"PRAGMA {what}")[0]) for what in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size

    def tend(self, clock: float, marks: Watermarks) -> int:
        """Forget some old motions if there are too many, and find out whether there is room for new ones.

        Returns how many were forgotten; as long as that is not 0, there may be more to do. DamagedError, and
        nothing is forgotten, if the file is damaged.
        """
        try:
            target = marks.prune_to(self.used(), self._free())
            gone = 0 if target is None else self.prune(clock, target)
            self.has_room = marks.has_room(self.used(), self._free())
        except sqlite3.DatabaseError as error:
            raise DamagedError(
                f"{self.path} cannot be read: {error}; nothing in it was forgotten (docs/operations.md)"
            ) from None
        return gone

    def prune(self, clock: float, target: int, most: int = PRUNED_AT_ONCE) -> int:
        """Forget the oldest motions, ``most`` at a time, until ``target`` bytes are used; returns how many.

        Only motions that are over, and that nobody would play again (``retention.until``). Those with
        evidence or truths are the last to go, and a damaged one never goes.
        """
        precious = "(motion IN (SELECT motion FROM evidence) OR motion IN (SELECT motion FROM truths))"
        query = (
            "SELECT motion, until FROM seals WHERE until <= ? AND motion NOT IN "  # noqa: S608 (ours)
            f"(SELECT name FROM motions WHERE decided IS NULL AND stopped IS NULL) AND {precious} = ? "
            "ORDER BY until LIMIT ?"
        )
        spared = len(self.damaged)
        old = self._db.all(query, clock, 0, most + spared) + self._db.all(query, clock, 1, most + spared)
        old = [each for each in old if each[0] not in self.damaged][:most]
        gone, forgotten = 0, self._forgotten
        with self._db.writing():
            for name, end in old:
                if self.used() <= target:
                    break
                try:
                    self._forget_in_audit(name, clock)
                except DamagedError:
                    self.damaged.append(name)
                    continue
                for table in (*CHILDREN, "seals"):
                    self._db.change(f"DELETE FROM {table} WHERE motion = ?", name)  # noqa: S608 (ours)
                self._db.change("DELETE FROM motions WHERE name = ?", name)
                gone, forgotten = gone + 1, max(forgotten, end)
            self.audit.shorten()
            if gone:  # in the same transaction: there is no moment at which it could be played again
                self._db.keep("forgotten", forgotten)
        self._forgotten = forgotten
        return gone

    def _forget_in_audit(self, name: bytes, clock: float) -> None:
        """What is forgotten leaves a digest of all of it, and those of its entries."""
        row, rows = self._db.verified(name)
        everything = msgspec.msgpack.encode([list(row), rows])
        self.audit.forget(name.hex())
        digest = hashlib.sha256(everything).hexdigest()
        self.audit.add("forgotten", clock, motion=name.hex(), digest=digest)

    def _free(self) -> int:
        return 1 << 62 if self.path == ":memory:" else shutil.disk_usage(self.path).free


class Asked:
    """The inputs of motions that a node puts itself, until these are over: so that a restart loses none.

    By motion a head, of its asker, and the chunks of its inputs.

    They have no seal: the header, by whose hash a motion is named, has the hashes of the chunks.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def keep(self, motion: bytes, head: bytes, chunks: Iterable[bytes], size: int) -> bool:
        """Keep a motion whose chunks have so many bytes; whether there was room for it."""
        (kept,) = self._db.one("SELECT coalesce(sum(length(data)), 0) FROM asked")
        if kept + size > MOST_ASKED:
            return False
        with self._db.writing():
            for place, data in enumerate((head, *chunks), start=_HEAD):
                self._db.change("INSERT OR REPLACE INTO asked VALUES (?, ?, ?)", motion, place, data)
        return True

    def names(self) -> list[bytes]:
        """The motions, in the order in which they were kept."""
        return [name for (name,) in self._db.all("SELECT motion FROM asked WHERE place = -1 ORDER BY rowid")]

    def head(self, motion: bytes) -> bytes:
        """The head that was kept with it."""
        (data,) = self._db.one("SELECT data FROM asked WHERE motion = ? AND place = -1", motion)
        return bytes(data)

    def inputs(self, motion: bytes) -> bytes:
        """The inputs, one after the other; none if they are not kept."""
        query = "SELECT data FROM asked WHERE motion = ? AND place >= 0 ORDER BY place"
        return b"".join(data for (data,) in self._db.all(query, motion))

    def drop(self, motion: bytes) -> None:
        """Forget a motion."""
        if self._db.one("SELECT 1 FROM asked WHERE motion = ?", motion) is not None:
            with self._db.writing():
                self._db.change("DELETE FROM asked WHERE motion = ?", motion)


# The file of a node's folder


def create_storage(folder: Path, fingerprint: str, clock: float) -> None:
    """Make the file of a new node: a key is never without one."""
    storage = Storage(folder / DATABASE)
    try:
        _own(storage, fingerprint, clock)
    finally:
        storage.close()
    (folder / DATABASE).chmod(0o600)


def open_storage(
    folder: Path, fingerprint: str, clock: float, *, forget: bool = False
) -> tuple[Storage, list[bytes]]:
    """The storage of the node in a folder, looked through; and the names of damaged motions in it.

    ValueError if it is missing or empty: then the node may have signed what it no longer knows. With
    ``forget`` it begins anew, and takes no part in motions that were put before.
    """
    path = folder / DATABASE
    if not path.is_file() or version_of(path) == 0:
        if not forget:
            what = "is empty" if path.is_file() else "is missing"
            raise ValueError(
                f"{path} {what}, and there is a key beside it: this node may have signed what it no longer "
                "knows, and could contradict itself; put a copy of the database back, or go on without it by "
                "folkmoot node run --forget"
            )
        create_storage(folder, fingerprint, clock)
    storage = Storage(path)
    try:
        damaged = storage.check()
        owner = storage.database.kept(_OWNER)
        if owner is None:  # of 0.2, which did not say whose it was
            _own(storage, fingerprint, None)
        elif owner != bytes.fromhex(fingerprint):
            raise ValueError(
                f"{path} is of another node, with the fingerprint {bytes(owner).hex()[:16]}: this one has "
                f"{fingerprint[:16]}; put the files of one node together"
            )
    except BaseException:
        storage.close()
        raise
    return storage, damaged


def _own(storage: Storage, fingerprint: str, born: float | None) -> None:
    with storage.database.writing():
        storage.database.keep(_OWNER, bytes.fromhex(fingerprint))
        if born is not None:
            storage.database.keep(_BORN, born)
    storage._born = storage._time(_BORN)
