"""The SQLite file of a node: its tables, transactions, and a seal for all that is stored of a motion.

A seal is the sum (exclusive or) of the digests of a motion's rows, kept up to date in the transaction that
changes them. A reader adds the digests up again: a row that was changed, lost or put in by anything but this
code gives another sum. It finds damage; it is no signature, and whoever may write the file can make another
seal.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from folkmoot.node.session.header import motion_of

CHILDREN: Final = ("journal", "results", "evidence", "truths")  # tables with rows of a motion
VERSION: Final = 11
KEPT_OLD: Final = "moot-0.2.db"  # the copy of a database of 0.2, beside what it became
_OLD: Final = 9  # the schema of 0.2: its rosters and its audit log are those of 11
_OF_ROSTERS: Final = """
-- By the digest of the roster that is replaced. own_consents is of 0.2, and not written any more.
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
CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL)
"""
_OF_MOTIONS: Final = """
-- "decided" is when the answer was final here, "stopped" when this node gave the motion up.
CREATE TABLE motions (
    name BLOB PRIMARY KEY, header BLOB NOT NULL, signature BLOB NOT NULL, members TEXT NOT NULL,
    faults INTEGER NOT NULL, opened REAL NOT NULL, ends REAL NOT NULL, decided REAL, stopped REAL,
    summary TEXT NOT NULL, invites INTEGER NOT NULL
);
CREATE INDEX motions_inviting ON motions (opened, name) WHERE invites = 1;
CREATE INDEX motions_opened ON motions (opened, name);
CREATE INDEX motions_open ON motions (opened, name) WHERE decided IS NULL AND stopped IS NULL;
-- What the session wants kept, in its order.
CREATE TABLE journal (motion BLOB, place INTEGER, record BLOB NOT NULL, PRIMARY KEY (motion, place));
CREATE TABLE results (motion BLOB PRIMARY KEY, answer BLOB NOT NULL, certificate BLOB NOT NULL);
CREATE TABLE evidence (
    motion BLOB, node INTEGER, data BLOB NOT NULL, seen REAL NOT NULL, PRIMARY KEY (motion, node)
);
CREATE TABLE truths (motion BLOB, input INTEGER, label TEXT NOT NULL, PRIMARY KEY (motion, input));
-- Beside the motions, whose rows may be a megabyte long: a seal changes often. "until" is when a motion may
-- be forgotten.
CREATE TABLE seals (motion BLOB PRIMARY KEY, seal BLOB NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX seals_until ON seals (until, motion)
"""
_OF_CHANGES: Final = """
-- By the digest of the roster that is replaced: what the agreement on its successor wants kept, in its order;
-- and, in "agreed", the precommits of a quorum to the one that is agreed on.
CREATE TABLE changes (previous BLOB, place INTEGER, record BLOB NOT NULL, PRIMARY KEY (previous, place))
    WITHOUT ROWID;
-- Own motions that are not over: place -1 is what to know of it again, the others are chunks of its inputs.
CREATE TABLE asked (motion BLOB, place INTEGER, data BLOB NOT NULL, PRIMARY KEY (motion, place));
CREATE TABLE agreed (previous BLOB PRIMARY KEY, round INTEGER NOT NULL, precommits BLOB NOT NULL)
    WITHOUT ROWID;
CREATE TABLE roster_evidence (
    previous BLOB, node INTEGER, data BLOB NOT NULL, seen REAL NOT NULL, PRIMARY KEY (previous, node)
) WITHOUT ROWID
"""
# What members of 0.2 had signed of a roster that was to come next does not hold any more.
_NOT_SIGNED: Final = """
DELETE FROM consents;
DELETE FROM successors WHERE name NOT IN (SELECT name FROM adopted)
"""
_GONE: Final = (
    "voted", "commits", "closes", "series", "opened", "invitations", "models", "adoptions", "ballots",
    *CHILDREN, "motions", "seals", "changes", "agreed", "roster_evidence", "asked",
)  # fmt: skip


class DamagedError(ValueError):
    """Stored data differ from what this node wrote."""


class FullError(OSError):
    """There is no room on the disk: nothing of the transaction was stored."""


class Database:
    """The file of one node; ``path`` may be ":memory:"."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self.upgraded = 0  # motions of 0.2 that were left in the copy
        self._db = sqlite3.connect(self.path, timeout=10.0, isolation_level=None)
        self._db.text_factory = lambda data: data.decode("utf-8", "replace")  # damage is found by the seal
        self._changed: dict[bytes, int] = {}  # by motion: what the seal of this transaction changes by
        try:
            self._prepare()
        except sqlite3.OperationalError as error:
            self._db.close()
            raise OSError(f"{self.path} cannot be opened: {_line(error)}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a name in the schema may be no text
            self._db.close()
            raise DamagedError(
                f"{self.path} is not a database of folkmoot: {_line(error)}; {_PUT_BACK}"
            ) from None
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA secure_delete = FAST")  # inputs that were forgotten are overwritten
        (version,) = self.one("PRAGMA user_version")
        if version == VERSION:
            return
        if version == _OLD:
            self._keep_old()
        with self.writing():
            (version,) = self.one("PRAGMA user_version")
            if version not in (0, _OLD, VERSION):
                raise ValueError(
                    f"{self.path} was written by another version of folkmoot (schema {version}, "
                    f"this one reads {VERSION}, and {_OLD} of 0.2)"
                )
            script = ""
            if version == 0:
                script = f"{_OF_ROSTERS};{_OF_CHANGES};{_OF_MOTIONS}"
            elif version == _OLD:
                (self.upgraded,) = self.one("SELECT count(*) FROM motions")
                script = ";".join(f"DROP TABLE IF EXISTS {table}" for table in _GONE)
                script += f";{_NOT_SIGNED};{_OF_CHANGES};{_OF_MOTIONS}"
            for statement in script.split(";") if script else []:
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {VERSION}")

    def _keep_old(self) -> None:
        """Motions of 0.2 cannot be read any more: the whole file is kept under another name."""
        copy = Path(self.path).with_name(KEPT_OLD)
        if not copy.exists():
            self.change("VACUUM INTO ?", str(copy))
            copy.chmod(0o600)

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

    def kept(self, key: str) -> Any:
        """The value that is kept under a name, or None."""
        try:
            row = self.one("SELECT value FROM meta WHERE key = ?", key)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise
            raise DamagedError(f"{self.path} is damaged: {_line(error)}; {_PUT_BACK}") from None
        return row[0] if row else None

    def keep(self, key: str, value: object) -> None:
        """Keep a value under a name, in the transaction under way."""
        self.change("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing, on the disk at the end; FullError if there is no room."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                for motion, difference in self._changed.items():
                    old = self.one("SELECT seal FROM seals WHERE motion = ?", motion)
                    if old is not None:
                        new = (int.from_bytes(old[0]) ^ difference).to_bytes(16)
                        self._db.execute("UPDATE seals SET seal = ? WHERE motion = ?", (new, motion))
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            finally:
                self._changed = {}
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise FullError(
                    f"{self.path} cannot be written: {_line(error)}; nothing was sent that is not stored, so "
                    "make room on the disk and start the node again"
                ) from None
            raise
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise DamagedError(f"{self.path} is damaged: {_line(error)}; {_PUT_BACK}") from None
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All reads in it are of one moment, also while another process writes."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    # Rows of a motion, and their seal

    def add(self, table: str, *row: object, verb: str = "INSERT") -> bool:
        """Add a row of a motion, and its digest to the seal; False if it was there."""
        marks = ", ".join("?" * len(row))
        if not self.change(f"{verb} INTO {table} VALUES ({marks})", *row):
            return False
        self.toggle(row[0], table, row)  # type: ignore[arg-type]
        return True

    def toggle(self, motion: bytes, table: str, row: Any) -> None:
        """A row comes or goes, with this transaction."""
        self._changed[motion] = self._changed.get(motion, 0) ^ _digest(table, row)

    def change_motion(self, name: bytes, query: str, *values: object) -> None:
        """Change the row of a motion, and its seal with it."""
        before = self.one("SELECT * FROM motions WHERE name = ?", name)
        if before is not None and self.change(query, *values):
            self.toggle(name, "motions", before)
            self.toggle(name, "motions", self.one("SELECT * FROM motions WHERE name = ?", name))

    def seal(self, name: bytes, until: float) -> None:
        """Seal what is stored of a motion as it stands."""
        row, rows = self.rows(name)
        digest = _digest("motions", row) ^ _sum(rows)
        self.change("INSERT INTO seals VALUES (?, ?, ?)", name, digest.to_bytes(16), until)

    def rows(self, name: bytes) -> tuple[Any, dict[str, list[Any]]]:
        """The row of a motion, None if there is none, and its rows in the other tables."""
        row = self.one("SELECT * FROM motions WHERE name = ?", name)
        query = "SELECT * FROM {} WHERE motion = ? ORDER BY 2"
        return row, {table: self.all(query.format(table), name) for table in CHILDREN}

    def verified(self, name: bytes) -> tuple[Any, dict[str, list[Any]]]:
        """The result of ``rows``, if it is what was written; DamagedError if it is not."""
        try:
            with self.reading():
                row, rows = self.rows(name)
                seal = self.one("SELECT seal FROM seals WHERE motion = ?", name)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.OperationalError):  # locked, or no such table: not this motion alone
                raise
            row, rows, seal = None, {}, None
        fine = row is not None and seal is not None and row[0] == name
        if fine and isinstance(row[1], bytes) and motion_of(row[1]) == name:
            found = (_digest("motions", row) ^ _sum(rows)).to_bytes(16)
            if found == seal[0]:
                return row, rows
        raise DamagedError(
            f"motion {name.hex()[:12]} in {self.path} is damaged: what is stored of it is not what this node "
            f"wrote, so it is not shown; {_PUT_BACK}"
        )

    # Damage

    def check(self) -> list[bytes]:
        """Look through the whole file: the names of damaged motions; DamagedError if the file itself is."""
        try:
            told = [row[0] for row in self.all("PRAGMA integrity_check(3)")]
            names = {name for (name,) in self.all("SELECT name FROM motions")}
            names |= {name for (name,) in self.all("SELECT motion FROM seals")}
            for table in CHILDREN:
                names |= {name for (name,) in self.all(f"SELECT DISTINCT motion FROM {table}")}  # noqa: S608
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            told, names = [_line(error)], set()
        if told != ["ok"]:
            raise DamagedError(f"{self.path} is damaged: {_line(*told[:1])}; {_PUT_BACK}")
        return [name for name in sorted(names, key=repr) if self._is_damaged(name)]

    def _is_damaged(self, name: bytes) -> bool:
        try:
            self.verified(name)
        except DamagedError:
            return True
        return False


_PUT_BACK: Final = "stop the node and put a copy of the database back (docs/operations.md)"


def _line(*told: object) -> str:
    """What SQLite says, on one line of bounded length."""
    return " ".join(" ".join(map(str, told)).split())[:120] or "it cannot be read"


def version_of(path: Path) -> int:
    """The schema of a file; 0 if it is empty. DamagedError if it is no database."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return int(database.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.DatabaseError as error:
        raise DamagedError(f"{path} is not a database of folkmoot: {_line(error)}; {_PUT_BACK}") from None


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
