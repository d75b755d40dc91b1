"""How reports look: a table as plain text and as HTML, with a title above and notes below."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from folkmoot.pictures.notebook import titled


class _Named(Protocol):
    @property
    def name(self) -> str: ...


L = TypeVar("L", bound=_Named)


class ReportTable(ABC, Generic[L]):
    """What has lines with names, a title and notes: as text with ``print``, as HTML in a notebook."""

    lines: tuple[L, ...]
    header: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def title(self) -> str:
        """Who talked about what."""

    @property
    @abstractmethod
    def notes(self) -> list[str]:
        """What else is to be known: cost, liars, faulty participants."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What stands above the lines."""
        return self.header

    @abstractmethod
    def _cells(self, line: L) -> tuple[str, ...]:
        """A line as the header says."""

    def line(self, name: str) -> L:
        """Look up the line of this name.

        Parameters
        ----------
        name : str
            The first cell of the line, such as "majority".

        Returns
        -------
        Line or NumberLine
            The line.

        Raises
        ------
        ValueError
            If there is none; the message says which there are.
        """
        found = next((line for line in self.lines if line.name == name), None)
        if found is None:
            names = ", ".join(line.name for line in self.lines)
            raise ValueError(f"name must be one of {names}: got {name!r}")
        return found

    def __str__(self) -> str:
        return as_text(self.title, self.columns, [self._cells(line) for line in self.lines], self.notes)

    def _repr_html_(self) -> str:
        return titled(self.title, self.columns, [self._cells(line) for line in self.lines], self.notes)


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


def who_is_not_honest(byzantine: Sequence[str], faulty: Mapping[str, str]) -> list[str]:
    """Notes about liars and about participants that failed."""
    lines = [f"faulty: {name!r}: {fault}" for name, fault in faulty.items()]
    if byzantine:
        lines.insert(0, f"{byzantine_in_words(len(byzantine))}; mean and best are of the honest ones")
    return lines


def byzantine_in_words(many: int) -> str:
    """How many lie."""
    return "1 participant is Byzantine" if many == 1 else f"{many} participants are Byzantine"


def plus_minus(error: float | None, digits: int = 4) -> str:
    """`` ± 0.0065`` behind a number; `` ± 0`` where nothing of it would be seen, nothing if there is none."""
    if error is None:
        return ""
    shown = f"{error:.{digits}f}"
    return f" ± {shown if float(shown) else 0}"


def times(count: int) -> str:
    """How often: once, or ``10 times``."""
    return "once" if count == 1 else f"{count:,} times"


def size(count: int) -> str:
    """A number of bytes as a person reads it."""
    value, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "bytes" else f"{value:.1f} {units[0]}"
