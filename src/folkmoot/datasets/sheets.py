"""A table in memory: its cells, where each row stands in the file, and which cells say nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from folkmoot.files.tabular import Row, Table, opened, shortened

MISSING: Final = frozenset({"", "na", "n/a", "nan", "?", "null", "none"})


class Sheet(NamedTuple):
    """The rows of a file, read."""

    table: Table
    rows: list[Row]

    @property
    def path(self) -> Path:
        """The file."""
        return self.table.path

    @property
    def columns(self) -> list[str]:
        """The names in its first line."""
        return self.table.columns

    @property
    def lines(self) -> list[int]:
        """The line of each row in the file."""
        return [line for line, _ in self.rows]

    def column(self, name: str) -> list[str]:
        """The cells of a column."""
        place = self.columns.index(name)
        return [cells[place] for _, cells in self.rows]

    def where(self, row: int) -> str:
        """The beginning of a message about a row."""
        return self.table.where(self.rows[row][0])

    def number(self, cell: str) -> float | None:
        """The finite number in a cell."""
        value = self.table.number(cell)
        return None if value is None or not math.isfinite(value) else value

    def plain(self, label: str) -> float | str:
        """The key of a label: its value, or its text if it has none."""
        value = self.number(label)
        return label if value is None else value

    def filled(self, name: str, what: str) -> list[str]:
        """A column in which nothing may be missing."""
        cells = self.column(name)
        bad = next((i for i, cell in enumerate(cells) if not cell), None)
        if bad is not None:
            raise ValueError(f"{self.where(bad)}: {name} is empty; it must say {what}, or the row must go")
        return cells


def read_sheet(source: Any, wanted: Sequence[str]) -> Sheet:
    """The cells of a file or data frame.

    The first line of a file is a header if it has the columns wanted, or no numbers.
    """
    with opened(source) as table:
        if any(name not in table.columns for name in wanted) and any(
            table.number(name) is not None for name in table.columns
        ):
            raise ValueError(
                f"{table.path} has no header: its first line is {shortened(table.columns)}; "
                "expected the names of the columns"
            )
        return Sheet(table, list(table.rows()))
