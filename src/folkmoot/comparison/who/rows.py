"""A table with a row for each participant, whatever the rows hold: a data frame, CSV, and text for people."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from folkmoot.comparing.printing import as_text
from folkmoot.files.tabular import write_table, written
from folkmoot.pictures.notebook import titled

SHOWN: Final = 20  # rows that are printed of many
_ENDS: Final = 3  # of the best and of the worst


class Row(Protocol):
    """What every row has."""

    @property
    def name(self) -> str: ...
    @property
    def finding(self) -> str: ...


R = TypeVar("R", bound=Row)
# Header, how a cell looks, and whether it tells anything.
Column: TypeAlias = tuple[str, Callable[[Any], str], Callable[[Any], bool]]


class ParticipantArray(np.recarray[Any, Any]):
    """The rows as a structured array, where pandas is not installed: a field for each column."""

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV."""
        rows = ([written(value) for value in row] for row in self.tolist())
        write_table(path, list(self.dtype.names or ()), rows)


@dataclass(frozen=True)
class RowTable(ABC, Generic[R]):
    """Rows of participants: print it, write it with ``to_csv``, or take ``frame()``."""

    rows: tuple[R, ...]

    @classmethod
    @abstractmethod
    def columns(cls) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @classmethod
    @abstractmethod
    def shown(cls) -> tuple[Column, ...]:
        """The columns for people."""

    @staticmethod
    @abstractmethod
    def merit(row: Any) -> float:
        """What the best and the worst are told by: more is better."""

    def frame(self) -> Any:
        """Make a pandas ``DataFrame`` of the rows; without pandas, a structured array that has ``to_csv``."""
        names = self.columns()
        values = [tuple(row.values()) for row in self.to_list()]
        try:
            import pandas as pd
        except ImportError:
            numbers = [tuple(math.nan if value is None else value for value in row) for row in values]
            columns = zip(names, zip(*numbers, strict=True), strict=True)
            kinds = [(name, np.array(column).dtype) for name, column in columns]
            return np.array(numbers, dtype=kinds).view(ParticipantArray)
        frame = pd.DataFrame(values, columns=list(names))
        # A column of None alone would be one of objects.
        numeric = [name for name in names if not any(isinstance(value, str) for value in frame[name])]
        return frame.astype({name: np.float64 for name in numeric if frame[name].dtype == object})

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV, empty cells for what is not known; no cell is taken for a formula."""
        write_table(path, self.columns(), ([written(v) for v in row.values()] for row in self.to_list()))

    def to_list(self) -> list[dict[str, Any]]:
        """Make a list of plain dictionaries, for JSON."""
        rows: tuple[Any, ...] = self.rows
        return [asdict(row) for row in rows]

    @property
    def findings(self) -> dict[str, str]:
        """What is odd about whom, by name."""
        return {row.name: row.finding for row in self.rows if row.finding}

    def brief(self, most: int = SHOWN) -> tuple[R, ...]:
        """Pick the rows to look at: all if they are few, else those with findings, the best and the worst."""
        if len(self.rows) <= most:
            return self.rows
        odd = [i for i, row in enumerate(self.rows) if row.finding][: most - 2 * _ENDS]
        order = sorted(range(len(self.rows)), key=lambda i: self.merit(self.rows[i]))
        return tuple(self.rows[i] for i in sorted({*odd, *order[:_ENDS], *order[-_ENDS:]}))

    def cells(self, rows: Sequence[R] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people; a column that says nothing is left out."""
        chosen = self.rows if rows is None else rows
        kept = [(name, show) for name, show, tells in self.shown() if any(map(tells, self.rows))]
        return [name for name, _ in kept], [[show(row) for _, show in kept] for row in chosen]

    @property
    def title(self) -> str:
        """How many there are, and how many are odd."""
        odd = len(self.findings)
        what = "" if not odd else f", {odd} with a finding"
        return f"{len(self.rows)} participants{what}"

    def left_out(self, shown: int, how: str) -> list[str]:
        """One line if not all are shown: how to see the others."""
        more = len(self.rows) - shown
        return [f"... and {more} more: {how}"] if more else []

    def about(self, but: Sequence[str] = ()) -> list[str]:
        """One line that names the first who are odd, but for some; nothing if nobody is."""
        found = {name: what for name, what in self.findings.items() if name not in but}
        if not found:
            return []
        some = "; ".join(f"{name!r}: {what}" for name, what in [*found.items()][:_ENDS])
        more = f"; and {len(found) - _ENDS} more" if len(found) > _ENDS else ""
        return [f"odd: {some}{more} (participant_table)"]

    def __str__(self) -> str:
        chosen = self.brief()
        return as_text(self.title, *self.cells(chosen), self.left_out(len(chosen), "to_csv(path) writes all"))

    def _repr_html_(self) -> str:
        chosen = self.brief()
        return titled(self.title, *self.cells(chosen), self.left_out(len(chosen), "to_csv(path) writes all"))


def share(value: float | None) -> str:
    """A share in a cell."""
    return "-" if value is None else f"{value:.3f}"


def count(value: float | None) -> str:
    """A number in a cell."""
    return "-" if value is None else f"{value:.4g}"


def known(value: float) -> float | None:
    """The number, None for nan."""
    return None if math.isnan(value) else float(value)
