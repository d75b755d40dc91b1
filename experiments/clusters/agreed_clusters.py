"""``clusters``: participants agree on one clustering, beside what a centre makes of the same partitions.

Section 3 of the paper names consensus clustering, whose consensus functions "also assume that participants
are honest", as a further use; this is what a talk among those who trust each other makes of it
(docs/cluster.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, TypedDict

import numpy as np

from experiments.clusters.objects import ALL, CANCER, DIGITS, FEMNIST, Objects, load, partitions
from experiments.experiment import Cell, Experiment, Finding, Plan, Result
from folkmoot.arrays import Floats, Ints
from folkmoot.clustering.adversaries import PARTITION_ATTACKS
from folkmoot.clustering.agreeing import ROUNDS, cluster, conclude, propose, with_lies
from folkmoot.clustering.clustering import ClusteringWarning
from folkmoot.clustering.consensus_partitions import bipartite_consensus, evidence_accumulation
from folkmoot.clustering.partitions import cross, medoid
from folkmoot.pictures.palette import GREY, SERIES, panels
from folkmoot.votes import numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOBODY: Final = "nobody"
_CHOSEN_ON: Final = 3  # seeds 0 to 2, which constants were chosen on; the study begins after them
_GOOD_ENOUGH: Final = 0.35  # of the mean participant, for a unanimous end
_NEAR: Final = 0.02
# What must be reached: data set, attack, least adjusted Rand index of the mean participant at the end.
_GOALS: Final = (
    (DIGITS, NOBODY, 0.60),
    (DIGITS, "clique", 0.60),
    (DIGITS, "shifted", 0.57),
    (CANCER, NOBODY, 0.64),
    (CANCER, "clique", 0.64),
)


@dataclass(frozen=True)
class Config:
    """Of n participants some lie; each model is fitted on so many rows. Seeds begin after the first three."""

    data: str | None = None
    n: int = 31
    rows: int = 100
    seeds: int = 10
    liars: tuple[int, ...] = (6, 12, 18)
    attacks: tuple[str, ...] = tuple(PARTITION_ATTACKS)
    names: tuple[str, ...] = ALL
    objects: int = 5000  # at the most


@dataclass(frozen=True)
class ClusterPoint:
    """One data set, attack, number of liars and seed: adjusted Rand indices with the true clusters."""

    name: str
    seed: int
    attack: str
    liars: int
    objects: int
    alone: float  # of the mean honest participant before
    alone_worst: float
    evidence: float  # evidence accumulation on what was revealed
    bipartite: float
    medoid: float  # of the most typical partition that was revealed
    mean: float  # of the mean honest participant at the end
    worst: float
    unknown: float  # of the labels, where nobody is known to lie and liars follow the rule from their lie
    rounds: int
    unanimous: bool
    anchored: float  # share of the honest


@dataclass(frozen=True)
class NumberPoint:
    """Where the number of clusters is not given, and each has made a number of its own."""

    name: str
    seed: int
    true: int
    agreed: int
    usual: int  # the weighted median of the participants' numbers
    suggested: int  # by the eigengap, from 2 to 20
    score: float
    with_usual: float
    with_suggested: float


class ClustersFound(TypedDict):
    """What the cells returned."""

    points: dict[tuple[str, int, str, int], ClusterPoint]  # by data set, seed, attack and liars
    numbers: dict[tuple[str, int], NumberPoint]


@dataclass(frozen=True)
class ClustersResult(Result):
    """All points."""

    participants: int
    points: tuple[ClusterPoint, ...]
    numbers: tuple[NumberPoint, ...]


def numbers_agreed(name: str, data: str | None, seed: int, n: int, rows: int, objects: int) -> NumberPoint:
    """Nobody lies, everybody has made some number of clusters, and none is given."""
    things = load(name, data, seed, objects)
    free = partitions(things, n, rows, seed, any_number=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClusteringWarning)
        agreed = cluster(free)
        usual = cluster(free, agreed.usual_clusters)
        hinted = cluster(free, agreed.suggested_clusters)
    return NumberPoint(
        name, seed, things.clusters, agreed.n_clusters, agreed.usual_clusters, agreed.suggested_clusters,
        *(_score(things, each.labels) for each in (agreed, usual, hinted)),
    )  # fmt: skip


def clusters_agreed(
    name: str, data: str | None, seed: int, n: int, rows: int, objects: int, attack: str, liars: int
) -> ClusterPoint:
    """Everybody's partitions of one data set under one attack, agreed on and by a centre."""
    things, said = _made(name, data, seed, n, rows, objects)
    order = np.random.default_rng([seed, 4]).permutation(n).tolist()
    number = things.clusters
    adversaries = dict.fromkeys(order[:liars], PARTITION_ATTACKS[attack]) if liars else {}
    handed, lies = with_lies(said, adversaries, number, seed)
    everybody = np.ones(n, dtype=np.bool_)
    honest = [i for i in range(n) if i not in adversaries]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClusteringWarning)  # what they would say is in the point
        proposals = propose(handed, everybody, number)  # for both, as no consensus depends on other listeners
        names = tuple(map(str, range(n)))
        agreed = conclude(proposals, np.isin(np.arange(n), honest), lies, ROUNDS, names)
        unknown = conclude(proposals, everybody, {}, ROUNDS, names) if liars else agreed
    alone, ends = _scores(things, said[honest]), _scores(things, agreed.held[honest])
    return ClusterPoint(
        name=name, seed=seed, attack=attack, liars=liars, objects=len(things.truth),
        alone=float(alone.mean()), alone_worst=float(alone.min()),
        evidence=_score(things, evidence_accumulation(handed, number)),
        bipartite=_score(things, bipartite_consensus(handed, number)),
        medoid=_score(things, handed[medoid(handed)]),
        mean=float(ends.mean()), worst=float(ends.min()), unknown=_score(things, unknown.labels),
        rounds=agreed.rounds, unanimous=agreed.unanimous, anchored=float(agreed.judges[honest].mean()),
    )  # fmt: skip


