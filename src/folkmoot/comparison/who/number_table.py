"""A row for each participant where numbers are agreed on: how far off it is, and what is odd about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, Protocol

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.comparison.who.rows import Column, RowTable, count, known
from folkmoot.comparison.who.table import Role
from folkmoot.trust.camps import COPY

_LEAST_INPUTS: Final = 20  # below it equal or constant numbers say nothing
_EQUAL: Final = 1e-9  # of the spread of the answers: numbers that differ by less are the same


class Measured(Protocol):
    """What is known of a participant's model."""

    @property
    def rows(self) -> int: ...
    @property
    def held_out(self) -> int: ...
    @property
    def squared_error(self) -> float: ...


@dataclass(frozen=True)
class NumberRow:
    """One participant of a report on numbers.

    Parameters
    ----------
    name : str
        Its name.
    role : {"honest", "byzantine", "faulty"}
        Whether it follows the protocol, lies, or could not answer.
    rows : int
        How many rows its model was fitted on, as far as is known.
    held_out : int
        How many rows it kept for itself.
    holdout_error : float or None
        The root mean squared error of its model on the rows that it kept for itself; None without any.
    error : float or None
        That of the numbers it handed in on the inputs of the report.
    r2 : float or None
        The share of the variance of the truth that they explain, below 0 if a constant would do better.
    bias : float or None
        By how much they are too high, on average.
    distance : float or None
        How far they are from the answer of the moot, as a root mean square.
    finding : str
        What is odd about it: "worse than a constant", "constant", "copies NAME"; "" for nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparison.who import describe_numbers
    >>> truth = np.arange(30.0)[:, None]
    >>> sent = np.stack([truth + 1, truth - 1, -truth])
    >>> describe_numbers(sent, truth, truth, names=["north", "south", "west"]).rows[2].finding
    'worse than a constant (R2 -14)'
    """

    name: str
    role: Role
    rows: int
    held_out: int
    holdout_error: float | None
    error: float | None
    r2: float | None
    bias: float | None
    distance: float | None
    finding: str


@dataclass(frozen=True)
class NumberTable(RowTable[NumberRow]):
    """The participants of a report on numbers: print it, write it with ``to_csv``, or take ``frame()``.

    Parameters
    ----------
    rows : tuple of NumberRow
        A row for each participant.

    See Also
    --------
    describe_numbers : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparison.who import describe_numbers
    >>> truth = np.arange(30.0)[:, None]
    >>> table = describe_numbers(np.stack([truth + 1, truth * 0 + 3]), truth, truth, names=["north", "west"])
    >>> table.findings
    {'west': 'constant (3)'}
    """

    rows: tuple[NumberRow, ...]

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(field.name for field in fields(NumberRow))

    @classmethod
    def shown(cls) -> tuple[Column, ...]:
        """The columns for people."""
        return _SHOWN

    @staticmethod
    def merit(row: NumberRow) -> float:
        """The smaller the error, the better."""
        return -np.inf if row.error is None else -row.error


def describe_numbers(
    sent: Floats,
    answer: Floats,
    truth: Floats,
    *,
    names: Sequence[str],
    people: Sequence[Measured] | None = None,
    byzantine: Sequence[str] = (),
    faulty: Mapping[str, str] | None = None,
) -> NumberTable:
    """Make a row for each participant of its numbers and of the answer that the moot came to.

    Parameters
    ----------
    sent : ndarray of float, shape (participant, input, output)
        The numbers as they were handed in, nan for none, of those who could answer.
    answer : ndarray of float, shape (input, output)
        What the moot agreed on.
    truth : ndarray of float, shape (input, output)
        The right numbers.
    names : sequence of str
        The names of those who could answer.
    people : sequence, optional
        For each of them an object with ``rows``, ``held_out`` and ``squared_error``, as the participants of
        an estimator have them. Default: that is not known.
    byzantine : sequence of str, optional
        The names of those who lie, where that is known.
    faulty : mapping of str to str, optional
        The names of those who could not answer, and why; they have rows of their own, the last.

    Returns
    -------
    NumberTable
        A row each, with what was found.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparison.who import describe_numbers
    >>> truth = np.arange(30.0)[:, None]
    >>> table = describe_numbers(np.stack([truth, truth + 2.0]), truth, truth, names=["north", "south"])
    >>> [(row.name, row.error, row.distance) for row in table.rows]
    [('north', 0.0, 0.0), ('south', 2.0, 2.0)]
    """
    spread = float(np.abs(answer - np.median(answer, axis=0)).mean()) or 1.0
    around = float(((truth - truth.mean(axis=0)) ** 2).mean())
    rows = []
    for i, name in enumerate(names):
        squared = _mean_square(sent[i] - truth)
        r2 = 1 - squared / around if around else np.nan
        own = None if people is None else people[i]
        wrong = (sent[i] - truth)[~np.isnan(sent[i])]
        rows.append(
            NumberRow(
                name=str(name),
                role="byzantine" if name in byzantine else "honest",
                rows=0 if own is None else own.rows,
                held_out=0 if own is None else own.held_out,
                holdout_error=None if own is None else known(float(np.sqrt(own.squared_error))),
                error=known(float(np.sqrt(squared))),
                r2=known(r2),
                bias=float(wrong.mean()) if wrong.size else None,
                distance=known(float(np.sqrt(_mean_square(sent[i] - answer)))),
                finding=_finding(sent, i, names, r2, spread),
            )
        )
    rows += [
        NumberRow(name, "faulty", 0, 0, None, None, None, None, None, f"faulty: {why}")
        for name, why in (faulty or {}).items()
    ]
    return NumberTable(tuple(rows))


def _finding(sent: Floats, i: int, names: Sequence[str], r2: float, spread: float) -> str:
    own = sent[i]
    if np.isnan(own).all() or len(own) < _LEAST_INPUTS:
        return ""
    if np.nanmax(np.abs(own - np.nanmedian(own, axis=0))) <= _EQUAL * spread:
        return f"constant ({', '.join(f'{value:.4g}' for value in np.nanmedian(own, axis=0))})"
    for j in range(i):
        same = (np.abs(own - sent[j]) <= _EQUAL * spread).all(axis=1)
        if same.mean() >= COPY:
            return f"copies {names[j]}"
    return f"worse than a constant (R2 {r2:.2g})" if r2 < 0 else ""


def _mean_square(values: Floats) -> float:
    """The mean of the squares of what is there; nan if nothing is."""
    there = values[~np.isnan(values)]
    return float((there**2).mean()) if there.size else float("nan")


_SHOWN: Final[tuple[Column, ...]] = (
    ("participant", lambda row: row.name, lambda row: bool(row.name)),
    ("role", lambda row: row.role, lambda row: row.role != "honest"),
    ("rows", lambda row: str(row.rows), lambda row: row.rows > 0),
    ("holdout error", lambda row: count(row.holdout_error), lambda row: row.holdout_error is not None),
    ("error", lambda row: count(row.error), lambda row: row.error is not None),
    ("R2", lambda row: count(row.r2), lambda row: row.r2 is not None),
    ("bias", lambda row: count(row.bias), lambda row: row.bias is not None),
    ("from the answer", lambda row: count(row.distance), lambda row: row.distance is not None),
    ("finding", lambda row: row.finding, lambda row: row.finding is not None),
)
