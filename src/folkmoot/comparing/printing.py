"""Reports as plain text: a table with a title above and notes below, and numbers with errors."""

from __future__ import annotations

from collections.abc import Sequence


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


def plus_minus(error: float | None, digits: int = 4) -> str:
    """`` ± 0.0065`` behind a number; `` ± 0`` where nothing of it would be seen, nothing if there is none."""
    if error is None:
        return ""
    shown = f"{error:.{digits}f}"
    return f" ± {shown if float(shown) else 0}"


def times(count: int) -> str:
    """A number of times: once, or ``10 times``."""
    return "once" if count == 1 else f"{count:,} times"


def size(count: int) -> str:
    """A number of bytes as a person reads it."""
    value, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "bytes" else f"{value:.1f} {units[0]}"