@lru_cache(maxsize=2)  # the cells of a seed come one after the other
def _made(name: str, data: str | None, seed: int, n: int, rows: int, objects: int) -> tuple[Objects, Ints]:
    """The objects, and everybody's own partition of them."""
    things = load(name, data, seed, objects)
    return things, numbered(partitions(things, n, rows, seed))


def _scores(things: Objects, labels: Ints) -> Floats:
    """(row,): adjusted Rand indices of partitions with the true clusters."""
    return cross(numbered(labels), things.truth[None]).rand[:, 0]


def _score(things: Objects, labels: Ints) -> float:
    return float(_scores(things, labels[None])[0])


def cells(config: Config, seed: int) -> Plan:
    """One for each data set, seed and attack; FEMNIST where its data are given."""
    first = seed + _CHOSEN_ON
    stories = [(NOBODY, 0), *((attack, f) for attack in config.attacks for f in config.liars)]
    points: dict[tuple[str, int, str, int], Cell] = {}
    numbers: dict[tuple[str, int], Cell] = {}
    names = [name for name in config.names if name != FEMNIST or config.data is not None]
    for each in range(first, first + config.seeds):  # seed by seed: a run that is stopped has all of some
        for name in names:
            data = config.data if name == FEMNIST else None
            common: dict[str, Any] = {
                "name": name, "data": data, "seed": each, "n": config.n, "rows": config.rows,
                "objects": config.objects,
            }  # fmt: skip
            numbers[name, each] = partial(numbers_agreed, **common)
            for attack, f in stories:
                points[name, each, attack, f] = partial(clusters_agreed, **common, attack=attack, liars=f)
    return {"points": points, "numbers": numbers}


