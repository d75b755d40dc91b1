"""Which model of a node votes: that of ``node.toml``, or one that was made of a pool and adopted.

Adopted models are a pile: the top one votes, and undoing takes it off. A change is one transaction, with its
entry in the audit log; these entries name the motion as a ``pool``, so that they stay when it is forgotten.
Which model votes in a motion is stored when the motion is opened, and stays so.
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.network.storage.storage import Storage


@dataclass(frozen=True)
class Adoption:
    """A model that was adopted: the motion that it came of, in hexadecimal, and what it votes instead of."""

    model: str
    base: str  # the model of node.toml: the digest of its file, or its function
    at: float


class Adoptions:
    """The adopted models of a node, in its database."""

    def __init__(self, storage: Storage) -> None:
        self._db, self._audit = storage.database, storage.audit

    def pile(self) -> list[Adoption]:
        """All that were adopted and not undone, the latest last."""
        return [
            Adoption(*row) for row in self._db.all("SELECT model, base, at FROM adoptions ORDER BY place")
        ]

    def current(self, base: str) -> str:
        """The adopted model that votes instead of ``base``; "" if there is none.

        One that was adopted instead of another model does not count: whoever put that in its place wants it
        to vote.
        """
        row = self._db.one("SELECT model, base FROM adoptions ORDER BY place DESC LIMIT 1")
        return str(row[0]) if row is not None and row[1] == base else ""

    def of(self, motion: bytes) -> str:
        """The adopted model that votes in a motion; "" if it is that of ``node.toml``."""
        row = self._db.one("SELECT model FROM models WHERE motion = ?", motion)
        return "" if row is None else str(row[0])

    def adopt(self, model: str, base: str, clock: float) -> None:
        """Let a model vote from the next motion on."""
        with self._db.writing():
            (last,) = self._db.one("SELECT coalesce(max(place), 0) FROM adoptions")
            self._db.change("INSERT INTO adoptions VALUES (?, ?, ?, ?)", last + 1, model, base, clock)
            self._audit.add("adopted", clock, pool=model)

    def undo(self, clock: float) -> Adoption | None:
        """Take the latest off the pile and return it; None if there is none."""
        with self._db.writing():
            row = self._db.one("SELECT place, model, base, at FROM adoptions ORDER BY place DESC LIMIT 1")
            if row is None:
                return None
            self._db.change("DELETE FROM adoptions WHERE place = ?", row[0])
            self._audit.add("undone", clock, pool=row[1])
        return Adoption(*row[1:])

    def note_candidate(self, motion: bytes, asker: str, digest: str, why: str | None, clock: float) -> None:
        """Write into the audit log that a candidate was made of a motion, or why not; once."""
        with self._db.writing():
            known = "SELECT 1 FROM audit WHERE motion = '' AND entry LIKE ? AND entry LIKE ?"
            if self._db.one(known, '%"event":"candidate"%', f'%"pool":"{motion.hex()}"%') is None:
                self._audit.add(
                    "candidate", clock, pool=motion.hex(), asker=asker, model=digest, refused=why or ""
                )
