"""A row for each participant: how good it is, how often it is with the answer, and what is odd about it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.comparison.printing import as_html, as_text
from folkmoot.comparison.who.findings import find_findings, interval
from folkmoot.tabular import write_table, written
from folkmoot.votes import UNCOLOURED, Votes

Role: TypeAlias = Literal["honest", "byzantine", "faulty"]
SHOWN: Final = 20  # rows that are printed of many


@dataclass(frozen=True)
class ParticipantRow:
    """One participant of a report, in numbers.

    Parameters
    ----------
    name : str
        Its name.
    role : {"honest", "byzantine", "faulty"}
        Whether it follows the protocol, lies, or could not answer.
    holdout : float or None
        The share of the labelled rows that it kept for itself, or of gold tasks, that it answers right; None
        without any.
    holdout_low : float or None
        The lower end of Wilson's 95% interval of ``holdout``.
    holdout_high : float or None
        Its upper end.
    held_out : int
        How many rows or gold tasks these are.
    accuracy : float or None
        The share of its votes on the inputs of the report that are right; None where the truth is not known.
    accuracy_low : float or None
        The lower end of Wilson's 95% interval of ``accuracy``.
    accuracy_high : float or None
        Its upper end.
    votes : int
        On how many inputs it handed in a vote.
    agreement : float or None
        The share of its votes that are the answer of the moot, where there is one.
    weight : float or None
        What its vote counts for by the median of the other participants that anchor, or by the protocol; 1
        where all are asked alike, None where nobody else anchors.
    changes : float or None
        On how many inputs it ended with another label than its first vote, per repetition; None for a liar.
    undecided : float or None
        On how many inputs it ended without a label, per repetition; None for a liar.
    finding : str
        What is odd about it, such as "always wrong (0 of 60 right)"; "" for nothing.

    Examples
    --------
    >>> from folkmoot import Slush, compare
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(5, p=0.8, inputs=200)
    >>> votes[4] = 1 - truth
    >>> row = compare(votes, Slush(4, 3), truth=truth).participant_table.rows[4]
    >>> row.accuracy, row.finding
    (0.0, 'always wrong (0 of 200 right)')
    """

    name: str
    role: Role
    holdout: float | None
    holdout_low: float | None
    holdout_high: float | None
    held_out: int
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    votes: int
    agreement: float | None
    weight: float | None
    changes: float | None
    undecided: float | None
    finding: str


COLUMNS: Final = tuple(field.name for field in fields(ParticipantRow))
_WORDS: Final = ("name", "role", "finding")


class ParticipantArray(np.recarray[Any, Any]):
    """The rows as a structured array, where pandas is not installed: a field for each column."""

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV."""
        rows = ([written(value) for value in row] for row in self.tolist())
        write_table(path, list(self.dtype.names or ()), rows)


