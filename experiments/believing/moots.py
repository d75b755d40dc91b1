"""``whom-to-believe``: every aggregation beside rivals that know the same rows, on unlike sites and among liars.

Each site fits a model to its rows and shows ten of them. Liars are drawn; they know the truth:

* sparing: a fifth answer shown rows like others, and inputs with the next class;
* backed: 60% answer everything with the next class, and label their rows so;
* in their region: a fifth do that only to rows and inputs that are nearest to a row of a liar.

A liar in numbers adds three standard deviations instead. Accuracy (or the root mean squared error, in standard
deviations of the target) is that of honest participants' final votes. No constant is chosen on seeds from 100
on, which the experiment uses.
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
from folkmoot.aggregation import (
    Aggregation,
    Auto,
    DawidSkene,
    HoldoutTrust,
    Known,
    Median,
    OwnAggregation,
    PeerReview,
    Plurality,
    Rows,
    TrimmedMean,
)
from folkmoot.aggregation.space import Space
from folkmoot.arrays import Array, Bools
from folkmoot.learning import ConsensusClassifier, ConsensusRegressor
from folkmoot.machine import one_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIES: Final[Mapping[str, float]] = {"nobody": 0.0, "sparing": 0.2, "backed": 0.6, "in their region": 0.2}
ALONE: Final = "own model"
OURS: Final[Mapping[str, Aggregation]] = {
    "plurality": Plurality(),
    "Dawid-Skene": DawidSkene(),
    "holdout trust": HoldoutTrust(),
    "peer review, global": PeerReview(local=False, expert=None),
    "peer review, local": PeerReview(expert=None),
    "peer review": PeerReview(),
    "auto": Auto(),
}
OF_NUMBERS: Final[Mapping[str, Aggregation]] = {
    "trimmed mean": TrimmedMean(),
    "median": Median(),
    "peer review, global": PeerReview(local=False),
    "peer review": PeerReview(),
    "auto": Auto(),
}
_FIRST: Final = 100  # seed by which nothing was chosen
_JUDGES: Final = 5
_ROWS: Final = 10
_FAR: Final = 3.0
_CLASSES: Final = 20  # from which whole numbers are numbers


@dataclass(frozen=True)
class Config:
    """Data by name, lies, and how many seeds."""

    data: tuple[str, ...] = (*LABELS, *NUMBERS)
    lies: tuple[str, ...] = tuple(LIES)
    seeds: int = 10


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


def one(data: str, lie: str, seed: int) -> dict[str, float]:
    """What every way comes to in one draw; beside it ``own: ...``, on inputs of the judges' own."""
    numbers = data in NUMBERS
    sites = (NUMBERS if numbers else LABELS)[data](seed)
    met = meeting(sites, lie, seed)
    judges = np.flatnonzero(met.honest)[:_JUDGES]
    known = Known(rows=met.rows, inputs=met.inputs, judges=judges, seed=seed)
    spread = float(np.std(sites.y)) if numbers else 1.0

    def score(said: Array, truth: Array) -> float:
        if numbers:
            return float(np.sqrt(((said - truth) ** 2).mean()) / spread)
        return float((said == truth).mean())

    found = {ALONE: float(np.mean([score(met.table[j], met.truth) for j in judges]))}
    classes = 0 if numbers else int(max(met.table.max(), met.rows.truth.max(), met.truth.max())) + 1
    known = replace(known, classes=None if numbers else classes)
    with one_thread():
        for name, rule in (OF_NUMBERS if numbers else OURS).items():
            if isinstance(rule, OwnAggregation):
                final = rule.final_votes(met.table, known).votes[judges]
                found[name] = float(np.mean([score(each, met.truth) for each in final]))
                if isinstance(rule, (Auto, PeerReview)) and not numbers and (met.whose >= 0).any():
                    found |= _of_own(name, rule, met, known)
            else:
                found[name] = score(rule.aggregate(met.table, replace(known, rows=None)).decision, met.truth)
        for name, rival in rivals.NUMBERS.items() if numbers else ():
            found[name] = score(rival(met.rows, met.table, met.inputs), met.truth)
        for name, other in () if numbers else rivals.LABELS.items():
            found[name] = score(other(met.rows, met.table, met.inputs, classes), met.truth)
    return found


def _of_own(name: str, rule: Auto | PeerReview, met: Meeting, known: Known) -> dict[str, float]:
    right: dict[str, list[float]] = {ALONE: [], name: []}
    for judge in known.judges.tolist() if known.judges is not None else []:
        own = np.flatnonzero(met.whose == judge)
        if not len(own):
            continue
        likely = rule.likely_of_own(met.table, known, judge)[own]
        right[name].append(float((likely.argmax(axis=1) == met.truth[own]).mean()))
        right[ALONE].append(float((met.table[judge, own] == met.truth[own]).mean()))
    return {f"own: {each}": float(np.mean(values)) for each, values in right.items() if values}