def result(config: Config, found: ClustersFound) -> ClustersResult:
    """The goals, judged; then every setting."""
    points = tuple(found["points"].values())
    numbers = tuple(found["numbers"].values())
    most = max(config.liars)
    goals = [*_reached(points, most), _unanimous(points), *_beside_a_centre(points)]
    held = [goal.holds for goal in goals]
    seeds = sorted({point.seed for point in points})
    there = [p for p in points if (p.name, p.attack, p.liars) == (DIGITS, "clique", most)]
    digits = (
        f" Digits with {most} of {config.n} in a clique: {_over(there, 'mean')} (evidence accumulation "
        f"{_over(there, 'evidence')})."
        if there
        else ""
    )
    return ClustersResult(
        verdict=f"Beyond the paper. {sum(map(bool, held))} of {len(held)} goals are reached.{digits}",
        findings=(*goals, *_settings(points), *_numbers(numbers)),
        notes=(
            f"{config.n} participants, each with k-means of {config.rows} rows and half of the columns; "
            "n_clusters is given. Numbers are adjusted Rand indices with the true classes, means over "
            f"{len(seeds)} seeds ({seeds[0]} to {seeds[-1]}); constants were chosen on seeds 0 to 2. Worst "
            "is the mean over seeds of the worst honest participant.",
            "Alone is the mean honest participant before; a centre gets what everybody reveals. Unknown: "
            "nobody is known to lie, liars follow the rule from their lie, and labels are read from outside.",
            *(() if config.data is not None else ("FEMNIST was left out: --data names no file.",)),
        ),
        participants=config.n, points=points, numbers=numbers,
    )  # fmt: skip


def _reached(points: Sequence[ClusterPoint], most: int) -> list[Finding]:
    findings = []
    for name, attack, least in _GOALS:
        here = [p for p in points if p.name == name and p.attack == attack and p.liars in (0, most)]
        if here:
            mean, worst = _mean([p.mean for p in here]), _mean([p.worst for p in here])
            where = "nobody lying" if attack == NOBODY else f"{most} liars, {attack}"
            findings.append(
                Finding(
                    f"{name}, {where}", f"not in the paper; goal: {least}",
                    f"mean {mean:.3f}, worst {worst:.3f}",
                    holds=mean >= least,
                )
            )  # fmt: skip
    return findings


def _unanimous(points: Sequence[ClusterPoint]) -> Finding:
    here = [point for point in points if point.alone >= _GOOD_ENOUGH]
    quick = [point for point in here if point.unanimous and point.rounds <= 3]
    slow = sorted({f"{p.name}, {p.attack} {p.liars}" for p in here if p not in quick})
    return Finding(
        f"unanimous within 3 rounds where the mean participant has {_GOOD_ENOUGH} or more",
        "not in the paper; goal: always",
        f"{len(quick)} of {len(here)} runs",
        reason="; ".join(slow[:6]) + ("; ..." if len(slow) > 6 else ""),
        holds=len(quick) == len(here),
    )


def _beside_a_centre(points: Sequence[ClusterPoint]) -> list[Finding]:
    findings = []
    for name in dict.fromkeys(point.name for point in points):
        here = [point for point in points if point.name == name and point.attack == NOBODY]
        ours = _mean([p.mean for p in here])
        centre = {
            "evidence accumulation": _mean([p.evidence for p in here]),
            "bipartite": _mean([p.bipartite for p in here]),
        }
        findings.append(
            Finding(
                f"{name}, nobody lying: beside a centre",
                "a centre: " + ", ".join(f"{rule} {score:.3f}" for rule, score in centre.items()),
                f"{ours:.3f}",
                difference=f"{ours - max(centre.values()):+.3f}",
                holds=ours >= max(centre.values()) - _NEAR,
            )
        )
    return findings


