"""Truths that people tell a node about a motion afterwards: labels by input, or a table of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from folkmoot.files.tabular import Table, shortened, text_table
from folkmoot.models.labels import as_labels
from folkmoot.node.session.header import Header

MOST_BYTES: Final = 1 << 26  # of a table


def checked_truths(truths: Mapping[int, str], header: Header) -> dict[int, str]:
    """The labels of the motion that are meant; ValueError if one, or an input, is not of this motion."""
    if not truths:
        raise ValueError("truths must be told of one input at least: got none")
    return {place: _truth(place, label, header, f"input {place}") for place, label in truths.items()}


def truths_in(data: bytes, name: str, header: Header) -> dict[int, str]:
    """The label of each input that a table names; where a label is blank, it is unknown.

    A table of ``--out`` with its labels put right can be told as it is: other columns are not looked at.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"{name} must have at most {MOST_BYTES:,} bytes: got {len(data):,}")
    with text_table(data, name) as table:
        return _truths_of(table, header)


def _truths_of(table: Table, header: Header) -> dict[int, str]:
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
        if not numbered and number >= header.asked:
            raise ValueError(f"{where}: the motion has {header.asked} inputs, and this is one label more")
        if not (place.isascii() and place.isdigit()) or len(place) > 9:
            raise ValueError(f"{where}: input must be 0 to {header.asked - 1}: got {place!r:.40}")
        label = _truth(int(place), cells[-1], header, where)
        if int(place) in labels:
            raise ValueError(f"{where}: input {place} has a truth already")
        labels[int(place)] = label
    if not labels:
        raise ValueError(f"{table.path} has a header and no truths")
    return labels


def _truth(place: int, label: str, header: Header, where: str) -> str:
    if header.invites:
        raise ValueError(f"{where}: truths are of inputs, and this motion only invites validation rows")
    if header.terms.answers in ("numbers", "text"):
        raise ValueError(f"{where}: truths are labels, and this motion is about {header.terms.answers}")
    if not 0 <= place < header.asked:
        raise ValueError(f"{where}: input must be 0 to {header.asked - 1}: got {place}")
    known = _known(label, header.terms.labels)
    if known is None:
        raise ValueError(f"{where}: label must be one of {shortened(header.terms.labels)}: got {label!r:.80}")
    return known


def _known(cell: str, known: tuple[str, ...]) -> str | None:
    """The label that a cell means: 3.0, as tables with missing values have it, is 3. None if it is none."""
    if cell in known:
        return cell
    try:
        (label,) = as_labels([float(cell)])
    except ValueError:
        return None
    return label if label in known else None
