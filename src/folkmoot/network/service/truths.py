"""Truths that people tell a node about a motion afterwards: read, checked, stored; the records of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from folkmoot.files.tabular import Table, open_table, shortened, text_table
from folkmoot.network.storage.account import account
from folkmoot.network.storage.records import TrackRecords
from folkmoot.network.storage.storage import Storage, StoredMotion
from folkmoot.network.wire.motion import Motion
from folkmoot.node.service.models import as_labels


def read_truths(path: Path, motion: Motion) -> dict[int, str]:
    """The label of each input that a file names; where a label is blank, it is unknown.

    A file of ``--out`` with its labels put right can be told as it is: other columns are not looked at.
    """
    with open_table(path) as table:
        return _truths_of(table, motion)


def truths_in_text(data: bytes, name: str, motion: Motion) -> dict[int, str]:
    """The same, of a table that was sent as text."""
    with text_table(data, name) as table:
        return _truths_of(table, motion)


def tell(storage: Storage, stored: StoredMotion, labels: dict[int, str], source: str) -> str:
    """Store truths; returns what is doubtful about them, or nothing."""
    decisions = account(storage, stored).decisions
    storage.tell(stored.name, labels)
    if labels == {place: label for place, label in enumerate(decisions) if label is not None}:
        return (
            f"{source} holds exactly what the moot decided: agreement is not truth; if nobody has checked "
            "these labels, correct the file and tell it again"
        )
    return ""


def records_of(storage: Storage, stored: StoredMotion) -> dict[str, dict[str, Any]]:
    """The track records of the participants of a motion, by name."""
    return records_by_name(storage, dict(zip(stored.members, stored.names, strict=True)))


def records_by_name(storage: Storage, names: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The track records of participants; ``names`` are by fingerprint."""
    return {
        names[who]: {"right": record.right, "voted": record.voted, "accuracy": round(record.accuracy, 6)}
        for who, record in TrackRecords(storage).read().items()
        if who in names
    }


def check_truth(place: int, label: str, motion: Motion, where: str) -> str:
    """The label of the motion that is meant; ValueError if input or label is not of this motion."""
    if motion.answers == "numbers":
        raise ValueError(f"{where}: truths are labels, and this motion is about numbers")
    if not 0 <= place < motion.asked:
        raise ValueError(f"{where}: input must be 0 to {motion.asked - 1}: got {str(place)!r}")
    known = _known_label(label, motion.labels)
    if known is None:
        raise ValueError(f"{where}: label must be one of {shortened(motion.labels)}: got {label!r}")
    return known


def _truths_of(table: Table, motion: Motion) -> dict[int, str]:
    labels: dict[int, str] = {}
    columns = {name.lower(): name for name in table.columns}
    if "label" not in columns or ("input" not in columns and len(columns) > 1):
        raise ValueError(
            f"{table.path} must have the columns input,label or label: got {shortened(table.columns)!r:.40}; "
            "its first line names them"
        )
    numbered = "input" in columns
    wanted = [columns[name] for name in ("input", "label") if name in columns]
    for number, (line, cells) in enumerate(table.rows(wanted, blank=True)):
        if not cells[-1]:
            continue
        where, place = table.where(line), cells[0] if numbered else str(number)
        if not numbered and number >= motion.asked:
            raise ValueError(f"{where}: the motion has {motion.asked} inputs, and this is one label more")
        if not place.isdigit():
            raise ValueError(f"{where}: input must be 0 to {motion.asked - 1}: got {place!r}")
        label = check_truth(int(place), cells[-1], motion, where)
        if int(place) in labels:
            raise ValueError(f"{where}: input {place} has a truth already")
        labels[int(place)] = label
    if not labels:
        raise ValueError(f"{table.path} has a header and no truths")
    return labels


def _known_label(cell: str, known: tuple[str, ...]) -> str | None:
    """The label that a cell means: 3.0, as tables with missing values have it, is 3. None if it is none."""
    if cell in known:
        return cell
    try:
        (label,) = as_labels([float(cell)])
    except ValueError:
        return None
    return label if label in known else None
