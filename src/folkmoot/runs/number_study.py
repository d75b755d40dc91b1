"""A moot on numbers, studied: fitted once, then compared with everything for more and more liars."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from folkmoot.aggregation import TrimmedMean
from folkmoot.arrays import Array, Floats, PartProgress
from folkmoot.comparison import CONSENSUS, NumberReport
from folkmoot.datasets import MootData
from folkmoot.learning.improvement import NumberImprovement
from folkmoot.learning.scoring import score_numbers, scorers
from folkmoot.old import ConsensusRegressor
from folkmoot.runs.shown_rows import NumbersShown
from folkmoot.runs.study import Pool, saying


@dataclass(frozen=True, eq=False)
class NumberStudy:
    """Reports by number of participants that answer absurd numbers, and what is agreed on without them."""

    data: MootData
    byzantine: tuple[int, ...]
    reports: tuple[NumberReport, ...]
    agreed: Floats
    trim: int
    seconds_fitting: float
    seconds_comparing: float
    scores: dict[str, dict[str, float]] = field(default_factory=dict)  # by line and name, nobody lying
    shown: NumbersShown | None = None  # where rows were shown, by which each reads the others' numbers
    improvement: NumberImprovement | None = None  # where models were fitted again, by numbers agreed on

    @property
    def withstands(self) -> str:
        """How many liars the rule is safe against, in words."""
        most = {0: "no liar", 1: "one liar at the most"}.get(self.trim, f"{self.trim} liars at the most")
        return f"numbers trimmed at either end: {self.trim}, which withstands {most} (--trim changes it)"

    def score_cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the scores, for people."""
        names = list(next(iter(self.scores.values()), {}))
        rows = [[line, *(f"{each[name]:.4g}" for name in names)] for line, each in self.scores.items()]
        return ["who decides", *names], rows

    def report(self, byzantine: int) -> NumberReport:
        """The report for one number of liars."""
        return self.reports[self.byzantine.index(byzantine)]


def number_study(
    regressor: ConsensusRegressor,
    data: MootData,
    byzantine: Sequence[int],
    *,
    scoring: Sequence[str] = (),
    progress: PartProgress | None = None,
    pool: Pool | None = None,
) -> NumberStudy:
    """Fit ``regressor`` on the training rows of ``data``, improve it by a pool, report on the test rows."""
    if data.X_test is None or data.y_test is None:
        raise ValueError("data must have test rows: X_test and y_test")
    started = time.perf_counter()
    regressor.fit(data.X, data.y, data.groups, progress=saying("fitting", progress))
    fitted = time.perf_counter()
    if pool is not None:
        regressor.improve(pool.X, pool.safe, progress=saying("improving", progress))
    reports = []
    try:
        for count in byzantine:
            regressor.adversaries = count or None
            reports.append(regressor.report(data.X_test, data.y_test, groups=data.groups_test))
            if progress is not None:
                progress("deliberating", len(reports), len(byzantine))
    finally:
        regressor.adversaries = None
    agreed, alone = regressor.predict(data.X_test), regressor.transform(data.X_test).T
    return NumberStudy(
        data=data,
        byzantine=tuple(byzantine),
        reports=tuple(reports),
        agreed=agreed,
        trim=TrimmedMean(regressor.trim).trimmed(len(regressor.participants_)),
        seconds_fitting=fitted - started,
        seconds_comparing=time.perf_counter() - fitted,
        scores=_scored(scoring, alone, agreed, data.y_test) if scoring else {},
        shown=_shown(regressor),
        improvement=None if pool is None else regressor.improvement_,
    )


def _shown(regressor: ConsensusRegressor) -> NumbersShown | None:
    if regressor.weights is None:
        return None
    rows = regressor.checked_.rows
    return NumbersShown(int(rows.sum()), int((rows > 0).sum()))


def _scored(
    scoring: Sequence[str], alone: Floats, agreed: Floats, truth: Array
) -> dict[str, dict[str, float]]:
    """Scikit-learn's scores of each way to answer, nobody lying; of the participants, the mean of theirs."""
    wanted = scorers(list(scoring))
    able = alone[np.isfinite(alone).all(axis=1)]
    each = [score_numbers(wanted, own, truth) for own in able]
    return {
        "mean participant": {name: float(np.mean([one[name] for one in each])) for name in wanted},
        "mean": score_numbers(wanted, able.mean(axis=0), truth),
        "median": score_numbers(wanted, np.median(able, axis=0), truth),
        CONSENSUS: score_numbers(wanted, agreed, truth),
    }
