"""Of a moot on numbers: how far each participant is off, and which groups gain by joining."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, NamedTuple

import numpy as np

from folkmoot.arrays import Array, Floats
from folkmoot.comparison.who import Joined, compare_alone
from folkmoot.learning.participants import Participant
from folkmoot.tabular import write_table, written

_SHOWN: Final = 20  # rows that are printed of many


class Shown(NamedTuple):
    """A table for people."""

    header: list[str]
    cells: list[list[str]]
    notes: list[str]


@dataclass(frozen=True)
class NumberParticipant:
    """One participant: its rows, its error on those it held out and on the test rows, and what it leans to.

    ``distance`` is how far its numbers are from what is agreed on, ``bias`` how far they are above the truth
    on average; None where it could not answer.
    """

    name: str
    rows: int
    held_out: int
    holdout_error: float | None
    error: float | None
    bias: float | None
    distance: float | None
    finding: str


@dataclass(frozen=True)
class NumberParticipants:
    """A row for each participant; to print, or to write with ``to_csv``."""

    rows: tuple[NumberParticipant, ...]

    @property
    def title(self) -> str:
        """How many there are, and how many are odd."""
        odd = sum(bool(row.finding) for row in self.rows)
        return f"{len(self.rows)} participants" + (f", {odd} with a finding" if odd else "")

    def brief(self, most: int = _SHOWN) -> tuple[NumberParticipant, ...]:
        """All if they are few, else those with findings, the best and the worst."""
        if len(self.rows) <= most:
            return self.rows
        order = sorted(
            range(len(self.rows)), key=lambda i: (self.rows[i].error is None, self.rows[i].error or 0)
        )
        odd = [i for i, row in enumerate(self.rows) if row.finding][: most - 6]
        return tuple(self.rows[i] for i in sorted({*odd, *order[:3], *order[-3:]}))

    def shown(self, how: str, *, whole: bool = False) -> Shown:
        """What is printed: all, if they are few or ``whole``; ``how`` says how to see the others."""
        chosen = self.rows if whole else self.brief()
        return Shown(*self.cells(chosen), self.notes(len(chosen), how))

    def cells(self, rows: Sequence[NumberParticipant] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people."""
        header = ["participant", "rows", "holdout error", "error", "bias", "from the answer", "finding"]
        return header, [
            [
                row.name, str(row.rows), _short(row.holdout_error), _short(row.error), _short(row.bias),
                _short(row.distance), row.finding,
            ]
            for row in (self.rows if rows is None else rows)
        ]  # fmt: skip

    def notes(self, shown: int, how: str) -> list[str]:
        """What the columns are, and what is not shown."""
        more = len(self.rows) - shown
        return [
            *([f"... and {more} more: {how}"] if more else []),
            "errors: root mean squares, on rows that it kept for itself and on the test rows; bias: its mean "
            "error; from the answer: root mean square",
        ]

    def to_list(self) -> list[dict[str, Any]]:
        """Plain dictionaries, for JSON."""
        return [asdict(row) for row in self.rows]

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV; no cell is taken for a formula."""
        columns = [field.name for field in fields(NumberParticipant)]
        write_table(path, columns, ([written(value) for value in asdict(row).values()] for row in self.rows))


@dataclass(frozen=True)
class NumberJoined:
    """One group alone and together: errors on its own test rows, and on how many the moot is nearer."""

    group: str
    rows: int
    alone: float
    together: float
    nearer: int
    farther: int
    p_value: float
    verdict: str


@dataclass(frozen=True)
class NumberJoining:
    """Each group alone and together, all of them at once, and how many test rows are of no participant."""

    rows: tuple[NumberJoined, ...]
    overall: NumberJoined | None
    strangers: int

    @property
    def title(self) -> str:
        """What is compared."""
        return "Is joining worth it? Each group's own model beside the moot, on that group's rows"

    def brief(self, most: int = _SHOWN) -> tuple[NumberJoined, ...]:
        """All if they are few, else those with the clearest differences."""
        order = sorted(range(len(self.rows)), key=lambda i: self.rows[i].p_value)
        return tuple(self.rows[i] for i in sorted(order[:most]))

    def shown(self, how: str, *, whole: bool = False) -> Shown:
        """What is printed: all, if they are few or ``whole``; ``how`` says how to see the others."""
        chosen = self.rows if whole else self.brief()
        return Shown(*self.cells(chosen), self.notes(len(chosen), how))

    def cells(self, rows: Sequence[NumberJoined] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people, with all rows at once in the last line."""
        chosen = [*(self.rows if rows is None else rows)]
        if self.overall is not None and len(self.rows) > 1:
            chosen.append(self.overall)
        header = ["group", "rows", "error alone", "together", "nearer", "farther", "p", "verdict"]
        return header, [
            [
                row.group, str(row.rows), _short(row.alone), _short(row.together), str(row.nearer),
                str(row.farther), f"{row.p_value:.2g}", row.verdict,
            ]
            for row in chosen
        ]  # fmt: skip

    def notes(self, shown: int, how: str) -> list[str]:
        """Which test it is, and what is not shown."""
        if not self.rows:
            return [
                "none of the test rows is of a participant's group, so nobody can be compared with itself: "
                "test on rows of the groups that take part (--test-rows 0.2)"
            ]
        more = len(self.rows) - shown
        return [
            *([f"... and {more} more: {how}"] if more else []),
            "p: the exact sign test, two-sided, of rows on which the moot is nearer to the truth than the "
            "group's own model, and of those on which it is farther",
        ]

    def to_list(self) -> list[dict[str, Any]]:
        """Plain dictionaries, for JSON."""
        return [asdict(row) for row in self.rows]


