"""How reports look: a table as plain text and as HTML, with a title above and notes below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

CONSENSUS: Final = "consensus"  # the line that all others are compared with
WITHOUT_TRUST: Final = "talk without trust"  # the same, with everybody asked alike


def as_text(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """First and last column to the left, the others to the right."""
    table = [header, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    lines = []
    for name, *middle, last in table:
        cells = [f"{cell:>{width}}" for cell, width in zip(middle, widths[1:-1], strict=True)]
        lines.append("  ".join([f"{name:<{widths[0]}}", *cells, last]).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join([title, "", *lines, "", *notes])


def as_html(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """For notebooks."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = "<br>".join(map(escape, notes))
    return f"<p>{escape(title)}</p><table><tr>{head}</tr>{body}</table><p>{below}</p>"


def who_is_not_honest(byzantine: Sequence[str], faulty: Mapping[str, str]) -> list[str]:
    """Notes about liars and about participants that failed."""
    lines = [f"faulty: {name!r}: {fault}" for name, fault in faulty.items()]
    if byzantine:
        lines.insert(0, f"{len(byzantine)} participants are Byzantine; mean and best are of the honest ones")
    return lines


def size(count: int) -> str:
    """A number of bytes as a person reads it."""
    value, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "bytes" else f"{value:.1f} {units[0]}"
