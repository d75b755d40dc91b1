"""Is joining worth it where numbers are agreed on: by which of the two is nearer to the truth, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from folkmoot.arrays import Array, Floats
from folkmoot.comparison.who.groups import GroupTable
from folkmoot.comparison.who.joining import Joined, compare_alone
from folkmoot.comparison.who.rows import count


@dataclass(frozen=True)
class NumberJoined:
    """One group alone and together, on its own rows.

    Parameters
    ----------
    group : str
        Its name.
    rows : int
        How many rows of it there are.
    alone : float
        The root mean squared error of its own model on them.
    together : float
        That of the moot.
    nearer : int
        On how many the moot is nearer to the truth.
    farther : int
        On how many it is farther from it.
    p_value : float
        How likely so uneven a split, or a more uneven one, would be if joining changed nothing.
    verdict : str
        "worth it", "better alone", or "no difference seen", at p below 0.05.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparison.who import compare_numbers_alone
    >>> truth = np.zeros((8, 1))
    >>> table = compare_numbers_alone(truth[None] + 2.0, truth + 1.0, truth, ["north"] * 8, ["north"])
    >>> table.rows[0]
    NumberJoined(group='north', rows=8, alone=2.0, together=1.0, nearer=8, farther=0, p_value=0.0078125, \
verdict='worth it')
    """

    group: str
    rows: int
    alone: float
    together: float
    nearer: int
    farther: int
    p_value: float
    verdict: str


@dataclass(frozen=True)
class NumberJoining(GroupTable[NumberJoined]):
    """Every group alone and together, in numbers: print it, or write it with ``to_csv``.

    Parameters
    ----------
    rows : tuple of NumberJoined
        A row for each group that has a participant and test rows.
    overall : NumberJoined or None
        All these rows at once; None if there are none.
    strangers : int, default 0
        How many test rows are of no participant's group, and so stand nowhere in the table.

    See Also
    --------
    compare_numbers_alone : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparison.who import compare_numbers_alone
    >>> truth = np.zeros((8, 1))
    >>> compare_numbers_alone(truth[None] + 2.0, truth + 1.0, truth, ["north"] * 8, ["south"]).strangers
    8
    """

    header: ClassVar = ("group", "rows", "error alone", "together", "nearer", "farther", "p", "verdict")
    test: ClassVar = (
        "the exact sign test, two-sided, of rows on which the moot is nearer to the truth than the group's "
        "own model, and of those on which it is farther"
    )

    @staticmethod
    def show(row: NumberJoined) -> list[str]:
        """The cells of a row."""
        return [
            row.group, str(row.rows), count(row.alone), count(row.together), str(row.nearer),
            str(row.farther), f"{row.p_value:.2g}", row.verdict,
        ]  # fmt: skip


def compare_numbers_alone(
    alone: Floats, agreed: Floats, truth: Floats, groups: Sequence[Any] | Array, names: Sequence[str]
) -> NumberJoining:
    """Compare each group's own numbers with what is agreed on, row by row.

    Parameters
    ----------
    alone : ndarray of float, shape (participant, row, output)
        Each participant's own numbers, nan where it has none.
    agreed : ndarray of float, shape (row, output)
        What the moot agreed on.
    truth : ndarray of float, shape (row, output)
        The right numbers.
    groups : sequence, shape (row,)
        The group of each row; what it is called as text is looked up among ``names``.
    names : sequence of str
        The participants' names.

    Returns
    -------
    NumberJoining
        A row for each participant that has rows.

    Raises
    ------
    ValueError
        If there is not one group per row.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparison.who import compare_numbers_alone
    >>> truth = np.arange(10.0)[:, None]
    >>> table = compare_numbers_alone(truth[None] + 1, truth, truth, ["a"] * 10, ["a"])
    >>> table.rows[0].nearer, table.rows[0].verdict
    (10, 'worth it')
    """
    whose = np.array([str(group) for group in np.asarray(groups).tolist()])
    if len(whose) != len(truth):
        raise ValueError(f"groups must hold one per input ({len(truth)}): got {len(whose)}")
    place = {str(name): i for i, name in enumerate(names)}
    counted = np.array([name in place for name in whose], dtype=np.bool_)
    own = np.full(len(truth), np.inf)  # who cannot answer is farther off than anybody
    for row in np.flatnonzero(counted):
        square = ((alone[place[whose[row]], row] - truth[row]) ** 2).mean()
        own[row] = np.inf if np.isnan(square) else square
    moot = ((agreed - truth) ** 2).mean(axis=1)
    # The same test as of labels: a row is right for whom is nearer.
    found = compare_alone(np.tile(own < moot, (len(names), 1)), moot < own, whose, names)

    def joined(each: Joined, here: Any) -> NumberJoined:
        return NumberJoined(
            each.group, each.rows, float(np.sqrt(own[here].mean())), float(np.sqrt(moot[here].mean())),
            each.gained, each.lost, each.p_value, each.verdict,
        )  # fmt: skip

    return NumberJoining(
        tuple(joined(each, whose == each.group) for each in found.rows),
        None if found.overall is None else joined(found.overall, counted),
        found.strangers,
    )