def describe_numbers(
    participants: Sequence[Participant], alone: Floats, agreed: Floats, truth: Floats
) -> NumberParticipants:
    """A row for each participant of its numbers (participant, row), what is agreed on, and the truth."""
    rows = []
    constant = float(np.sqrt(np.mean((truth - truth.mean()) ** 2)))
    for participant, own in zip(participants, alone, strict=True):
        faulty = not np.isfinite(own).all()
        error = None if faulty else _root(own - truth)
        finding = "could not answer" if faulty else ""
        if error is not None and error > constant:
            finding = f"worse than a constant ({_short(constant)})"
        squared = participant.squared_error
        rows.append(
            NumberParticipant(
                participant.name,
                participant.rows,
                participant.held_out,
                None if np.isnan(squared) else float(np.sqrt(squared)),
                error,
                None if faulty else float(np.mean(own - truth)),
                None if faulty else _root(own - agreed),
                finding,
            )
        )
    return NumberParticipants(tuple(rows))


def compare_numbers_alone(
    alone: Floats, agreed: Floats, truth: Floats, groups: Array | None, names: Sequence[str]
) -> NumberJoining:
    """Each group's own numbers beside what is agreed on, by which of the two is nearer to the truth."""
    if groups is None:
        return NumberJoining((), None, len(truth))
    own, moot = np.abs(alone - truth), np.abs(agreed - truth)
    whose = np.array([str(group) for group in groups.tolist()])
    place = {name: i for i, name in enumerate(names)}
    mine = np.array([own[place[name], row] if name in place else np.nan for row, name in enumerate(whose)])
    # The same test as of labels: a row is right for whom is nearer.
    found = compare_alone(np.tile(mine < moot, (len(names), 1)), moot < mine, whose, names)

    def joined(each: Joined, here: Any) -> NumberJoined:
        return NumberJoined(
            each.group, each.rows, _root(mine[here]), _root(moot[here]), each.gained, each.lost, each.p_value,
            each.verdict,
        )  # fmt: skip

    counted = np.array([name in place for name in whose], dtype=bool)
    return NumberJoining(
        tuple(joined(each, whose == each.group) for each in found.rows),
        None if found.overall is None else joined(found.overall, counted),
        found.strangers,
    )


def _root(numbers: Floats) -> float:
    return float(np.sqrt(np.mean(numbers**2)))


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