def _settings(points: Sequence[ClusterPoint]) -> list[Finding]:
    """A row for each data set, attack and number of liars; nothing to judge."""
    keys = dict.fromkeys((point.name, point.attack, point.liars) for point in points)
    rows = []
    for name, attack, liars in keys:
        here = [p for p in points if (p.name, p.attack, p.liars) == (name, attack, liars)]
        rows.append(
            Finding(
                f"{name}, {attack} {liars}" if liars else f"{name}, nobody lying",
                f"alone {_over(here, 'alone')}, evidence {_over(here, 'evidence')}, bipartite "
                f"{_over(here, 'bipartite')}, medoid {_over(here, 'medoid')}",
                f"mean {_over(here, 'mean')}, worst {_over(here, 'worst')}, unknown {_over(here, 'unknown')}",
                difference=f"{max(p.rounds for p in here)} rounds at most, "
                f"{_mean([p.anchored for p in here]):.0%} anchored",
            )
        )
    return rows


def _numbers(numbers: Sequence[NumberPoint]) -> list[Finding]:
    rows = []
    for name in dict.fromkeys(each.name for each in numbers):
        here = [each for each in numbers if each.name == name]
        words = [
            f"{what} {min(numbers)} to {max(numbers)}: {_over(here, score)}"
            for what, name_of, score in (
                ("agreed", "agreed", "score"),
                ("median", "usual", "with_usual"),
                ("eigengap", "suggested", "with_suggested"),
            )
            for numbers in [[getattr(each, name_of) for each in here]]
        ]
        rows.append(
            Finding(
                f"{name}, number not given: each has made 2 to {2 * here[0].true}",
                f"{here[0].true} clusters",
                "; ".join(words),
            )
        )
    return rows


def _over(points: Sequence[ClusterPoint] | Sequence[NumberPoint], what: str) -> str:
    """The mean of one of their numbers, in words."""
    return f"{_mean([getattr(each, what) for each in points]):.3f}"


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def figures(result: ClustersResult) -> dict[str, Figure]:
    """A panel for each data set: the mean participant under each attack; dashed: a centre."""
    names = list(dict.fromkeys(point.name for point in result.points))
    figure, axes = panels(-(-len(names) // 3), min(3, len(names)))
    attacks = [each for each in dict.fromkeys(point.attack for point in result.points) if each != NOBODY]
    for name, panel in zip(names, axes, strict=False):
        here = [point for point in result.points if point.name == name]
        counts = sorted({point.liars for point in here})

        for colour, attack in zip(SERIES, attacks, strict=False):
            panel.plot(counts, _line(here, attack, "mean"), color=colour, marker=".", label=attack)
        if "clique" in attacks:
            panel.plot(counts, _line(here, "clique", "evidence"), "--", color=GREY, label="a centre, clique")
        panel.set(title=name, xlabel=f"liars of {result.participants}", xticks=counts, ylim=(-0.03, 1.03))
    axes[0].set_ylabel("adjusted Rand index")
    axes[0].legend(frameon=False, fontsize=7)
    for spare in axes[len(names) :]:
        spare.set_visible(False)
    return {"clusters": figure}


def _line(points: Sequence[ClusterPoint], attack: str, what: str) -> list[float]:
    """Means over seeds, by the number of liars; that of nobody is any attack's first."""
    counts = sorted({point.liars for point in points})
    return [
        _mean([getattr(p, what) for p in points if p.liars == f and p.attack in (attack, NOBODY)])
        for f in counts
    ]


EXPERIMENT = Experiment(
    name="clusters",
    about="one clustering agreed by 31 participants, up to 18 of whom lie in six ways",
    claim=(
        "Section 3: the consensus functions of consensus clustering are centralised and assume that "
        "participants are honest; a peer-to-peer adaptation can be implemented by adding a communication "
        "phase. Beyond the paper: such a phase, with more than half of the participants lying."
    ),
    full=Config(),
    quick=Config(
        seeds=1,
        liars=(18,),
        attacks=("clique", "shifted", "adaptive"),
        names=(DIGITS, CANCER),
        objects=600,
    ),
    cells=cells,
    result=result,
    figures=figures,
    needs_data=True,
)
