"""A table with a row for each group, alone and together: what tables of labels and of numbers share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from folkmoot.comparing.printing import as_text
from folkmoot.comparison.who.rows import SHOWN
from folkmoot.files.tabular import write_table, written
from folkmoot.pictures.notebook import titled

LEVEL: Final = 0.05  # below it a difference counts as seen


class Group(Protocol):
    """What every row has."""

    @property
    def rows(self) -> int: ...
    @property
    def alone(self) -> float: ...
    @property
    def together(self) -> float: ...
    @property
    def p_value(self) -> float: ...
    @property
    def verdict(self) -> str: ...


G = TypeVar("G", bound=Group)


@dataclass(frozen=True)
class GroupTable(ABC, Generic[G]):
    """A row for each group that has a participant and test rows, and all these at once."""

    rows: tuple[G, ...]
    overall: G | None
    strangers: int = 0

    header: ClassVar[tuple[str, ...]]
    test: ClassVar[str]

    @staticmethod
    @abstractmethod
    def show(row: Any) -> list[str]:
        """The cells of a row."""

    def to_list(self) -> list[dict[str, Any]]:
        """Make a list of plain dictionaries, for JSON."""
        rows: tuple[Any, ...] = self.rows
        return [asdict(row) for row in rows]

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV; no cell is taken for a formula."""
        rows = self.to_list()
        write_table(path, list(rows[0]) if rows else [], ([written(v) for v in row.values()] for row in rows))

    def brief(self, most: int = SHOWN) -> tuple[G, ...]:
        """Pick the rows to look at: all if they are few, else those with the clearest differences."""
        if len(self.rows) <= most:
            return self.rows
        order = sorted(range(len(self.rows)), key=lambda i: self.rows[i].p_value)
        return tuple(self.rows[i] for i in sorted(order[:most]))

    def cells(self, rows: Sequence[G] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people, with all rows at once in the last line."""
        chosen = [*(self.rows if rows is None else rows)]
        if self.overall is not None and len(self.rows) > 1:
            chosen.append(self.overall)
        return list(self.header), [self.show(row) for row in chosen]

    @property
    def summary(self) -> str:
        """One line: for how many groups it is worth it, for how many it is not."""
        whole = self.overall
        if whole is None:
            return self.notes(0, "")[0]
        better, worse = (
            sum(row.verdict == verdict for row in self.rows) for verdict in ("worth it", "better alone")
        )
        _, _, alone, together, *_ = self.show(whole)
        return (
            f"joining: worth it for {better} of {len(self.rows)} groups, {worse} better alone, no difference "
            f"seen for the others; {self.header[2]} {alone}, together {together} on "
            f"{whole.rows:,} rows (p = {whole.p_value:.2g})"
        )

    @property
    def title(self) -> str:
        """What is compared."""
        return "Is joining worth it? Each group's own model beside the moot, on that group's rows"

    def notes(self, shown: int, how: str) -> list[str]:
        """Which test it is, what a few small p mean, and what is not shown."""
        more = len(self.rows) - shown
        lines = [f"... and {more} more: {how}"] if more else []
        if not self.rows:
            return [
                f"none of the {self.strangers:,} test rows is of a participant's group, so nobody can be "
                "compared with itself: test on rows of the groups that take part (--test-rows 0.2)"
            ]
        lines.append(f"p: {self.test}")
        if len(self.rows) > 1:
            lines.append(
                f"of {len(self.rows)} groups, {len(self.rows) * LEVEL:.2g} would have p below {LEVEL} by "
                "chance alone"
            )
        if self.strangers:
            lines.append(f"{self.strangers:,} test rows are of no participant's group, and not counted")
        return lines

    def __str__(self) -> str:
        chosen = self.brief()
        return as_text(self.title, *self.cells(chosen), self.notes(len(chosen), "to_csv(path) writes all"))

    def _repr_html_(self) -> str:
        chosen = self.brief()
        return titled(self.title, *self.cells(chosen), self.notes(len(chosen), "to_csv(path) writes all"))
