"""A row for each participant: how good it is, how much it answers, and what is odd about it.

A finding is a reason to look, not a proof. The rules, in the order in which they are tried:

- *always wrong*: the upper end of the 95% interval of its accuracy on what it answers is below chance, 1/C;
  of numbers, *worse than a constant*: a negative R2;
- *constant*: at least 20 votes, 99% of them one class, while the answers are not; of numbers, all alike;
- *against the answer*: always wrong by the answer, where the truth is not known;
- *the same wrong answers as NAMES*: see ``folkmoot.comparing.independence``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.comparing.independence import few
from folkmoot.comparing.metric import Metric, is_there
from folkmoot.comparing.printing import RowTable
from folkmoot.outcome import wilson_bound
from folkmoot.votes import NO_VOTE

Role: TypeAlias = Literal["honest", "malicious", "faulty"]

SHOWN: Final = 20  # rows that are printed of many
_ENDS: Final = 3  # of the best and of the worst
_DEVIATIONS: Final = 1.959963984540054
_LEAST_VOTES: Final = 20
_ONE_CLASS: Final = 0.99


@dataclass(frozen=True)
class ParticipantRow:
    """One participant of a report.

    Parameters
    ----------
    name : str
        Its name.
    role : {"honest", "malicious", "faulty"}
        Whether it follows the protocol, lies, or could not answer.
    score : float or None
        Its accuracy, or of numbers its error, over all inputs whose truth is known; no answer is not right.
        None where no truth is known.
    low : float or None
        The lower end of the 95% interval of the score.
    high : float or None
        Its upper end.
    coverage : float
        The share of the inputs that it answered.
    agreement : float or None
        The share of its votes that are the answer of the moot; of numbers how far they are from it, as a root
        mean square.
    holdout : float or None
        The same score on labelled rows that it kept for itself; None without any.
    held_out : int
        The number of rows.
    weight : float or None
        The median weight that others give its vote, if votes are weighted.
    estimated : float or None
        Its accuracy as the aggregation estimates it, such as Dawid-Skene.
    finding : str
        A remark, such as "always wrong (0 of 60 right)"; "" for none.

    Examples
    --------
    >>> from folkmoot import compare
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(5, p=0.8, inputs=200)
    >>> votes[4] = 1 - truth
    >>> row = compare(votes, truth=truth).participants.rows[4]
    >>> row.score, row.finding
    (0.0, 'always wrong (0 of 200 right)')
    """

    name: str
    role: Role
    score: float | None
    low: float | None
    high: float | None
    coverage: float
    agreement: float | None
    holdout: float | None = None
    held_out: int = 0
    weight: float | None = None
    estimated: float | None = None
    finding: str = ""


@dataclass(frozen=True)
class ParticipantTable(RowTable):
    """The participants of a report: print it, write it with ``to_csv``, or take ``frame()``.

    Parameters
    ----------
    rows : tuple of ParticipantRow
        A row for each participant.
    metric : Metric
        The metric of the scores.

    Examples
    --------
    >>> from folkmoot import compare
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(5, p=0.8, inputs=200)
    >>> votes[4] = 0
    >>> print(compare(votes, truth=truth).participants)
    5 participants, 1 with a finding
    <BLANKLINE>
    participant                  accuracy  coverage  agrees  finding
    ----------------------------------------------------------------------------
    participant 0  0.760 (0.696 to 0.814)     1.000   0.785
    participant 1  0.805 (0.745 to 0.854)     1.000   0.850
    participant 2  0.825 (0.766 to 0.871)     1.000   0.810
    participant 3  0.800 (0.739 to 0.850)     1.000   0.805
    participant 4  0.500 (0.431 to 0.569)     1.000   0.555  constant (always 0)
    <BLANKLINE>
    """

    rows: tuple[ParticipantRow, ...]
    metric: Metric

    def to_list(self) -> list[dict[str, Any]]:
        """Make a list of plain dictionaries, for JSON; the score has the name of the metric."""
        return [
            {self.metric.name if name == "score" else name: value for name, value in asdict(row).items()}
            for row in self.rows
        ]

    def frame(self) -> Any:
        """Make a pandas ``DataFrame`` of the rows."""
        import pandas as pd

        return pd.DataFrame(self.to_list())

    @property
    def findings(self) -> dict[str, str]:
        """Remarks on participants, by name."""
        return {row.name: row.finding for row in self.rows if row.finding}

    def brief(self, most: int = SHOWN) -> tuple[ParticipantRow, ...]:
        """Pick the rows to look at: all if they are few, else those with findings, the best and the worst."""
        if len(self.rows) <= most:
            return self.rows
        odd = [i for i, row in enumerate(self.rows) if row.finding][: most - 2 * _ENDS]
        sign = 1 if self.metric.higher_is_better else -1
        merits = [-math.inf if row.score is None else sign * row.score for row in self.rows]
        order = np.argsort(merits, kind="stable").tolist()
        return tuple(self.rows[i] for i in sorted({*odd, *order[:_ENDS], *order[-_ENDS:]}))

    def cells(self, rows: Sequence[ParticipantRow] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people; a column that says nothing is left out."""
        chosen = self.rows if rows is None else rows
        kept = [(name, show) for name, show, tells in _columns(self.metric) if any(map(tells, self.rows))]
        return [name for name, _ in kept], [[show(row) for _, show in kept] for row in chosen]

    @property
    def title(self) -> str:
        """The numbers of participants and of odd ones."""
        odd = len(self.findings)
        return f"{len(self.rows)} participants{f', {odd} with a finding' if odd else ''}"


