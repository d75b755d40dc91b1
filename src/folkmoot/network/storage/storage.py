"""What a node must not forget, in SQLite under its folder: motions, votes, closes, evidence, track records.

Everything a node signs is written, and synced to the disk, before it is sent. Rows are only ever added; the
one thing that changes is that an open motion may get more time, and becomes a closed one.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from folkmoot.network.session.minutes import Ended, Memory, Save, Voted
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, read_header
from folkmoot.network.wire.statements import Evidence

_SCHEMA_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE motions (
    name BLOB PRIMARY KEY, header BLOB NOT NULL, signature BLOB NOT NULL, members TEXT NOT NULL,
    opened REAL NOT NULL, ends REAL NOT NULL, closed REAL, summary TEXT
);
CREATE TABLE voted (
    motion BLOB PRIMARY KEY, frame BLOB NOT NULL, salt BLOB NOT NULL, first BLOB NOT NULL, reason TEXT NOT
    NULL
);
CREATE TABLE commits (motion BLOB, node INTEGER, frame BLOB NOT NULL, PRIMARY KEY (motion, node));
CREATE TABLE closes (motion BLOB, node INTEGER, frame BLOB NOT NULL, PRIMARY KEY (motion, node));
CREATE TABLE evidence (
    motion BLOB, node INTEGER, kind TEXT NOT NULL, data BLOB NOT NULL, seen REAL NOT NULL,
    PRIMARY KEY (motion, node)
);
CREATE TABLE truths (motion BLOB, input INTEGER, label TEXT NOT NULL, PRIMARY KEY (motion, input));
"""


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


class Storage:
    """The database of one node; ``path`` may be ":memory:"."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self._db = sqlite3.connect(self.path, timeout=10.0, isolation_level=None)
        try:
            self._prepare()
        except sqlite3.OperationalError as error:
            self._db.close()
            raise OSError(f"{self.path} cannot be opened: {error}") from None
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"{self.path} is not a database of folkmoot: {error}") from None

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        with self._writing():
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            elif version != _SCHEMA_VERSION:
                raise ValueError(
                    f"{self.path} was written by another version of folkmoot (schema {version}, "
                    f"this one reads {_SCHEMA_VERSION})"
                )

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def start(self, clock: float) -> int:
        """The number of this start: above every other, also after an old copy of the file was put back."""
        with self._writing():
            row = self._db.execute("SELECT value FROM meta WHERE key = 'incarnation'").fetchone()
            number = max(int(clock), 1 + (row[0] if row else 0))
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('incarnation', ?)", (number,))
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
        with self._writing():
            self._db.execute(
                "INSERT INTO motions VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)",
                (name, header, signature, json.dumps(list(members)), opened, ends),
            )

    def prolong(self, name: bytes, ends: float) -> None:
        """An open motion ends later than was said at first."""
        with self._writing():
            self._db.execute("UPDATE motions SET ends = ? WHERE name = ? AND closed IS NULL", (ends, name))

    def save(self, motion: bytes, saves: Sequence[Save], summary: Mapping[str, Any] | None = None) -> None:
        """What a session wants kept, all or nothing."""
        with self._writing():
            for record in saves:
                self._save(motion, record, summary)

    def _save(self, motion: bytes, record: Save, summary: Mapping[str, Any] | None) -> None:
        if isinstance(record, Voted):
            frame = m.encode(record.commit)
            row = (motion, frame, record.salt, record.first, record.reason)
            self._db.execute("INSERT INTO voted VALUES (?, ?, ?, ?, ?)", row)
        elif isinstance(record, m.Commit | m.Close):
            table = "commits" if isinstance(record, m.Commit) else "closes"
            self._db.execute(
                f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?)",  # noqa: S608 (one of two names)
                (motion, record.node, m.encode(record)),
            )
        elif isinstance(record, Ended):
            self._db.execute(
                "UPDATE motions SET closed = ?, summary = ? WHERE name = ? AND closed IS NULL",
                (time.time(), json.dumps(dict(summary or {})), motion),
            )
        else:
            self._db.execute(
                "INSERT OR IGNORE INTO evidence VALUES (?, ?, ?, ?, ?)",
                (
                    motion, statements.accused(record), statements.kind(record),
                    statements.write_evidence(record), time.time(),
                ),
            )  # fmt: skip

    def motions(self) -> list[StoredMotion]:
        """All motions, the oldest first."""
        rows = self._db.execute("SELECT * FROM motions ORDER BY opened, name").fetchall()
        found = []
        for name, header, signature, members, opened, ends, closed, summary in rows:
            fingerprints, names = zip(*json.loads(members), strict=True)
            details = json.loads(summary or "{}")
            found.append(
                StoredMotion(
                    name, header, signature, list(fingerprints), list(names), opened, ends, closed, details
                )
            )
        return found

    def knows(self, motion: bytes) -> bool:
        """Whether this motion was ever put to this node."""
        return self._db.execute("SELECT 1 FROM motions WHERE name = ?", (motion,)).fetchone() is not None

    def memory(self, motion: bytes) -> Memory:
        """What the session of a motion had said and heard."""
        row = self._db.execute(
            "SELECT frame, salt, first, reason FROM voted WHERE motion = ?", (motion,)
        ).fetchone()
        memory = Memory(closes=self.closes(motion), cheats={node for node, _ in self.evidence(motion)})
        for node, frame in self._db.execute("SELECT node, frame FROM commits WHERE motion = ?", (motion,)):
            commit = m.decode(frame)
            assert isinstance(commit, m.Commit)  # noqa: S101
            memory.commits[node] = commit
        if row is not None:
            commit = m.decode(row[0])
            assert isinstance(commit, m.Commit)  # noqa: S101
            memory.voted = Voted(commit, row[1], row[2], row[3])
        return memory

    def closes(self, motion: bytes) -> dict[int, m.Close]:
        """The signed closes of a motion, by place."""
        found: dict[int, m.Close] = {}
        for node, frame in self._db.execute("SELECT node, frame FROM closes WHERE motion = ?", (motion,)):
            close = m.decode(frame)
            assert isinstance(close, m.Close)  # noqa: S101
            found[node] = close
        return found

    def committed(self, motion: bytes) -> set[int]:
        """Who had committed to its first votes before this node began to talk; itself included."""
        rows = self._db.execute("SELECT node FROM commits WHERE motion = ?", (motion,)).fetchall()
        own = self._db.execute("SELECT frame FROM voted WHERE motion = ?", (motion,)).fetchone()
        places = {node for (node,) in rows}
        if own is not None:
            commit = m.decode(own[0])
            assert isinstance(commit, m.Commit)  # noqa: S101
            places.add(commit.node)
        return places

    def evidence(self, motion: bytes) -> list[tuple[int, Evidence]]:
        """Who contradicted itself in a motion, and what shows it."""
        rows = self._db.execute("SELECT node, data FROM evidence WHERE motion = ? ORDER BY node", (motion,))
        return [(node, statements.read_evidence(data)) for node, data in rows.fetchall()]

    # ---- truths ------------------------------------------------------------------------------

    def tell(self, motion: bytes, labels: Mapping[int, str]) -> None:
        """The right labels of some inputs of a motion; told again they replace the old ones."""
        with self._writing():
            self._db.executemany(
                "INSERT OR REPLACE INTO truths VALUES (?, ?, ?)",
                [(motion, place, label) for place, label in labels.items()],
            )

    def truths(self, motion: bytes) -> dict[int, str]:
        """What is known to be right."""
        rows = self._db.execute("SELECT input, label FROM truths WHERE motion = ?", (motion,))
        return dict(rows.fetchall())
