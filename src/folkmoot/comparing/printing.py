"""Reports as plain text: a table with a title above and notes below, and numbers with errors."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

from folkmoot.files.tabular import write_table, written
from folkmoot.pictures.notebook import titled

# Title, header, rows of cells, notes.
PlainTable: TypeAlias = tuple[str, Sequence[str], Sequence[Sequence[str]], Sequence[str]]


class Printed(ABC):
    """A result that prints as a table, and shows as one in a notebook."""

    @abstractmethod
    def _as_table(self) -> PlainTable:
        """The table."""

    def __str__(self) -> str:
        return as_text(*self._as_table())

    def _repr_html_(self) -> str:
        return titled(*self._as_table())


class RowTable(Printed):
    """A row for each of many, which prints those to look at; ``to_csv`` writes all."""

    rows: tuple[Any, ...]

    @property
    @abstractmethod
    def title(self) -> str:
        """The title above the rows."""

    @abstractmethod
    def to_list(self) -> list[dict[str, Any]]:
        """Make a list of plain dictionaries, for JSON."""

    @abstractmethod
    def brief(self) -> tuple[Any, ...]:
        """Pick the rows to look at."""

    @abstractmethod
    def cells(self, rows: Sequence[Any] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people."""

    def notes(self, shown: int, how: str) -> list[str]:
        """One line if not all are shown: how to see the others."""
        more = len(self.rows) - shown
        return [f"... and {more} more: {how}"] if more else []

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV, empty cells for what is not known; no cell is taken for a formula."""
        rows = self.to_list()
        write_table(path, [*rows[0]] if rows else [], ([written(v) for v in row.values()] for row in rows))

    def _as_table(self) -> PlainTable:
        chosen = self.brief()
        return self.title, *self.cells(chosen), self.notes(len(chosen), "to_csv(path) writes all")


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
