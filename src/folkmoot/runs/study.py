"""A moot on some data, studied: fitted once, then compared with everything for more and more liars.

The demo is one such study.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np

from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.arrays import Array, PartProgress
from folkmoot.comparison import Line, Report
from folkmoot.comparison.lines import talk_line
from folkmoot.datasets import MootData, load_digits_moot
from folkmoot.learning.base_learners import MIXED, models_for
from folkmoot.learning.improvement import Improvement
from folkmoot.learning.labels import as_truth, check_labels
from folkmoot.old import ConsensusClassifier
from folkmoot.old.deliberation import SELF_ANCHORED
from folkmoot.old.peer_review import PEER_REVIEW
from folkmoot.outcome import Outcome
from folkmoot.protocols import Slush
from folkmoot.runs.shown_rows import Shown, shown_by
from folkmoot.simulation.peer_reviewed import review_first
from folkmoot.votes import vote_keys

PEER_REVIEWED: Final = "peer review"  # its line, where the consensus is by something else
_SHOWN: Final = "rows that everybody shows"
_WATCHED: Final = 60  # inputs whose talk is drawn


@dataclass(frozen=True, eq=False)
class Pool:
    """Unlabelled rows of a file that models are to improve by, and how: as ``improve`` takes it."""

    name: str
    X: Any
    check_rows: int | Literal["all"]
    safe: bool


@dataclass(frozen=True, eq=False)
class Study:
    """Reports by number of perfectly malicious participants, and the talk about a few inputs."""

    data: MootData
    byzantine: tuple[int, ...]
    reports: tuple[Report, ...]
    watched: int  # the number of liars among whom the recorded talk took place
    talk: Outcome
    seconds_fitting: float
    seconds_comparing: float
    reviewed: bool = False  # whether the consensus is by peer review
    shown: Shown | None = None  # where rows were shown
    talks: Mapping[str, Outcome] = field(default_factory=dict)  # to be played beside each other, by name
    images: Array | None = None  # (input, height, width): what they are about
    improvement: Improvement | None = None  # where models were fitted again, by labels that they agreed on

    def report(self, byzantine: int) -> Report:
        """The report for one number of liars."""
        return self.reports[self.byzantine.index(byzantine)]


def study(
    classifier: ConsensusClassifier,
    data: MootData,
    byzantine: Sequence[int],
    *,
    watched: int,
    repeats: int = 10,
    scoring: Sequence[str] | None = None,
    progress: PartProgress | None = None,
    pool: Pool | None = None,
) -> Study:
    """Fit ``classifier`` on the training rows of ``data``, improve it by a pool, report on the test rows."""
    seconds = _fitted(classifier, data, progress)
    if pool is not None:
        classifier.improve(pool.X, pool.check_rows, pool.safe, progress=saying("improving", progress))
    found = _compared(classifier, data, byzantine, watched, repeats, progress, scoring)
    gained = None if pool is None else classifier.improvement_
    return replace(found, seconds_fitting=seconds, improvement=gained)


def _fitted(classifier: ConsensusClassifier, data: MootData, progress: PartProgress | None) -> float:
    """Fit it, and tell how many seconds that took."""
    if data.X_test is None:
        raise ValueError("data must have test rows: X_test and y_test")
    started = time.perf_counter()
    classifier.fit(data.X, data.y, data.groups, progress=saying("fitting", progress))
    return time.perf_counter() - started


def _compared(
    classifier: ConsensusClassifier,
    data: MootData,
    byzantine: Sequence[int],
    watched: int,
    repeats: int,
    progress: PartProgress | None,
    scoring: Sequence[str] | None = None,
) -> Study:
    """The study of a fitted moot."""
    if data.X_test is None or data.y_test is None:
        raise ValueError("data must have test rows: X_test and y_test")
    started = time.perf_counter()
    reports = classifier.sweep(
        data.X_test,
        data.y_test,
        byzantine,
        groups=data.groups_test,
        repeats=repeats,
        scoring=scoring,
        progress=saying("deliberating", progress),
    )
    # Trust is learnt from the whole batch.
    some = _WATCHED if classifier.trust is None else None
    talk = _recorded(classifier, data, watched, some)
    reviewed = classifier.trust == PEER_REVIEW
    return Study(
        data=data,
        byzantine=tuple(byzantine),
        reports=tuple(_named(report, data.classes) for report in reports),
        watched=watched,
        talk=_called(talk, data.classes),
        seconds_fitting=0.0,
        seconds_comparing=time.perf_counter() - started,
        reviewed=reviewed,
        shown=shown_by(classifier, tuple(report.anchored or 0 for report in reports)) if reviewed else None,
    )


def _recorded(classifier: ConsensusClassifier, data: MootData, liars: int, some: int | None) -> Outcome:
    """The talk about some of the test rows, or all, among so many liars."""
    if data.X_test is None or data.y_test is None:
        raise ValueError("data must have test rows: X_test and y_test")
    before = classifier.adversaries
    try:
        classifier.adversaries = liars
        return classifier.deliberate(data.X_test[:some], data.y_test[:some], record=True)
    finally:
        classifier.adversaries = before


@dataclass(frozen=True)
class Demo:
    """The first thing a newcomer runs: 101 participants, non-iid digits, different small models, some liars.

    A participant has 13 rows of few classes, and the fifth that it holds out lets about a quarter of all
    anchor. Cross-validated anchors (``holdout=None``) let nearly half, which takes twice the time
    (docs/trust.md). The talk among ``watched`` malicious ones is looked at closely; the one among ``played``,
    who win without trust and lose with it, can be played. For the line of peer review everybody shows up to
    ``check_rows`` rows, at most half of them, and ``reviewers`` that lie in no column learn from them: all
    101 would take half a minute.
    """

    participants: int = 101
    alpha_dirichlet: float = 1.0
    byzantine: tuple[int, ...] = (0, 5, 10, 15, 20, 30, 60)
    watched: int = 10
    played: int = 30
    k: int = 10
    alpha: int = 6
    repeats: int = 10
    check_rows: int = 10
    reviewers: int = 10


def demo(
    config: Demo, seed: int, *, n_jobs: int | None = None, progress: PartProgress | None = None
) -> Study:
    """The study of ``folkmoot demo``."""
    data = load_digits_moot(config.participants, config.alpha_dirichlet, seed)
    classifier = ConsensusClassifier(
        models_for(MIXED, config.participants),
        protocol=Slush(config.k, config.alpha),
        trust=PEER_REVIEW,  # shows rows in fit; the models are the same
        check_rows=config.check_rows,
        n_jobs=n_jobs,
        random_state=seed,
    )
    seconds = _fitted(classifier, data, progress)
    classifier.trust = SELF_ANCHORED
    found = _compared(classifier, data, config.byzantine, config.watched, config.repeats, progress)
    started = time.perf_counter()
    found = with_peer_review(found, classifier, config.reviewers, progress=progress)
    reviewing = time.perf_counter() - started
    found = replace(found, seconds_fitting=seconds, seconds_comparing=found.seconds_comparing + reviewing)
    return _with_talks(found, classifier, config.played)


def _with_talks(found: Study, classifier: ConsensusClassifier, liars: int) -> Study:
    """The study of digits with talks to be played: without liars, with some, and with trust as well."""
    by_trust = _recorded(classifier, found.data, liars, None)
    trust = classifier.trust
    try:
        classifier.trust = None
        talks = {
            "no liars": _recorded(classifier, found.data, 0, None),
            f"{liars} liars": _recorded(classifier, found.data, liars, None),
            f"{liars} liars, with trust": by_trust,
        }
    finally:
        classifier.trust = trust
    return replace(found, talks=talks, images=np.asarray(found.data.X_test).reshape(-1, 8, 8))


def with_peer_review(
    found: Study, classifier: ConsensusClassifier, reviewers: int, *, progress: PartProgress | None = None
) -> Study:
    """The study with one more line: the talk of some participants that learn from the rows all have shown.

    They are drawn from those who lie for no number of liars, so that they are the same for all.
    """
    X, y = found.data.X_test, check_labels(found.data.y_test)
    votes, truth = classifier.votes(X), as_truth(y, classifier.classes_)
    names = [participant.name for participant in classifier.participants_]
    ever = {name for report in found.reports for name in report.byzantine}
    honest = [i for i, name in enumerate(names) if name not in ever]
    judges = np.random.default_rng(classifier.seed_).permutation(honest)[:reviewers].tolist()
    reports, anchored = [], []
    for report in found.reports:
        liars = {names.index(name): PerfectlyMalicious() for name in report.byzantine}
        listeners = review_first(votes, classifier.checked_, adversaries=liars, truth=truth, judges=judges)
        if listeners is None:
            line = Line(PEER_REVIEWED, None, needs=_SHOWN)
        else:
            outcome = listeners.talk(
                classifier.protocol_,
                liars,
                truth=truth,
                classes=len(classifier.classes_),
                rounds=classifier.rounds,
                repeats=report.repeats,
                seed=classifier.seed_,
                keys=vote_keys(listeners.held),
            )
            line = replace(talk_line(PEER_REVIEWED, outcome, truth), needs=_SHOWN)
        *others, consensus = report.lines
        reports.append(replace(report, lines=(*others, line, consensus)))
        anchored.append(0 if listeners is None else int(listeners.anchored.sum()))
        if progress is not None:
            progress("reviewing", len(reports), len(found.reports))
    shown = shown_by(classifier, tuple(anchored), reviewers=len(judges))
    return replace(found, reports=tuple(reports), shown=shown)


def _named(report: Report, classes: Array) -> Report:
    """The report with the classes' names: models were fitted on their numbers."""
    ground, certainty = report.ground, report.certainty
    return replace(
        report,
        outcomes={name: _called(outcome, classes) for name, outcome in report.outcomes.items()},
        without_trust={name: _called(outcome, classes) for name, outcome in report.without_trust.items()},
        ground=None if ground is None else replace(ground, labels=_names(ground.labels, classes)),
        certainty=None if certainty is None else replace(certainty, labels=_names(certainty.labels, classes)),
    )


def _called(outcome: Outcome, classes: Array) -> Outcome:
    return replace(outcome, labels=_names(outcome.labels, classes))


def _names(labels: Any, classes: Array) -> Any:
    return None if labels is None else classes[np.asarray(labels)]


def liar_counts(participants: int, most: int | None = None, *, steps: int = 7) -> list[int]:
    """About ``steps`` numbers of liars, from none to ``most`` (30% of the participants, but at least one)."""
    top = min(max(1, round(0.3 * participants)), participants - 1) if most is None else most
    return sorted({round(value) for value in np.linspace(0, top, steps)})


def saying(what: str, progress: PartProgress | None) -> Any:
    return None if progress is None else lambda done, whole: progress(what, done, whole)
