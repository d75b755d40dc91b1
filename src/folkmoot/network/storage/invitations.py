"""The invitations of check rows that a node has sent, until a motion is put with them: none is forgotten.

An invitation is stored before anybody hears of it. One that is still open when the node starts was lost with
the inputs of its asker: no motion was put, and the node says so. Who sent no rows, and why, is kept for the
account of the motion.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from folkmoot.network.storage.storage import Storage

MOST: Final = 64  # that are kept, the newest
LOST: Final = "the node was stopped while it waited for check rows, and nothing was put: ask again"


class Invited(msgspec.Struct, frozen=True):
    """An invitation that came to nothing: what it was called, when it was sent, for how many inputs, why."""

    name: str
    created: float
    inputs: int
    why: str


class Invitations:
    """What a node has stored of its own invitations."""

    def __init__(self, storage: Storage) -> None:
        self._storage, self._db = storage, storage.database

    def begin(self, name: bytes, created: float, inputs: int) -> None:
        """One is about to be sent; the oldest goes, if there are too many."""
        with self._db.writing():
            self._db.change("INSERT INTO invitations VALUES (?, ?, ?, NULL, '{}')", name, created, inputs)
            self._db.change(
                "DELETE FROM invitations WHERE name NOT IN "
                "(SELECT name FROM invitations ORDER BY created DESC, name LIMIT ?)",
                MOST,
            )

    def answered(self, name: bytes, without: Mapping[int, str]) -> None:
        """All who answer have answered; ``without`` are those who sent no rows, by place, and why."""
        told = json.dumps({str(place): why for place, why in without.items()})
        with self._db.writing():
            self._db.change("UPDATE invitations SET without = ? WHERE name = ?", told, name)

    def end(self, name: bytes, why: str = "") -> None:
        """A motion was put with its rows; or none can be, and ``why``."""
        with self._db.writing():
            self._db.change("UPDATE invitations SET why = ? WHERE name = ?", why, name)

    def without(self, name: bytes) -> dict[int, str]:
        """Who sent no rows, by place, and why."""
        row = self._db.one("SELECT without FROM invitations WHERE name = ?", name)
        return {} if row is None else {int(place): why for place, why in json.loads(row[0]).items()}

    def lose(self) -> list[Invited]:
        """End those that are still open: this node starts, so whoever waited for them has gone."""
        query = "SELECT name, created, inputs FROM invitations WHERE why IS NULL ORDER BY created, name"
        found = self._db.all(query)
        newest = map(self._storage.motion, self._storage.names(last=MOST) if found else ())
        put = {stored.motion.review.invite for stored in newest if stored.motion.review is not None}
        lost = []
        for name, created, inputs in found:
            there = name in put  # it was put, and the node stopped before it could say so here
            self.end(name, "" if there else LOST)
            if not there:
                lost.append(Invited(name.hex(), created, inputs, LOST))
        return lost

    def in_vain(self) -> list[Invited]:
        """Those that came to nothing, the newest first."""
        rows: Sequence[tuple[bytes, float, int, str]] = self._db.all(
            "SELECT name, created, inputs, why FROM invitations WHERE why != '' ORDER BY created DESC, name"
        )
        return [Invited(name.hex(), created, inputs, why) for name, created, inputs, why in rows]