@dataclass(frozen=True)
class ParticipantTable:
    """The participants of a report: print it, write it with ``to_csv``, or take ``frame()``.

    Parameters
    ----------
    rows : tuple of ParticipantRow
        A row for each participant.

    See Also
    --------
    describe_participants : Makes it of votes and an answer.

    Examples
    --------
    >>> from folkmoot import Slush, compare
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(5, p=0.8, inputs=200)
    >>> votes[4] = 0
    >>> print(compare(votes, Slush(4, 3), truth=truth).participant_table)
    5 participants, 1 with a finding
    <BLANKLINE>
    participant                  accuracy  agrees  changes  finding
    ---------------------------------------------------------------------------
    participant 0  0.760 (0.696 to 0.814)   0.785       43
    participant 1  0.805 (0.745 to 0.854)   0.850       30
    participant 2  0.825 (0.766 to 0.871)   0.810       38
    participant 3  0.800 (0.739 to 0.850)   0.805       39
    participant 4  0.500 (0.431 to 0.569)   0.555       89  constant (always 0)
    <BLANKLINE>
    """

    rows: tuple[ParticipantRow, ...]

    def frame(self) -> Any:
        """Make a pandas ``DataFrame`` of the rows; without pandas, a structured array that has ``to_csv``."""
        values = [tuple(asdict(row).values()) for row in self.rows]
        try:
            import pandas as pd
        except ImportError:
            numbers = [tuple(math.nan if value is None else value for value in row) for row in values]
            columns = zip(COLUMNS, zip(*numbers, strict=True), strict=True)
            kinds = [(name, np.array(column).dtype) for name, column in columns]
            return np.array(numbers, dtype=kinds).view(ParticipantArray)
        frame = pd.DataFrame(values, columns=list(COLUMNS))
        numbers_only = [name for name in COLUMNS if name not in _WORDS]
        return frame.astype({name: np.float64 for name in numbers_only if frame[name].dtype == object})

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV, empty cells for what is not known; no cell is taken for a formula."""
        write_table(path, COLUMNS, ([written(value) for value in asdict(row).values()] for row in self.rows))

    def to_list(self) -> list[dict[str, Any]]:
        """Make a list of plain dictionaries, for JSON."""
        return [asdict(row) for row in self.rows]

    @property
    def findings(self) -> dict[str, str]:
        """What is odd about whom, by name."""
        return {row.name: row.finding for row in self.rows if row.finding}

    def brief(self, most: int = SHOWN) -> tuple[ParticipantRow, ...]:
        """Pick the rows to look at: all if they are few, else those with findings, the best and the worst."""
        if len(self.rows) <= most:
            return self.rows
        odd = [i for i, row in enumerate(self.rows) if row.finding][: most - 6]
        order = sorted(range(len(self.rows)), key=lambda i: _merit(self.rows[i]))
        ends = [i for i in (*order[:3], *order[-3:]) if i not in odd]
        return tuple(self.rows[i] for i in sorted({*odd, *ends}))

    def cells(self, rows: Sequence[ParticipantRow] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people; a column that says nothing is left out."""
        chosen = self.rows if rows is None else rows
        kept = [(name, show) for name, show, tells in _SHOWN if any(map(tells, self.rows))]
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

    def __str__(self) -> str:
        chosen = self.brief()
        header, cells = self.cells(chosen)
        return as_text(self.title, header, cells, self.left_out(len(chosen), "to_csv(path) writes all"))

    def _repr_html_(self) -> str:
        chosen = self.brief()
        header, cells = self.cells(chosen)
        return as_html(self.title, header, cells, self.left_out(len(chosen), "to_csv(path) writes all"))


