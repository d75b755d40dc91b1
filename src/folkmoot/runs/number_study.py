"""A moot on numbers, studied: fitted once, then compared with everything for more and more liars."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from folkmoot.aggregation import TrimmedMean
from folkmoot.arrays import Floats, PartProgress
from folkmoot.comparison import NumberReport
from folkmoot.datasets import MootData
from folkmoot.learning import ConsensusRegressor
from folkmoot.learning.participants import Participant
from folkmoot.runs.number_tables import (
    NumberJoining,
    NumberParticipants,
    compare_numbers_alone,
    describe_numbers,
)


@dataclass(frozen=True, eq=False)
class NumberStudy:
    """Reports by number of participants that answer absurd numbers, and what is agreed on without them.

    ``alone`` has what each participant says of the test rows, (participant, row); nan where it failed.
    """

    data: MootData
    byzantine: tuple[int, ...]
    reports: tuple[NumberReport, ...]
    agreed: Floats
    alone: Floats
    participants: tuple[Participant, ...]
    trim: int
    seconds_fitting: float
    seconds_comparing: float
    reviewed: bool = False  # whether participants have shown rows and read each other's numbers by them

    @property
    def withstands(self) -> str:
        """How many liars the rule is safe against, in words."""
        most = {0: "no liar", 1: "one liar at the most"}.get(self.trim, f"{self.trim} liars at the most")
        return f"numbers trimmed at either end: {self.trim}, which withstands {most} (--trim changes it)"

    @cached_property
    def participant_table(self) -> NumberParticipants:
        """How far each participant is off, on rows of its own and on the test rows."""
        return describe_numbers(self.participants, self.alone, self.agreed, self._truth)

    @cached_property
    def joining(self) -> NumberJoining:
        """Each group's own model beside the moot, on that group's test rows."""
        names = [participant.name for participant in self.participants]
        return compare_numbers_alone(self.alone, self.agreed, self._truth, self.data.groups_test, names)

    @property
    def _truth(self) -> Floats:
        return np.asarray(self.data.y_test, dtype=np.float64)

    def report(self, byzantine: int) -> NumberReport:
        """The report for one number of liars."""
        return self.reports[self.byzantine.index(byzantine)]


def number_study(
    regressor: ConsensusRegressor,
    data: MootData,
    byzantine: Sequence[int],
    *,
    progress: PartProgress | None = None,
) -> NumberStudy:
    """Fit ``regressor`` on the training rows of ``data`` and report on its test rows."""
    if data.X_test is None or data.y_test is None:
        raise ValueError("data must have test rows: X_test and y_test")
    started = time.perf_counter()
    fitting = None if progress is None else lambda done, whole: progress("fitting", done, whole)
    regressor.fit(data.X, data.y, data.groups, progress=fitting)
    fitted = time.perf_counter()
    reports = []
    try:
        for count in byzantine:
            regressor.adversaries = count or None
            reports.append(regressor.report(data.X_test, data.y_test))
            if progress is not None:
                progress("deliberating", len(reports), len(byzantine))
    finally:
        regressor.adversaries = None
    return NumberStudy(
        data=data,
        byzantine=tuple(byzantine),
        reports=tuple(reports),
        agreed=regressor.predict(data.X_test),
        alone=regressor.transform(data.X_test).T,
        participants=tuple(regressor.participants_),
        trim=TrimmedMean(regressor.trim).trimmed(len(regressor.participants_)),
        seconds_fitting=fitted - started,
        seconds_comparing=time.perf_counter() - fitted,
        reviewed=regressor.weights is not None,
    )