Column: TypeAlias = tuple[str, Callable[[ParticipantRow], str], Callable[[ParticipantRow], bool]]


def _columns(metric: Metric) -> tuple[Column, ...]:
    """Header, how a cell looks, and whether it tells anything."""
    share = metric.higher_is_better
    digits = ".3f" if share else ".4g"

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:{digits}}"

    def ranged(row: ParticipantRow) -> str:
        around = "" if row.low is None else f" ({number(row.low)} to {number(row.high)})"
        return f"{number(row.score)}{around}"

    return (
        ("participant", lambda row: row.name, lambda _: True),
        ("role", lambda row: row.role, lambda row: row.role != "honest"),
        (f"holdout {metric.name}", lambda row: number(row.holdout), lambda row: row.holdout is not None),
        (metric.name, ranged, lambda row: row.score is not None),
        ("coverage", lambda row: f"{row.coverage:.3f}", lambda _: True),
        (
            "agrees" if share else "from the answer",
            lambda row: number(row.agreement),
            lambda row: row.agreement is not None,
        ),
        (
            "weight",
            lambda row: "-" if row.weight is None else f"{row.weight:.3g}",
            lambda row: row.weight is not None,
        ),
        ("estimated", lambda row: number(row.estimated), lambda row: row.estimated is not None),
        ("finding", lambda row: row.finding, lambda _: True),
    )


def participant_table(
    metric: Metric,
    table: Array,
    truth: Array | None,
    judged: Bools,
    answer: Array,
    *,
    names: Sequence[str],
    roles: Sequence[Role],
    classes: int,
    labels: Sequence[Any] | Array | None,
    faults: Mapping[int, str],
    groups: Sequence[Sequence[str]],
    weights: Floats | None,
    estimated: Floats | None,
    holdout: tuple[Floats, Ints] | None,
) -> ParticipantTable:
    """Make the rows of the votes as they were handed in; ``judged`` are the inputs that are scored."""
    together = {name: [other for other in group if other != name] for group in groups for name in group}
    rows = []
    for i, name in enumerate(names):
        there = is_there(table[i])
        if there.ndim == 2:
            there = np.asarray(there.all(axis=1))
        score = low = high = None
        if truth is not None:
            each = metric.each(table[i, judged], truth[judged])
            score = metric.score(each)
            low, high = metric.interval(each)
        finding = f"faulty: {faults[i]}" if i in faults else ""
        if not finding and metric.higher_is_better:
            finding = _odd_votes(table[i], truth, judged, answer, classes, labels)
        elif not finding:
            finding = _odd_numbers(table[i], truth, judged)
        if not finding and name in together:
            finding = f"the same wrong answers as {few(together[name])}"
        rows.append(
            ParticipantRow(
                name=name,
                role=roles[i],
                score=score,
                low=low,
                high=high,
                coverage=float(there.mean()),
                agreement=_agreement(table[i], answer),
                holdout=None if holdout is None else _known(holdout[0][i]),
                held_out=0 if holdout is None else int(holdout[1][i]),
                weight=None if weights is None else _known(weights[i]),
                estimated=None if estimated is None else _known(estimated[i]),
                finding=finding,
            )
        )
    return ParticipantTable(tuple(rows), metric)


def _agreement(own: Array, answer: Array) -> float | None:
    both = is_there(own) & is_there(answer)
    if not both.any():
        return None
    if own.dtype.kind == "f":
        return float(np.sqrt(((own - answer)[both] ** 2).mean()))
    return float((own == answer)[both].mean())


def _odd_votes(own: Ints, truth: Ints | None, judged: Bools, answer: Ints, classes: int, labels: Any) -> str:
    cast = own != NO_VOTE
    known = cast & judged if truth is not None else cast & (answer != NO_VOTE)
    right = answer if truth is None else truth
    total, hits = int(known.sum()), int((own == right)[known].sum())
    wrong = total > 0 and wilson_bound(hits, total, -_DEVIATIONS) < 1 / max(classes, 2)
    if wrong and truth is not None:
        return f"always wrong ({hits} of {total} right)"
    values, counts = np.unique(own[cast], return_counts=True)
    common = np.unique(answer[answer != NO_VOTE], return_counts=True)[1]
    usual = common.size and common.max() >= _ONE_CLASS * common.sum()
    if cast.sum() >= _LEAST_VOTES and counts.max() >= _ONE_CLASS * cast.sum() and not usual:
        name = (
            values[counts.argmax()]
            if labels is None
            else np.asarray(labels, dtype=object)[values[counts.argmax()]]
        )
        return f"constant (always {getattr(name, 'item', lambda: name)()!r})"
    return f"against the answer ({hits} of {total} the same)" if wrong else ""


def _odd_numbers(own: Floats, truth: Floats | None, judged: Bools) -> str:
    there = own[is_there(own)]
    if there.size >= _LEAST_VOTES and own.ndim == 1 and np.ptp(there) == 0:
        return f"constant ({there[0]:.4g})"
    if truth is None or not judged.any():
        return ""
    own, right = own[judged], truth[judged]
    known = ~np.isnan(own)
    around = ((right - right.mean(axis=0)) ** 2)[known]
    if not known.any() or around.mean() == 0:
        return ""
    r2 = 1 - float(((own - right)[known] ** 2).mean() / around.mean())
    return f"worse than a constant (R2 {r2:.2g})" if r2 < 0 else ""


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
