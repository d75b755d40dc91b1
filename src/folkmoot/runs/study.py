"""A study of a moot: fitted once, then compared for growing numbers of malicious participants.

``folkmoot learn`` is one such study of a user's table, ``folkmoot demo`` one of digits.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.aggregation import PeerReview
from folkmoot.aggregation.own import watching
from folkmoot.arrays import Array, PartProgress
from folkmoot.comparing.report import Report
from folkmoot.datasets import load_digits_moot
from folkmoot.datasets.moot_data import MootData
from folkmoot.learning.base_learners import MIXED, models_for
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.improvement import Improvement
from folkmoot.learning.known_rows import PUBLIC
from folkmoot.learning.regressor import ConsensusRegressor
from folkmoot.learning.reporting import reports
from folkmoot.outcome import Outcome
from folkmoot.protocols.slush import Slush
from folkmoot.simulation.engine import deliberate


@dataclass(frozen=True, eq=False)
class UnlabelledPool:
    """Unlabelled rows of a file for ``improve``."""

    name: str
    X: Any


@dataclass(frozen=True, eq=False)
class Study:
    """Reports on the test rows, by the number of malicious participants.

    ``shown`` describes the shown rows, if any. ``deliberations`` are runs of Slush for the player, by name,
    and ``images`` (input, height, width) their inputs.
    """

    data: MootData
    malicious: tuple[int, ...]
    reports: tuple[Report, ...]
    seconds_fitting: float
    seconds_comparing: float
    shown: str = ""
    improvement: Improvement | None = None
    deliberations: Mapping[str, Outcome] = field(default_factory=dict)
    images: Array | None = None

    def report(self, malicious: int) -> Report:
        """The report with so many malicious participants."""
        return self.reports[self.malicious.index(malicious)]


def study(
    moot: ConsensusClassifier | ConsensusRegressor,
    data: MootData,
    malicious: Sequence[int],
    *,
    scoring: Sequence[str] | None = None,
    progress: PartProgress | None = None,
    pool: UnlabelledPool | None = None,
) -> Study:
    """Fit ``moot`` on the training rows of ``data``, improve it by a pool, report on the test rows."""
    if data.X_test is None or data.y_test is None:
        raise ValueError("data must have test rows: X_test and y_test")
    started = time.perf_counter()
    moot.fit(data.X, named(data, data.y), data.groups, progress=saying("fitting", progress))
    if pool is not None:
        moot.improve(pool.X, progress=saying("improving", progress))
    fitted = time.perf_counter()
    found = []
    experiments = [count or None for count in malicious]
    truth, groups = named(data, data.y_test), data.groups_test
    with watching(saying("final votes", progress)):
        for report in reports(moot, data.X_test, truth, experiments, groups=groups, scoring=scoring):
            found.append(report)
            if progress is not None:
                progress("comparing", len(found), len(malicious))
    return Study(
        data=data,
        malicious=tuple(malicious),
        reports=tuple(found),
        seconds_fitting=fitted - started,
        seconds_comparing=time.perf_counter() - fitted,
        shown=rows_shown_by(moot),
        improvement=None if pool is None else moot.improvement_,
    )


def named(data: MootData, y: Array) -> Array:
    """The truth as names of classes, or numbers."""
    return y if data.numeric else data.classes[y]


def rows_shown_by(moot: ConsensusClassifier | ConsensusRegressor) -> str:
    """The shown rows in words; "" for none."""
    rows = moot.shown_
    if rows is None:
        return ""
    own = rows.owner[rows.owner != PUBLIC]
    what = "labels" if isinstance(moot, ConsensusClassifier) else "numbers"
    parts = f"inputs and {what}"
    epsilon = getattr(moot.aggregation, "label_epsilon", None)
    if epsilon is not None:
        parts = f"inputs, and labels with noise (epsilon {epsilon:g})"
    return f"shown to everybody: {len(own):,} rows of {len(np.unique(own))} participants, {parts}"


@dataclass(frozen=True)
class Demo:
    """The first thing a newcomer runs: 101 participants, non-iid digits, small models, up to 30 malicious.

    A participant has 13 rows of few classes, and shows up to ten of them, at most half, for peer review.
    """

    participants: int = 101
    alpha_dirichlet: float = 1.0
    malicious: tuple[int, ...] = (0, 30)
    rows: int = 10
    k: int = 10
    alpha: int = 6


def demo(
    config: Demo, seed: int, *, n_jobs: int | None = None, progress: PartProgress | None = None
) -> Study:
    """The study of ``folkmoot demo``."""
    data = load_digits_moot(config.participants, config.alpha_dirichlet, seed)
    moot = ConsensusClassifier(
        models_for(MIXED, config.participants),
        aggregation=PeerReview(rows=config.rows),
        n_jobs=n_jobs,
        random_state=seed,
    )
    with threadpool_limits(1):  # a participant has 13 rows: threads would only wait for each other
        found = study(moot, data, config.malicious, progress=progress)
        votes = moot.votes(data.X_test)
    played = {}
    for report in found.reports:
        malicious = {
            i: PerfectlyMalicious()
            for i, row in enumerate(report.participants.rows)
            if row.role == "malicious"
        }
        outcome = deliberate(
            votes,
            Slush(config.k, config.alpha),
            adversaries=malicious,
            truth=data.y_test,
            classes=len(moot.classes_),
            seed=seed,
            missing="present",
            record=True,
        )
        name = f"Slush, {len(malicious)} malicious" if malicious else "Slush, nobody malicious"
        played[name] = replace(outcome, labels=moot.classes_)
    return replace(found, deliberations=played, images=np.asarray(data.X_test).reshape(-1, 8, 8))


def malicious_counts(participants: int, most: int | None = None, *, steps: int = 4) -> list[int]:
    """About ``steps`` numbers of malicious participants, from none to ``most`` (30%, at least one)."""
    top = min(max(1, round(0.3 * participants)), participants - 1) if most is None else most
    return sorted({round(value) for value in np.linspace(0, top, steps)})


def saying(what: str, progress: PartProgress | None) -> Any:
    """The progress of one part; None if nobody watches."""
    return None if progress is None else lambda done, whole: progress(what, done, whole)
