"""The SQLite file of a node: its tables, transactions, and a seal for all that is stored of a motion.

A seal is the sum (exclusive or) of the digests of a motion's rows, kept up to date in the transaction that
changes them. Whoever reads a motion adds the digests up again: a row that was changed, lost or put in by
anything but this code gives another sum. It finds damage; it is no signature, and whoever may write the
file can make another seal.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from folkmoot.network.wire.motion import motion_name, read_header

CHILDREN: Final = (
    "voted",
    "commits",
    "closes",
    "evidence",
    "truths",
    "series",
    "opened",
)  # tables with rows of a motion
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
-- Beside the motions, whose rows may be a megabyte long: a seal changes often. "until" is when a motion may
-- be forgotten.
CREATE TABLE seals (motion BLOB PRIMARY KEY, seal BLOB NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX seals_until ON seals (until, motion);
CREATE INDEX motions_opened ON motions (opened, name);
CREATE INDEX motions_open ON motions (opened, name) WHERE closed IS NULL;
CREATE TABLE series (motion BLOB PRIMARY KEY, rounds BLOB NOT NULL);
-- By the digest of the roster that is replaced. own_consents has one row for each: a node signs once.
CREATE TABLE successors (previous BLOB, name BLOB, content BLOB NOT NULL, PRIMARY KEY (previous, name));
CREATE TABLE consents (
    previous BLOB, node INTEGER, name BLOB, signature BLOB NOT NULL, PRIMARY KEY (previous, node, name)
);
CREATE TABLE own_consents (previous BLOB PRIMARY KEY, name BLOB NOT NULL);
CREATE TABLE adopted (previous BLOB PRIMARY KEY, name BLOB NOT NULL, at REAL NOT NULL);
CREATE TABLE renewed (old TEXT PRIMARY KEY, new TEXT NOT NULL);
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY, motion TEXT NOT NULL, digest BLOB NOT NULL, link BLOB NOT NULL, entry TEXT
);
CREATE INDEX audit_motion ON audit (motion);
-- By the place of the member that opened its labels. -1 is the map of owners.
CREATE TABLE opened (motion BLOB, node INTEGER, frame BLOB NOT NULL, PRIMARY KEY (motion, node));
-- "why" is NULL while one is under way, and empty if a motion was put. "without" says who sent no rows.
CREATE TABLE invitations (
    name BLOB PRIMARY KEY, created REAL NOT NULL, inputs INTEGER NOT NULL, why TEXT, without TEXT NOT NULL
) WITHOUT ROWID
"""
_VERSION: Final = 10  # 1 to 9 were those of 0.1 and 0.2, which also kept what is gone


class DamagedError(ValueError):
    """What is stored of a motion is not what this node wrote."""


