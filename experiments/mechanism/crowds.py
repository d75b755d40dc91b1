"""``crowds``: gold tasks on twenty kinds of crowds, beside the majority, Dawid-Skene and rules of crowd-kit.

Constants were chosen on crowds of seeds below 1000.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.experiment import Experiment, Finding, Plan, Result
from experiments.mechanism.frozen import shared_right
from experiments.mechanism.kinds_of_crowds import KINDS, Drawn, draw
from folkmoot import aggregate
from folkmoot.aggregation import DawidSkene, PeerReview
from folkmoot.aggregation.gold import gold_known
from folkmoot.machine import one_thread
from folkmoot.votes import NO_VOTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEAR: Final = 0.005  # of accuracy that the mix may be below the better of the majority and Dawid-Skene
GOLD: Final = "gold"
MAJORITY: Final = "majority"
DAWID_SKENE: Final = "Dawid-Skene"
FIRST: Final = 1000


@dataclass(frozen=True)
class Config:
    """Kinds of crowds, crowds of each, and on how many of these crowd-kit is tried, which is slow."""

    kinds: tuple[str, ...] = tuple(KINDS)
    draws: int = 8
    rivals: int = 2


@dataclass(frozen=True)
class Accuracy:
    """How often a rule is right on tasks without gold, on each crowd of a kind."""

    kind: str
    rule: str
    on: tuple[float, ...]


@dataclass(frozen=True)
class CrowdsResult(Result):
    """All of them."""

    accuracies: tuple[Accuracy, ...]


def of_kind(kind: str, first: int, draws: int, rivals: int) -> list[Accuracy]:
    """Accuracies of all rules on crowds of a kind; those of crowd-kit on the first few."""
    found: dict[str, list[float]] = {}
    with one_thread():
        for number in range(draws):
            crowd = draw(KINDS[kind], first + number)
            rules = {**_ours(crowd), **(_rivals(crowd) if number < rivals else {})}
            for rule, accuracy in rules.items():
                found.setdefault(rule, []).append(accuracy)
    return [Accuracy(kind, rule, tuple(on)) for rule, on in found.items()]


def _ours(crowd: Drawn) -> dict[str, float]:
    left = np.setdiff1d(np.arange(len(crowd.truth)), crowd.gold)
    known = np.full(len(crowd.truth), NO_VOTE)
    known[crowd.gold] = crowd.truth[crowd.gold]
    answers = {
        MAJORITY: aggregate(crowd.votes),
        DAWID_SKENE: aggregate(crowd.votes, DawidSkene(), truth=known),
        GOLD: PeerReview().aggregate(crowd.votes, gold_known(crowd.votes, known, crowd.classes)),
    }
    return {rule: float(shared_right(each, crowd.truth)[left].mean()) for rule, each in answers.items()}


def _rivals(crowd: Drawn) -> dict[str, float]:
    """Rules of crowd-kit. Only its Dawid-Skene takes gold; MACE starts three times instead of ten."""
    pandas, kit = import_module("pandas"), _crowd_kit()
    who, task = np.nonzero(crowd.votes != NO_VOTE)
    votes = pandas.DataFrame({"task": task, "worker": who, "label": crowd.votes[who, task]})
    gold = pandas.Series(crowd.truth[crowd.gold], index=crowd.gold)
    left = np.setdiff1d(np.arange(len(crowd.truth)), crowd.gold)
    answers = {
        "crowd-kit's Dawid-Skene": kit.DawidSkene().fit_predict(votes, gold),
        "one coin": kit.OneCoinDawidSkene().fit_predict(votes),
        "GLAD": kit.GLAD().fit_predict(votes),
        "MACE": kit.MACE(n_restarts=3).fit_predict(votes),
    }
    return {
        rule: float((said.reindex(left).to_numpy() == crowd.truth[left]).mean())
        for rule, said in answers.items()
    }


def _crowd_kit() -> Any:
    try:
        return import_module("crowdkit.aggregation")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "crowds compares with crowd-kit: pip install crowd-kit, or run with --quick"
        ) from None


def cells(config: Config, seed: int) -> Plan:
    """A cell for each kind."""
    first = FIRST * (1 + seed)
    return {
        "kinds": {
            kind: partial(of_kind, kind=kind, first=first, draws=config.draws, rivals=config.rivals)
            for kind in config.kinds
        }
    }


def result(config: Config, found: Any) -> CrowdsResult:
    """A line for each kind, the best rival in it."""
    lines: list[Finding] = []
    best: list[float] = []
    mean: dict[str, list[float]] = {GOLD: [], MAJORITY: [], DAWID_SKENE: []}
    for kind, rows in found["kinds"].items():
        on = {each.rule: each.on for each in rows}
        for rule, values in mean.items():
            values.append(float(np.mean(on[rule])))
        better = max((MAJORITY, DAWID_SKENE), key=lambda rule: mean[rule][-1])
        apart = np.subtract(on[GOLD], on[better])
        below = -float(apart.mean())
        error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else np.nan
        rivals = {rule: float(np.mean(some)) for rule, some in on.items() if rule not in mean}
        said = ""
        if rivals:
            name = max(rivals, key=lambda rule: rivals[rule])
            here = float(np.mean(on[GOLD][: config.rivals]))
            best.append(rivals[name] - here)
            said = f"; of {config.rivals}: {here:.3f}, {name} {rivals[name]:.3f}"
        lines.append(
            Finding(
                f"{kind}: majority {mean[MAJORITY][-1]:.3f}, Dawid-Skene {mean[DAWID_SKENE][-1]:.3f}",
                f"goal: at most {NEAR} below the better of these",
                f"{mean[GOLD][-1]:.3f}" + said,
                difference=f"{-below:+.3f} ± {error:.3f}",
                reason=""
                if below <= NEAR
                else "on some crowds the votes speak for a story that gold does not refute",
                holds=below <= NEAR,
            )
        )
    ours, plain, skene = (float(np.mean(mean[rule])) for rule in (GOLD, MAJORITY, DAWID_SKENE))
    kept = sum(bool(line.holds) for line in lines)
    verdict = (
        f"{len(lines)} kinds, {config.draws} crowds of each: {ours:.3f}, majority {plain:.3f}, Dawid-Skene "
        f"with gold {skene:.3f}; {kept} kinds at most {NEAR} below the better of these"
    )
    if best:
        ahead = [each for each in best if each > NEAR]
        verdict += f"; the best rule of crowd-kit is ahead in {len(ahead)}" + (
            f", by at most {max(ahead):.3f}" if ahead else ""
        )
    notes = (
        "accuracy on tasks without gold; ties count as shares; ±: the standard error over crowds",
        "the best rival of each kind is the best by the truth, which nobody knows beforehand",
    )
    return CrowdsResult(
        verdict, tuple(lines), notes, tuple(each for some in found["kinds"].values() for each in some)
    )


def figures(found: CrowdsResult) -> dict[str, Figure]:
    """All rules by kind."""
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(each.kind for each in found.accuracies))
    figure = Figure(figsize=(7.5, 0.3 * len(kinds) + 1), layout="constrained")
    axes = figure.subplots()
    for rule in dict.fromkeys(each.rule for each in found.accuracies):
        some = [each for each in found.accuracies if each.rule == rule]
        axes.plot(
            [float(np.mean(each.on)) for each in some],
            [kinds.index(each.kind) for each in some],
            "D" if rule == GOLD else ".",
            label=rule,
        )
    axes.set_yticks(range(len(kinds)), kinds, fontsize=7)
    axes.set(xlabel="accuracy on tasks without gold")
    axes.invert_yaxis()
    axes.legend(fontsize=7)
    return {"crowds": figure}


EXPERIMENT: Final = Experiment(
    name="crowds",
    about="gold tasks on twenty kinds of crowds, beside the majority, Dawid-Skene and crowd-kit",
    claim="beyond the paper: at most .005 below the majority and Dawid-Skene on any kind",
    full=Config(),
    quick=replace(Config(), draws=6, rivals=0),
    cells=cells,
    result=result,
    figures=figures,
)
