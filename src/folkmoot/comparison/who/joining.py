"""Is joining worth it: each group's own model beside the moot, on the same rows of that group.

The rows are the pairs. Only those on which one of the two is right and the other wrong tell anything:
McNemar's exact test asks how likely so uneven a split of them would be if a coin had decided each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from folkmoot.arrays import Array, Bools
from folkmoot.comparison.who.groups import LEVEL, GroupTable


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


@dataclass(frozen=True)
class JoiningTable(GroupTable[Joined]):
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

    header: ClassVar = ("group", "rows", "alone", "together", "gained", "lost", "p", "verdict")
    test: ClassVar = "McNemar's exact test, two-sided, on the rows that only one of the two has right"

    @staticmethod
    def show(row: Joined) -> list[str]:
        """The cells of a row."""
        return [
            row.group, str(row.rows), f"{row.alone:.3f}", f"{row.together:.3f}", str(row.gained),
            str(row.lost), f"{row.p_value:.2g}", row.verdict,
        ]  # fmt: skip


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
    if p_value < LEVEL:
        verdict = "worth it" if gained > lost else "better alone"
    return Joined(
        group, len(alone), float(alone.mean()), float(together.mean()), gained, lost, p_value, verdict
    )
