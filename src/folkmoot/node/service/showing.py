"""Validation rows that a node shows: own labelled rows, each once, to askers whom its policy allows.

A row that was opened in one motion is known to all who took part in it. Liars could answer it well in the
next. So no row is shown twice: the database remembers how far a node has come, before it says so.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.arrays import Array, Ints
from folkmoot.node.ballots import on_grid
from folkmoot.node.review import pack_rows
from folkmoot.node.sealing import sealed
from folkmoot.node.service.holdout import LabelledRows, number_of
from folkmoot.node.service.parts import Parts
from folkmoot.node.session.header import Header
from folkmoot.node.wire.schema import MismatchError

LEAST: Final = 2  # rows: with fewer nobody can begin to learn
NONE_SHOWN: Final = "it shows no validation rows ([policy] validation_rows is 0)"
NO_ROWS: Final = "it has no labelled rows to show: its holdout must be rows with labels"
ALL_SHOWN: Final = "it has no validation rows left that it has not shown before: it needs a new holdout"


def rows_to_show(parts: Parts, name: bytes, header: Header, place: int) -> tuple[bytes, str]:
    """The ballot of this node in answer to an invitation: rows sealed for its asker, or none, and why."""
    try:
        rows, which = _chosen(parts, name, header)
    except MismatchError as error:
        return b"", error.why
    cast, _ = rows.some(which).arranged(header)
    drawn = parts.settings.randbytes(32)
    return sealed(pack_rows(header, cast), header.seal, name, place, drawn), ""


def rows_shown(parts: Parts, name: bytes, header: Header) -> tuple[Array, Ints] | None:
    """The rows that it has shown for a motion, as its inputs have them, and their truths.

    They are for the first motion that names the invitation, and for no other.
    """
    storage, rows = parts.storage, parts.own.holdout.rows
    if rows is None or not header.shown or not storage.knows(header.shown):
        return None
    said = storage.motion(header.shown).part
    if not said.shown or said.shown_of != rows.digest or said.shown_for not in ("", name.hex()):
        return None
    some = rows.some(np.array(said.shown, dtype=np.int64))
    try:
        cast, _ = some.arranged(header)
    except MismatchError:
        return None
    terms = header.terms
    number = {label: place for place, label in enumerate(terms.labels)}
    if terms.answers == "numbers":
        truths = on_grid(np.array([number_of(label) for label in some.labels]), terms.step)
    elif set(some.labels) <= number.keys():
        truths = np.array([number[label] for label in some.labels], dtype=np.int64)
    else:
        return None
    storage.amend(header.shown, shown_for=name.hex())
    return cast, truths


def _chosen(parts: Parts, name: bytes, header: Header) -> tuple[LabelledRows, Ints]:
    """The rows for an invitation: those that were chosen before, or the next ones; noted as shown."""
    storage, rows = parts.storage, parts.own.holdout.rows
    most = min(parts.settings.policy.validation_rows, header.inputs)
    if not most:
        raise MismatchError(NONE_SHOWN, "")
    if rows is None:
        raise MismatchError(NO_ROWS, "")
    said = storage.motion(name).part
    if said.shown:
        if said.shown_of != rows.digest:
            raise MismatchError(NO_ROWS, "")
        return rows, np.array(said.shown, dtype=np.int64)
    begun = storage.shown(rows.digest)
    order = rows.in_turn()
    cast, fine = rows.arranged(header)
    able = set(fine.tolist())
    taken, picked = begun, dict[bytes, int]()
    while len(picked) < most and taken < len(order):
        which = int(order[taken])
        taken += 1
        if which in able:
            picked.setdefault(cast[which].tobytes(), which)
    if len(picked) < LEAST:
        raise MismatchError(ALL_SHOWN if begun else NO_ROWS, "")
    found = list(picked.values())
    storage.show(name, rows.digest, taken, found, parts.transport.clock())
    parts.counts["validation_rows_shown"] += len(found)
    return rows, np.array(found, dtype=np.int64)
