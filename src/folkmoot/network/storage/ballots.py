"""Rows of federated motions in a node's database: of each participant its choice, and its last ballot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from folkmoot.network.storage.database import Database
from folkmoot.network.wire import messages as m

_CHOICE: Final = "choice"
_BALLOT: Final = "ballot"


def save_ballot(database: Database, motion: bytes, record: m.Choice | m.Ballot) -> None:
    """Keep a choice, once; or a ballot in the place of the one before it."""
    if isinstance(record, m.Choice):
        database.add("ballots", motion, record.node, _CHOICE, m.encode(record), verb="INSERT OR IGNORE")
        return
    query = "SELECT * FROM ballots WHERE motion = ? AND node = ? AND kind = ?"
    old = database.one(query, motion, record.node, _BALLOT)
    if old is not None:
        database.toggle(motion, "ballots", old)
    database.add("ballots", motion, record.node, _BALLOT, m.encode(record), verb="INSERT OR REPLACE")


def stored_ballots(rows: Iterable[Any]) -> tuple[dict[int, m.Choice], dict[int, m.Ballot]]:
    """The choices and the ballots in such rows, by place."""
    choices, ballots = {}, {}
    for _, node, kind, frame in rows:
        if kind == _CHOICE:
            choices[node] = m.decode_as(frame, m.Choice)
        else:
            ballots[node] = m.decode_as(frame, m.Ballot)
    return choices, ballots
