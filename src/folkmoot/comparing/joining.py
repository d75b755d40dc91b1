"""Is joining worth it? Each group's own model beside the moot, on that group's inputs.

On some inputs only one of the two is right, or one is nearer to the truth. The exact sign test tells
whether their split would be chance. Of classes this is McNemar's test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from folkmoot.arrays import Array, Bools, Floats
from folkmoot.comparing.metric import Metric
from folkmoot.comparing.participants import SHOWN
from folkmoot.comparing.printing import RowTable

ALL_GROUPS: Final = "all of them"
_LEVEL: Final = 0.05  # a p below it counts as a difference


@dataclass(frozen=True)
class JoinedRow:
    """One group alone and together, on its own inputs.

    Parameters
    ----------
    group : str
        Its name.
    rows : int
        The number of its inputs.
    alone : float
        The score of its own model on them.
    together : float
        That of the moot.
    gained : int
        On how many the moot is better: right where its own model is wrong, or nearer to the truth.
    lost : int
        On how many its own model is better.
    p_value : float
        The probability of so uneven a split, or a more uneven one, if joining changed nothing.
    verdict : str
        "worth it", "better alone", or "no difference seen", at p below 0.05.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparing.joining import compare_alone
    >>> from folkmoot.comparing.metric import ACCURACY
    >>> truth, own = np.zeros(12, int), np.array([[0] * 4 + [1] * 8])
    >>> table = compare_alone(ACCURACY, own, truth, truth, ["north"] * 12, ["north"])
    >>> table.rows[0].gained, table.rows[0].verdict
    (8, 'worth it')
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
class Joining(RowTable):
    """Every group alone and together: print it, write it with ``to_csv``, or take ``to_list()``.

    Parameters
    ----------
    rows : tuple of JoinedRow
        A row for each group that has a participant and inputs.
    metric : Metric
        The metric of the scores.
    overall : JoinedRow or None
        All these inputs at once; None if there are none.
    strangers : int, default 0
        Inputs of no participant's group, which are not in the table.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparing.joining import compare_alone
    >>> from folkmoot.comparing.metric import ERROR
    >>> truth = np.arange(10.0)
    >>> table = compare_alone(ERROR, truth[None] + 2.0, truth + 1.0, truth, ["a"] * 8 + ["b"] * 2, ["a"])
    >>> table.rows[0].alone, table.rows[0].together, table.strangers
    (2.0, 1.0, 2)
    """

    rows: tuple[JoinedRow, ...]
    metric: Metric
    overall: JoinedRow | None
    strangers: int = 0

    def to_list(self) -> list[dict[str, Any]]:
        """Make a list of plain dictionaries, for JSON."""
        return [asdict(row) for row in self.rows]

    def brief(self, most: int = SHOWN) -> tuple[JoinedRow, ...]:
        """Pick the rows to look at: all if they are few, else those with the clearest differences."""
        if len(self.rows) <= most:
            return self.rows
        order = sorted(range(len(self.rows)), key=lambda i: self.rows[i].p_value)
        return tuple(self.rows[i] for i in sorted(order[:most]))

    def cells(self, rows: Sequence[JoinedRow] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people, with all inputs at once in the last line."""
        chosen = [*(self.rows if rows is None else rows)]
        if self.overall is not None and len(self.rows) > 1:
            chosen.append(self.overall)
        header = ["group", "rows", "alone", "together", "gained", "lost", "p", "verdict"]
        return header, [self._cells(row) for row in chosen]

    def _cells(self, row: JoinedRow) -> list[str]:
        alone, together = self._show(row.alone), self._show(row.together)
        counts = [str(row.gained), str(row.lost), f"{row.p_value:.2g}"]
        return [row.group, str(row.rows), alone, together, *counts, row.verdict]

    def _show(self, score: float) -> str:
        return f"{score:.3f}" if self.metric.higher_is_better else f"{score:.4g}"

    @property
    def summary(self) -> str:
        """One line: for how many groups it is worth it, for how many it is not."""
        whole = self.overall
        if whole is None:
            return self.notes(0, "")[0]
        better, worse = (
            sum(row.verdict == verdict for row in self.rows) for verdict in ("worth it", "better alone")
        )
        return (
            f"joining: worth it for {better} of {len(self.rows)} groups, {worse} better alone, no difference "
            f"seen for the others; {self.metric.name} alone {self._show(whole.alone)}, together "
            f"{self._show(whole.together)} on {whole.rows:,} rows (p = {whole.p_value:.2g})"
        )

    @property
    def title(self) -> str:
        """The comparison in words."""
        return (
            f"Is joining worth it? The {self.metric.name} of each group's own model, and of the moot, on "
            "that group's rows"
        )

    def notes(self, shown: int, how: str) -> list[str]:
        """The test, the meaning of a few small p, and the rows left out."""
        if not self.rows:
            return [
                f"none of the {self.strangers:,} test rows is of a participant's group, so nobody can be "
                "compared with itself: test on a share of every group's rows"
            ]
        what = "right" if self.metric.higher_is_better else "nearer to the truth"
        lines = super().notes(shown, how)
        name = "McNemar's exact test" if self.metric.higher_is_better else "the exact sign test"
        lines.append(f"p: {name}, two-sided, on the rows on which only one of the two is {what}")
        if len(self.rows) > 1:
            lines.append(
                f"of {len(self.rows)} groups, {len(self.rows) * _LEVEL:.2g} would have p below {_LEVEL} by "
                "chance alone"
            )
        if self.strangers:
            lines.append(f"{self.strangers:,} test rows are of no participant's group, and not counted")
        return lines


def compare_alone(
    metric: Metric,
    table: Array,
    answer: Array,
    truth: Array,
    groups: Sequence[Any] | Array,
    names: Sequence[str],
) -> Joining:
    """Compare each group's own model with the moot, input by input.

    ``table`` (participant, input[, output]): Each participant's own classes, -1 for none, or numbers, NaN
    for none. ``answer`` (input[, output]): The answers of the moot. ``truth`` (input[, output]): The truth.
    ``groups`` (input,): The group of each input; what it is called as text is looked up among ``names``.
    """
    whose = np.asarray([str(group) for group in np.asarray(groups).tolist()])
    if len(whose) != len(truth):
        raise ValueError(f"groups must hold one per input ({len(truth)}): got {len(whose)}")
    moot = metric.each(answer, truth)
    own, counted = np.zeros(len(truth)), np.zeros(len(truth), dtype=np.bool_)
    rows = []
    for i, name in enumerate(names):
        here = whose == str(name)
        if here.any():
            own[here], counted[here] = metric.each(table[i], truth)[here], True
            rows.append(_joined(metric, str(name), own, moot, here))
    overall = _joined(metric, ALL_GROUPS, own, moot, counted) if rows else None
    return Joining(tuple(rows), metric, overall, int((~counted).sum()))


def _joined(metric: Metric, group: str, own: Floats, moot: Floats, here: Bools) -> JoinedRow:
    from scipy.stats import binomtest

    alone, together = own[here], moot[here]
    above, below = int((together > alone).sum()), int((together < alone).sum())
    gained, lost = (above, below) if metric.higher_is_better else (below, above)
    p_value = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    verdict = "no difference seen"
    if p_value < _LEVEL:
        verdict = "worth it" if gained > lost else "better alone"
    alone_score, score = metric.score(alone), metric.score(together)
    return JoinedRow(group, len(alone), alone_score, score, gained, lost, p_value, verdict)