class Database:
    """The file of one node; ``path`` may be ":memory:"."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self._db = sqlite3.connect(self.path, timeout=10.0, isolation_level=None)
        self._db.text_factory = lambda data: data.decode("utf-8", "replace")  # damage is found by the seal
        self._changed: dict[bytes, int] = {}  # by motion: what the seal of this transaction changes by
        try:
            self._prepare()
        except sqlite3.OperationalError as error:
            self._db.close()
            raise OSError(f"{self.path} cannot be opened: {error}") from None
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"{self.path} is not a database of folkmoot: {error}") from None
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        (version,) = self.one("PRAGMA user_version")
        if version == _VERSION:
            return
        with self.writing():
            (version,) = self.one("PRAGMA user_version")
            if version not in (0, _VERSION):
                raise ValueError(
                    f"{self.path} was written by another version of folkmoot (schema {version}, "
                    f"this one reads {_VERSION})"
                )
            for statement in [] if version else _SCHEMA.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {_VERSION}")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def one(self, query: str, *values: object) -> Any:
        """The first row, or None."""
        return self._db.execute(query, values).fetchone()

    def all(self, query: str, *values: object) -> list[Any]:
        """All rows."""
        return self._db.execute(query, values).fetchall()

    def change(self, query: str, *values: object) -> int:
        """The number of rows that a statement has changed."""
        return self._db.execute(query, values).rowcount

    def number(self, key: str) -> int:
        """A number that is kept under a name; 0 if there is none."""
        row = self.one("SELECT value FROM meta WHERE key = ?", key)
        return int(row[0]) if row else 0

    def keep_number(self, key: str, value: int) -> None:
        """Keep a number under a name."""
        with self.writing():
            self.change("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing, on the disk at the end."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            for motion, difference in self._changed.items():
                old = self.one("SELECT seal FROM seals WHERE motion = ?", motion)
                if old is not None:
                    new = (int.from_bytes(old[0]) ^ difference).to_bytes(16)
                    self._db.execute("UPDATE seals SET seal = ? WHERE motion = ?", (new, motion))
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        finally:
            self._changed = {}
        self._db.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several queries about one moment, while others may write."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")

    # ---- seals -------------------------------------------------------------------------------

    def add(self, table: str, *row: Any, verb: str = "INSERT") -> None:
        """A row of a motion, which the seal covers from now on; the first value is the motion's name."""
        places = ", ".join("?" * len(row))
        if self.change(f"{verb} INTO {table} VALUES ({places})", *row):
            self.toggle(row[0], table, row)

    def toggle(self, motion: bytes, table: str, row: Any) -> None:
        """A row is there that was not, or is gone."""
        self._changed[motion] = self._changed.get(motion, 0) ^ _digest(table, row)

    def change_motion(self, name: bytes, query: str, *values: object) -> None:
        """Change the row of a motion, and its seal with it."""
        before = self.one("SELECT * FROM motions WHERE name = ?", name)
        if before is not None and self.change(query, *values):
            self.toggle(name, "motions", before)
            self.toggle(name, "motions", self.one("SELECT * FROM motions WHERE name = ?", name))

    def seal(self, name: bytes) -> None:
        """Seal what is stored of a motion as it stands."""
        row, rows = self.rows(name)
        digest = _digest("motions", row) ^ _sum(rows)
        until = read_header(row[1]).until
        self.change("INSERT INTO seals VALUES (?, ?, ?)", name, digest.to_bytes(16), until)

    def rows(self, name: bytes) -> tuple[Any, dict[str, list[Any]]]:
        """The row of a motion, None if there is none, and its rows in the other tables."""
        row = self.one("SELECT * FROM motions WHERE name = ?", name)
        query = "SELECT * FROM {} WHERE motion = ? ORDER BY 2"
        return row, {table: self.all(query.format(table), name) for table in CHILDREN}

    def verified(self, name: bytes) -> tuple[Any, dict[str, list[Any]]]:
        """What ``rows`` gives, if it is what was written; DamagedError if it is not."""
        try:
            with self.reading():
                row, rows = self.rows(name)
                seal = self.one("SELECT seal FROM seals WHERE motion = ?", name)
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:  # locked, or no such table: not this motion alone
                raise
            row, rows, seal = None, {}, None
        fine = row is not None and seal is not None and row[0] == name
        if fine and isinstance(row[1], bytes) and motion_name(row[1]) == name:
            found = (_digest("motions", row) ^ _sum(rows)).to_bytes(16)
            if found == seal[0]:
                return row, rows
        raise DamagedError(
            f"motion {name.hex()[:12]} in {self.path} is damaged: what is stored of it is not what this node "
            "wrote, so it is not shown; put a copy of the database back (docs/operations.md)"
        )


def _sum(rows: dict[str, list[Any]]) -> int:
    total = 0
    for table, found in rows.items():
        for row in found:
            total ^= _digest(table, row)
    return total


def _digest(table: str, row: Any) -> int:
    """A digest of a row; the header of a motion is covered by the motion's name."""
    values = (row[0], *row[2:]) if table == "motions" else tuple(row)
    data = msgspec.msgpack.encode((table, *values))
    return int.from_bytes(hashlib.blake2b(data, digest_size=16).digest())
