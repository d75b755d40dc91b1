"""The inputs of motions that a node puts itself, until these are over: so that a restart loses none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from folkmoot.node.storage.database import Database

MOST_ASKED: Final = 64 << 20  # bytes of inputs, of all motions together; those beyond are in memory only
_HEAD: Final = -1  # the place before those of the chunks


class Asked:
    """By motion a head, of its asker, and the chunks of its inputs.

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