def describe_participants(
    seen: Votes,
    answer: Ints,
    *,
    names: Sequence[str],
    classes: int,
    truth: Ints | None = None,
    labels: Sequence[Any] | Array | None = None,
    holdout: tuple[Ints, Ints] | None = None,
    weight: Floats | None = None,
    changes: Floats | None = None,
    undecided: Floats | None = None,
    byzantine: Sequence[str] = (),
    faulty: Mapping[str, str] | None = None,
) -> ParticipantTable:
    """Make a row for each participant of its votes and of the answer that the moot came to.

    Parameters
    ----------
    seen : ndarray of int, shape (participant, input)
        The votes as they were handed in, -1 for none.
    answer : ndarray of int, shape (repetition, input) or (input,)
        What the moot answered, -1 where it decided nothing.
    names : sequence of str
        The participants' names.
    classes : int
        The number of colours.
    truth : ndarray of int, shape (input,), optional
        The right colours, -1 where not known. Default: none is known.
    labels : sequence, optional
        What the colours are called. Default: by their numbers.
    holdout : (right, total), optional
        How many of how many labelled rows of its own each answers right. Default: nobody has any.
    weight : ndarray of float, shape (participant,), optional
        What each one's vote counts for, nan if not known. Default: 1.
    changes : ndarray of float, shape (participant,), optional
        On how many inputs each changed its mind, nan if not known.
    undecided : ndarray of float, shape (participant,), optional
        On how many inputs each ended without a label, nan if not known.
    byzantine : sequence of str, optional
        The names of those who lie, where that is known.
    faulty : mapping of str to str, optional
        The names of those who could not answer, and why.

    Returns
    -------
    ParticipantTable
        A row each, with what was found.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparison.who import describe_participants
    >>> votes = np.tile([[0, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]], 10)
    >>> names = ["north", "south", "west"]
    >>> table = describe_participants(votes, votes[0], names=names, classes=2, truth=votes[0])
    >>> table.findings
    {'west': 'always wrong (0 of 40 right)'}
    """
    n = len(seen)
    answers = np.atleast_2d(answer)
    cast = seen != UNCOLOURED
    given = answers != UNCOLOURED
    compared = (cast[None] & given[:, None]).sum(axis=(0, 2)) / len(answers)
    agreed = ((seen[None] == answers[:, None]) & cast[None]).sum(axis=(0, 2)) / len(answers)
    kept_right, kept = (np.zeros(n), np.zeros(n)) if holdout is None else map(np.asarray, holdout)
    known = np.zeros(seen.shape[1], dtype=bool) if truth is None else truth != UNCOLOURED
    total = (cast & known).sum(axis=1)
    right = np.zeros(n) if truth is None else ((seen == truth) & cast & known).sum(axis=1)
    found = find_findings(
        seen,
        answers[0],
        truth if known.any() else None,
        np.where(total > 0, right, kept_right).astype(np.float64),
        np.where(total > 0, total, kept).astype(np.float64),
        agreed,
        compared,
        classes=classes,
        names=names,
        labels=labels,
    )
    faults = faulty or {}
    held = _shares(kept_right, kept)
    here = _shares(right, total)
    weights = np.ones(n) if weight is None else weight
    turned, open_ = (np.full(n, np.nan) if each is None else each for each in (changes, undecided))
    together = _shares(agreed, compared)[0]
    return ParticipantTable(
        tuple(
            ParticipantRow(
                name=str(names[i]),
                role="byzantine" if names[i] in byzantine else "faulty" if names[i] in faults else "honest",
                holdout=_known(held[0][i]),
                holdout_low=_known(held[1][i]),
                holdout_high=_known(held[2][i]),
                held_out=int(kept[i]),
                accuracy=_known(here[0][i]),
                accuracy_low=_known(here[1][i]),
                accuracy_high=_known(here[2][i]),
                votes=int(cast[i].sum()),
                agreement=_known(together[i]),
                weight=_known(weights[i]),
                changes=_known(turned[i]),
                undecided=_known(open_[i]),
                finding=f"faulty: {faults[names[i]]}" if names[i] in faults else found[i],
            )
            for i in range(n)
        )
    )


def _shares(part: Any, whole: Any) -> tuple[Floats, Floats, Floats]:
    """A share and its interval, nan where nothing was counted."""
    good, all_of_them = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    share = np.where(all_of_them > 0, good / np.maximum(all_of_them, 1e-300), np.nan)
    return (share, *interval(good, all_of_them))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _merit(row: ParticipantRow) -> float:
    """What the best and the worst are told by: accuracy here, or on the holdout, or agreement."""
    each = (row.accuracy, row.holdout, row.agreement)
    return next((value for value in each if value is not None), -1.0)


def _ranged(share: float | None, low: float | None, high: float | None) -> str:
    return "-" if share is None else f"{share:.3f} ({low:.3f} to {high:.3f})"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


# Header, how a cell looks, and whether it tells anything.
_SHOWN: Final = (
    ("participant", lambda row: row.name, lambda row: bool(row.name)),
    ("role", lambda row: row.role, lambda row: row.role != "honest"),
    (
        "holdout",
        lambda row: _ranged(row.holdout, row.holdout_low, row.holdout_high),
        lambda row: row.holdout is not None,
    ),
    (
        "accuracy",
        lambda row: _ranged(row.accuracy, row.accuracy_low, row.accuracy_high),
        lambda row: row.accuracy is not None,
    ),
    ("agrees", lambda row: _share(row.agreement), lambda row: row.agreement is not None),
    ("weight", lambda row: _count(row.weight), lambda row: row.weight != 1.0),
    ("changes", lambda row: _count(row.changes), lambda row: row.changes is not None),
    ("undecided", lambda row: _count(row.undecided), lambda row: bool(row.undecided)),
    ("finding", lambda row: row.finding, lambda row: row.finding is not None),
)
