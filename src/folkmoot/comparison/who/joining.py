"""Is joining worth it: each group's own model beside the moot, on the same rows of that group.

The rows are the pairs. Only those on which one of the two is right and the other wrong tell anything:
McNemar's exact test asks how likely so uneven a split of them would be if a coin had decided each.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

import numpy as np

from folkmoot.arrays import Array, Bools
from folkmoot.comparison.printing import as_html, as_text
from folkmoot.comparison.who.rows import SHOWN
from folkmoot.tabular import write_table, written

TEST: Final = "McNemar's exact test, two-sided, on the rows that only one of the two has right"
_LEVEL: Final = 0.05


@dataclass(frozen=True)
class Joined:
    """One group alone and together, on its own rows.

    Parameters
    ----------
    group : str
        Its name.
    rows : int
        How many rows of it there are.
    alone : float
        The share of them that its own model answers right.
    together : float
        The share of them that the moot answers right.
    gained : int
        How many the moot has right and its own model has not.
    lost : int
        How many its own model has right and the moot has not.
    p_value : float
        How likely so uneven a split, or a more uneven one, would be if joining changed nothing.
    verdict : str
        "worth it", "better alone", or "no difference seen", at p below 0.05.

    Examples
    --------
    >>> from folkmoot.comparison.who import compare_alone
    >>> table = compare_alone([[True] * 4 + [False] * 8], [True] * 11 + [False], ["north"] * 12, ["north"])
    >>> table.rows[0]
    Joined(group='north', rows=12, alone=0.333..., together=0.916..., gained=7, lost=0, p_value=0.015625, \
verdict='worth it')
    """

    group: str
    rows: int
    alone: float
    together: float
    gained: int
    lost: int
    p_value: float
    verdict: str


_COLUMNS: Final = tuple(field.name for field in fields(Joined))


@dataclass(frozen=True)
class JoiningTable:
    """Every group alone and together: print it, write it with ``to_csv``, or take ``to_list()``.

    Parameters
    ----------
    rows : tuple of Joined
        A row for each group that has a participant and test rows.
    overall : Joined or None
        All these rows at once; None if there are none.
    strangers : int, default 0
        How many test rows are of no participant's group, and so stand nowhere in the table.

    See Also
    --------
    compare_alone : Makes it.

    Examples
    --------
    >>> from folkmoot.comparison.who import compare_alone
    >>> alone = [[True, False, True, False], [False, True, True, False]]
    >>> table = compare_alone(alone, [True] * 4, ["a", "a", "b", "c"], ["a", "b"])
    >>> [(row.group, row.alone, row.together) for row in table.rows], table.strangers
    ([('a', 0.5, 1.0), ('b', 1.0, 1.0)], 1)
    """

    rows: tuple[Joined, ...]
    overall: Joined | None
    strangers: int = 0

    def to_list(self) -> list[dict[str, Any]]:
        """Make a list of plain dictionaries, for JSON."""
        return [asdict(row) for row in self.rows]

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV; no cell is taken for a formula."""
        write_table(path, _COLUMNS, ([written(value) for value in asdict(row).values()] for row in self.rows))

    def brief(self, most: int = SHOWN) -> tuple[Joined, ...]:
        """Pick the rows to look at: all if they are few, else those with the clearest differences."""
        if len(self.rows) <= most:
            return self.rows
        order = sorted(range(len(self.rows)), key=lambda i: self.rows[i].p_value)
        return tuple(self.rows[i] for i in sorted(order[:most]))

    def cells(self, rows: Sequence[Joined] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people, with all rows at once in the last line."""
        chosen = [*(self.rows if rows is None else rows)]
        if self.overall is not None and len(self.rows) > 1:
            chosen.append(self.overall)
        header = ["group", "rows", "alone", "together", "gained", "lost", "p", "verdict"]
        return header, [
            [
                row.group, str(row.rows), f"{row.alone:.3f}", f"{row.together:.3f}", str(row.gained),
                str(row.lost), f"{row.p_value:.2g}", row.verdict,
            ]
            for row in chosen
        ]  # fmt: skip

    @property
    def summary(self) -> str:
        """One line: for how many groups it is worth it, for how many it is not."""
        if self.overall is None:
            return self.notes(0, "")[0]
        better, worse = (
            sum(row.verdict == verdict for row in self.rows) for verdict in ("worth it", "better alone")
        )
        whole = self.overall
        return (
            f"joining: worth it for {better} of {len(self.rows)} groups, {worse} better alone, no difference "
            f"seen for the others; alone {whole.alone:.3f}, together {whole.together:.3f} on "
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
        lines.append(f"p: {TEST}")
        if len(self.rows) > 1:
            lines.append(
                f"of {len(self.rows)} groups, {len(self.rows) * _LEVEL:.2g} would have p below {_LEVEL} by "
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
        return as_html(self.title, *self.cells(chosen), self.notes(len(chosen), "to_csv(path) writes all"))


def compare_alone(
    alone: Any, together: Any, groups: Sequence[Any] | Array, names: Sequence[str]
) -> JoiningTable:
    """Compare each group's own model with the moot, row by row.

    Parameters
    ----------
    alone : array-like of bool, shape (participant, row)
        Whether each participant's own model is right.
    together : array-like of bool, shape (row,)
        Whether the moot is right.
    groups : sequence, shape (row,)
        The group of each row; what it is called as text is looked up among ``names``.
    names : sequence of str
        The participants' names.

    Returns
    -------
    JoiningTable
        A row for each participant that has rows.

    Raises
    ------
    ValueError
        If there is not one group per row.

    Examples
    --------
    The moot has eight rows right that the group itself has wrong, and one the other way round:

    >>> from folkmoot.comparison.who import compare_alone
    >>> table = compare_alone([[False] * 8 + [True] * 12], [True] * 19 + [False], ["a"] * 20, ["a"])
    >>> table.rows[0].gained, table.rows[0].lost, table.rows[0].p_value
    (8, 1, 0.0390625)
    """
    own, moot = np.asarray(alone, dtype=bool), np.asarray(together, dtype=bool)
    whose = np.asarray([str(group) for group in np.asarray(groups).tolist()])
    if whose.shape != moot.shape:
        raise ValueError(f"groups must hold one per input ({len(moot)}): got {len(whose)}")
    rows = []
    single, counted = np.zeros(len(moot), dtype=bool), np.zeros(len(moot), dtype=bool)
    for i, name in enumerate(names):
        here = whose == str(name)
        if here.any():
            rows.append(_joined(str(name), own[i, here], moot[here]))
            single[here], counted[here] = own[i, here], True
    overall = _joined("all of them", single[counted], moot[counted]) if rows else None
    return JoiningTable(tuple(rows), overall, int((~counted).sum()))


def _joined(group: str, alone: Bools, together: Bools) -> Joined:
    from scipy.stats import binomtest

    gained, lost = int((together & ~alone).sum()), int((alone & ~together).sum())
    p_value = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    verdict = "no difference seen"
    if p_value < _LEVEL:
        verdict = "worth it" if gained > lost else "better alone"
    return Joined(
        group, len(alone), float(alone.mean()), float(together.mean()), gained, lost, p_value, verdict
    )
