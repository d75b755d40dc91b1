"""What peer review must reach on three tasks, judged over seeds.

Nobody lying: how much of the gap between the majority and the pooled forest is closed when all rows are
shown, alone and with a forest as one more voter; and an accuracy with ten rows each. 60 liars of 101: the
mean and the worst of those who anchor, for every kind of liar; the kind that publishes labels which back its
story is held to the majority. Agreement before and after the talk; on digits, probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.experiment import Finding
from experiments.femnist.writer_votes import CASE, DIGITS, KIND
from experiments.peer_review.beside import Forest, pooled
from experiments.peer_review.lies import BACKED
from experiments.peer_review.points import VOTINGS, Point
from experiments.peer_review.shown_rows import ALL
from experiments.trust.attacks import NOBODY
from experiments.trust.goals import NAMES

MOST_LIARS: Final = 60
TEN: Final = 10
LOG_LOSS, CALIBRATION = 0.36, 0.03  # on digits, all rows shown
_NOT: Final = "not in the paper; goal: "


@dataclass(frozen=True)
class Goals:
    """What is to be reached on a task."""

    closed: float  # share of the gap from majority to pooled, all rows shown
    closed_with_forest: float
    ten: float | None  # accuracy with ten rows each
    ten_above: float | None  # or so much above the majority
    attacked: float  # mean of those who anchor, 60 liars of any kind but the backed one
    backed: float  # wanted of that one; the goal is the majority
    worst: float  # of those who anchor, 60 liars
    agreement: float  # before the talk; after it 1.0


GOALS: Final = {
    DIGITS: Goals(0.95, 0.97, 0.87, None, 0.80, 0.82, 0.75, 0.98),
    CASE: Goals(0.40, 0.90, None, 0.015, 0.72, 0.70, 0.69, 0.98),
    KIND: Goals(0.42, 0.65, None, 0.018, 0.73, 0.72, 0.69, 0.97),
}


def named(rows: int) -> str:
    """So many rows, in words."""
    return "all rows" if rows == ALL else f"{rows} rows"


def findings(points: Sequence[Point], forests: Sequence[Forest], task: str) -> list[Finding]:
    """The goals on one task, for votes in labels and in probabilities."""
    found: list[Finding] = []
    for voting in VOTINGS:
        here = [each for each in points if (each.task, each.voting) == (task, voting)]
        plain = [each for each in here if each.lie == NOBODY and not each.forest]
        where = f"{NAMES[task]}, {voting}"
        found += _closed(where, plain, forests, points, GOALS[task].closed)
        with_forest = [each for each in here if each.forest]
        found += _closed(
            f"{where}, with a forest as a voter", with_forest, forests, points,
            GOALS[task].closed_with_forest,
        )  # fmt: skip
        found += _ten(where, [each for each in plain if each.rows == TEN], points, task)
        lied = [each for each in here if each.liars == MOST_LIARS]
        for rows in sorted({each.rows for each in lied if each.rows >= TEN}):
            found += _attacked(f"{where}, {named(rows)}", [each for each in lied if each.rows == rows], task)
        found += _agreement(where, [each for each in plain if each.talked is not None], task)
        if task == DIGITS:
            found += _probabilities(where, [each for each in plain if each.rows == ALL])
    return found or [Finding(NAMES[task], "goals for those who anchor", "nobody anchored")]


def base(points: Sequence[Point], task: str) -> dict[int, float]:
    """By seed: the majority of labels when nobody lies, beside which both forms of votes are put."""
    return {
        each.seed: each.majority
        for each in points
        if (each.task, each.voting, each.lie) == (task, VOTINGS[0], NOBODY)
    }


def mean_of(points: Sequence[Point], what: Callable[[Point], float | None]) -> float | None:
    """The mean over seeds of those where somebody anchored."""
    values = [value for each in points if (value := what(each)) is not None]
    return float(np.mean(values)) if values else None


def _closed(
    where: str, some: Sequence[Point], forests: Sequence[Forest], points: Sequence[Point], goal: float
) -> list[Finding]:
    every = [each for each in some if each.rows == ALL and each.accuracy is not None]
    if not every:
        return []
    best, plain = pooled(forests), base(points, every[0].task)
    ours = float(np.mean([each.accuracy or 0.0 for each in every]))
    low = float(np.mean([plain[each.seed] for each in every]))
    high = float(np.mean([best[each.task, each.seed] for each in every]))
    share = (ours - low) / (high - low) if high > low else 1.0
    return [
        Finding(
            f"{where}: share of the gap from majority to pooled that is closed, all rows",
            f"{_NOT}{goal:.0%}",
            f"{share:.0%}",
            difference=f"{ours:.3f} between {low:.3f} and {high:.3f}",
            holds=share >= goal,
        )
    ]


def _ten(where: str, some: Sequence[Point], points: Sequence[Point], task: str) -> list[Finding]:
    ours = mean_of(some, lambda each: each.accuracy)
    if ours is None:
        return []
    plain, goals = float(np.mean(list(base(points, task).values()))), GOALS[task]
    goal = goals.ten if goals.ten is not None else plain + (goals.ten_above or 0.0)
    return [
        Finding(
            f"{where}: ten rows each",
            f"{_NOT}{goal:.3f}",
            f"{ours:.3f}; majority {plain:.3f}",
            difference=f"{ours - goal:+.4f}",
            holds=ours >= goal,
        )
    ]


def _attacked(where: str, lied: Sequence[Point], task: str) -> list[Finding]:
    """The least mean of the kinds of liar, the least of all participants, and the backed kind."""
    goals, found = GOALS[task], []
    kinds = [kind for kind in dict.fromkeys(each.lie for each in lied) if kind != BACKED]
    means = [
        (mean, kind)
        for kind in kinds
        if (mean := mean_of([each for each in lied if each.lie == kind], lambda each: each.accuracy))
        is not None
    ]
    if means:
        least, kind = min(means)
        found.append(
            Finding(
                f"{where}, {MOST_LIARS} liars of any kind but {BACKED}: mean of those who anchor",
                f"{_NOT}{goals.attacked}",
                f"{least:.3f} ({kind})",
                difference=f"{least - goals.attacked:+.4f}",
                holds=least >= goals.attacked,
            )
        )
    worst = [(each.worst, each.lie) for each in lied if each.worst is not None and each.lie != BACKED]
    if worst:
        low, kind = min(worst)
        found.append(
            Finding(
                f"{where}, {MOST_LIARS} liars of any kind but {BACKED}: worst that anchors, in all seeds",
                f"{_NOT}{goals.worst}",
                f"{low:.3f} ({kind})",
                difference=f"{low - goals.worst:+.4f}",
                holds=low >= goals.worst,
            )
        )
    backed = [each for each in lied if each.lie == BACKED and each.accuracy is not None]
    ours = mean_of(backed, lambda each: each.accuracy)
    plain = mean_of(backed, lambda each: each.majority)
    if ours is not None and plain is not None:
        found.append(
            Finding(
                f"{where}, {MOST_LIARS} {BACKED}: mean of those who anchor",
                f"{_NOT}the majority; wanted {goals.backed}",
                f"{ours:.3f}; majority {plain:.3f}",
                difference=f"{ours - plain:+.4f}; {ours - goals.backed:+.4f} to what is wanted",
                holds=ours >= plain,
            )
        )
    return found


def _agreement(where: str, some: Sequence[Point], task: str) -> list[Finding]:
    before = [each.agreement for each in some if each.agreement is not None]
    after = [each.talked_agreement for each in some if each.talked_agreement is not None]
    if not before or not after:
        return []
    goal = GOALS[task].agreement
    return [
        Finding(
            f"{where}, {named(some[0].rows)}, nobody lies: least agreement before and after the talk",
            f"{_NOT}{goal} and 1.0",
            f"{min(before):.4f} and {min(after):.4f}",
            holds=min(before) >= goal and round(min(after), 3) >= 1.0,
        )
    ]


def _probabilities(where: str, some: Sequence[Point]) -> list[Finding]:
    loss = mean_of(some, lambda each: each.log_loss)
    error = mean_of(some, lambda each: each.calibration)
    if loss is None or error is None:
        return []
    return [
        Finding(
            f"{where}, all rows: log loss and calibration error",
            f"{_NOT}below {LOG_LOSS} and {CALIBRATION}",
            f"{loss:.3f} and {error:.3f}",
            holds=loss < LOG_LOSS and error < CALIBRATION,
        )
    ]
