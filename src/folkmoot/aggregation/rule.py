"""Rules of aggregation of numbers: m numbers for an input become one.

A rule is pure and knows no order. The bits of a result depend on the m numbers alone, never on what else is
combined in the same call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.aggregation.interface import NOTHING, Aggregation, Answers, Kind, Known
from folkmoot.aggregation.patterns import patterns
from folkmoot.arrays import Array, Floats

# Numbers above are refused: squares and sums of smaller ones stay finite.
LARGEST: Final = 1e100
# Numbers combined at once (8 MiB): a million inputs need no more memory than a thousand.
_BLOCK = 1 << 20


class Rule(Aggregation):
    """A rule of aggregation: how m numbers become one.

    A subclass combines one block of numbers; shapes and checks are dealt with here. ``RULES`` has all rules
    by name.

    Examples
    --------
    >>> from folkmoot.aggregation.naming import RULES
    >>> rule = RULES["median"]()
    >>> rule.combine([[0.1], [0.3], [9.0]])
    array([0.3])
    """

    takes: ClassVar[tuple[Kind, ...]] = ("numbers",)

    def aggregate(self, table: Array, known: Known = NOTHING) -> Answers:  # noqa: ARG002
        """Combine the numbers of those who gave one, input by input; NaN where nobody did."""
        values = table[:, :, None] if table.ndim == 2 else table
        result = np.full(values.shape[1:], np.nan)
        for who, where in patterns(np.asarray(~np.isnan(values).any(axis=2), dtype=np.bool_)):
            result[where] = self.combine(np.moveaxis(values[np.ix_(who, where)], 0, 1))
        return Answers(decision=result[:, 0] if table.ndim == 2 else result)

    def check(self, m: int) -> None:
        """Refuse a number m of values that the rule cannot combine."""

    @abstractmethod
    def _combine(self, block: Floats) -> Floats:
        """(row, m, d) to (row, d); every row by itself."""

    def combine(self, values: npt.ArrayLike) -> Floats:
        """One number of m, each of d coordinates: ``values`` of shape (..., m, d) to (..., d)."""
        array = np.asarray(values, dtype=np.float64)
        if array.ndim < 2 or 0 in array.shape[-2:]:
            raise ValueError(
                f"values must have the shape (..., m, d), m, d >= 1: got the shape {array.shape}"
            )
        m, d = array.shape[-2:]
        self.check(m)
        rows = array.reshape(-1, m, d)
        result = np.empty((len(rows), d))
        size = max(1, _BLOCK // (m * d))
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            if not (np.abs(block) <= LARGEST).all():  # NaN is not, either
                raise ValueError(f"values must be numbers within -{LARGEST:g}..{LARGEST:g}: got others")
            result[start : start + size] = self._combine(block)
        return result.reshape(*array.shape[:-2], d)


@dataclass(frozen=True)
class Trimming(Rule, ABC):
    """A rule that is told how many liars among the m values it must withstand.

    Participants can agree on a table of numbers among liars if and only if m > 3 liars (Lamport, Shostak and
    Pease, "The Byzantine generals problem", 1982).

    Parameters
    ----------
    liars : int, optional
        How many liars to withstand; 2 liars < m. Without it, the largest number that is always safe:
        floor((m - 1) / 3).

    Examples
    --------
    >>> from folkmoot.aggregation import TrimmedMean
    >>> TrimmedMean().trimmed(10)
    3
    >>> TrimmedMean(liars=4).trimmed(10)
    4
    """

    liars: int | None = None

    def __post_init__(self) -> None:
        if self.liars is not None:
            object.__setattr__(self, "liars", checks.integer("liars", self.liars, least=0))

    def check(self, m: int) -> None:
        """At least one value must be left: 2 liars < m."""
        if self.liars is not None and not 2 * self.liars < m:
            raise ValueError(
                f"liars must satisfy 2 liars < m, the values held: got liars={self.liars}, m={m}"
            )

    def trimmed(self, m: int) -> int:
        """The number of liars among m values that the rule stands against."""
        self.check(m)
        return (m - 1) // 3 if self.liars is None else self.liars


def added(terms: Array) -> Floats:
    """The sum over axis 1, one term after the other: numpy's own order depends on the shape."""
    total = np.array(terms[:, 0], dtype=np.float64)
    for j in range(1, terms.shape[1]):
        total += terms[:, j]
    return total


def arranged(block: Floats) -> Floats:
    """The values of each row sorted by their first coordinate, then the second, and so on."""
    order = np.lexsort(np.moveaxis(block, 2, 0)[::-1], axis=-1)
    return np.take_along_axis(block, order[:, :, None], axis=1)


def squared_distances(block: Floats, to: Floats) -> Floats:
    """(row, m): from each of the values to the row's point."""
    return added(np.moveaxis((block - to[:, None]) ** 2, 2, 1))
