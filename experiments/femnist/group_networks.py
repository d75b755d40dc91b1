"""``femnist-cnn``: 101 small convolutional networks of groups of writers (figure "feMNIST letters niid CNN").

With the statistics of the first ten that turn malicious (table "stats CNN Byz users", appendix C).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypedDict

import numpy as np

from experiments.experiment import Experiment, Finding, Plan, Result
from experiments.femnist.accuracy_panels import draw_sweep, draw_test, draw_validation, span
from experiments.femnist.byzantine_sweep import (
    FEW,
    MOST,
    SAMPLE,
    SOME,
    Statistics,
    Sweep,
    lead_findings,
    leads,
    loss_finding,
    notes_on_sweeps,
    statistics_finding,
    sweep_cell,
)
from experiments.femnist.cnn import fit_groups
from experiments.femnist.ensemble import BEYOND, LOCAL, LOCAL_TEST, SLUSH, TalkSettings
from experiments.femnist.single_writers import votes_cell
from experiments.femnist.test_sets import (
    Ensemble,
    accuracy_findings,
    assess_cell,
    counted,
    in_a_word,
    members_of,
    on_writers,
)
from experiments.femnist.writer_votes import MemberVotes, joined
from experiments.femnist.writers import letters_of_test_sets, notes_on_groups, sizes_of_test_sets
from folkmoot.arrays import Floats
from folkmoot.pictures.palette import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Table "stats CNN Byz users": mean, median and standard deviation on the test sets of 1, 10 and 100 writers.
PRINTED: Final = (
    Statistics(0.800, 0.816, 0.090),
    Statistics(0.711, 0.726, 0.044),
    Statistics(0.715, 0.727, 0.044),
)
_CELL: Final = 3  # networks in a cell: those of one of LEAF's files


@dataclass(frozen=True)
class Config:
    """``writers`` are those of ``femnist-individual``: both have the same test sets."""

    data: str | None = None
    groups: int = 101
    writers: int = 101
    test_writers: tuple[int, ...] = (1, 10, 100)
    epochs: int = 10
    trees: int = 100  # of the forests
    byzantine: tuple[int, ...] = tuple(range(41))
    talk: TalkSettings = field(default_factory=TalkSettings)


class CnnVotes(TypedDict):
    """What the first cells returned."""

    forests: MemberVotes  # of single writers, to compare with
    networks: dict[int, MemberVotes]  # by the first of the groups in a cell


class CnnFound(CnnVotes):
    """What all cells returned."""

    ensemble: Ensemble
    sweeps: dict[int, Sweep]  # by the writers of the test set


@dataclass(frozen=True)
class CnnResult(Result):
    """The networks by themselves and together, and a sweep for each test set."""

    ensemble: Ensemble
    sweeps: tuple[Sweep, ...]
    alpha: int


def cells(config: Config, seed: int) -> Plan:
    """The forests of single writers to compare with; then three networks each, so that little is lost."""
    most = max(config.test_writers)
    return {
        "forests": votes_cell(config.data, seed, "rf", config.writers, most, config.trees),
        "networks": {
            first: partial(
                fit_groups,
                data=config.data,
                seed=seed,
                groups=config.groups,
                first=first,
                last=min(first + _CELL, config.groups),
                writers=config.writers,
                test_writers=most,
                epochs=config.epochs,
            )
            for first in range(0, config.groups, _CELL)
        },
    }


def representative_order(accuracies: Floats, seed: int) -> list[int]:
    """One member drawn from each tenth of the ranking, in random order; then the rest, likewise."""
    rng = np.random.default_rng([seed, 3])
    tenths = np.array_split(np.argsort(accuracies, kind="stable"), min(SAMPLE, len(accuracies)))
    first = rng.permutation([rng.choice(tenth) for tenth in tenths])
    rest = np.setdiff1d(np.arange(len(accuracies)), first)
    return [*first.tolist(), *rng.permutation(rest).tolist()]


def then(config: Config, found: CnnVotes) -> Plan:
    """The talk about the test sets, and a sweep on each."""
    votes = joined(list(found["networks"].values()))
    sizes = sizes_of_test_sets(config.test_writers, len(votes.letters))
    order = representative_order(members_of(votes, sizes[-1]).accuracies, votes.seed)
    return {
        "ensemble": assess_cell("CNN", votes, config.test_writers, config.talk),
        "sweeps": {
            size: sweep_cell(votes, size, config.talk, order, config.byzantine, "representative")
            for size in sizes
        },
    }


def result(config: Config, found: CnnFound) -> CnnResult:
    """The paper's statements, judged."""
    ensemble, sweeps = found["ensemble"], tuple(found["sweeps"].values())
    votes = joined(list(found["networks"].values()))
    sizes = sizes_of_test_sets(config.test_writers, len(votes.letters))
    members = {size: members_of(votes, size) for size in sizes}
    order = representative_order(members[sizes[-1]].accuracies, votes.seed)
    last = ensemble.tests[-1]
    local = (LOCAL_TEST, LOCAL)
    singles = float(members_of(found["forests"], sizes[-1]).accuracies.mean())
    findings = [
        Finding(
            f"mean accuracy on {on_writers(last.writers)}: networks of groups, forests of single writers",
            "generalise much better",
            f"{last.mean:.3f}, {singles:.3f}",
            holds=last.mean > singles,
        ),
        *(
            statistics_finding("turned", PRINTED, size, members[size].accuracies[order[:SAMPLE]])
            for size in sizes
        ),
        *accuracy_findings(ensemble),
        *lead_findings(sweeps, local, FEW, "increased robustness"),
        *lead_findings(sweeps, (SLUSH,), FEW, ""),
        *lead_findings(sweeps, local, SOME, "can outperform even for larger f"),
        *lead_findings(sweeps, local, MOST, ""),
        *(finding for each in sweeps for finding in loss_finding(each)),
        Finding(
            f"{on_writers(last.writers)}: beyond the paper",
            "not in the paper",
            f"mean participant {last.mean:.4f}, best {last.best:.4f}, "
            + ", ".join(f"{name} {last.method(name)}" for name in BEYOND),
        ),
    ]
    return CnnResult(
        verdict=_verdict(ensemble, sweeps, singles),
        findings=tuple(findings),
        notes=(
            letters_of_test_sets(config.test_writers, votes.letters),
            *notes_on_groups(votes.members, config.groups),
            "Where the paper leaves the network open: two outputs with softmax and cross-entropy, He's "
            "uniform weights in the convolution and the dense layer and Glorot's in the output, no padding.",
            f"The first {SAMPLE} that turn are one from each tenth of the ranking on "
            f"{on_writers(sizes[-1])}, the rest follow in random order.",
            *notes_on_sweeps(config.talk, sweeps),
        ),
        ensemble=ensemble,
        sweeps=sweeps,
        alpha=config.talk.alpha,
    )


def _verdict(ensemble: Ensemble, sweeps: Sequence[Sweep], singles: float) -> str:
    last = ensemble.tests[-1]
    found = {
        (name, which): leads(sweeps, name, which) for which in (FEW, SOME) for name in (LOCAL_TEST, LOCAL)
    }
    parts = [f"{name} with {which} is {counted(each)}" for (name, which), each in found.items() if each]
    better = "better" if last.mean > singles else "no better"
    return (
        f"Networks of groups generalise {better} than forests of single writers: {last.mean:.3f} against "
        f"{singles:.3f} on {on_writers(last.writers)}. That local Slush outperforms the majority among "
        f"liars: {in_a_word([each for each in found.values() if each]).lower()} Against the majority, "
        f"over the test sets: {'; '.join(parts)}."
    )


def figures(result: CnnResult) -> dict[str, Figure]:
    """Each test set has a column; the place below validation holds the legend."""
    columns = 1 + len(result.sweeps)
    figure, axes = panels(2, columns, size=(3.5, 2.8))
    draw_validation(axes[0], result.ensemble)
    limits = span([result.ensemble])
    for each, test in zip(axes[1:columns], result.ensemble.tests, strict=True):
        draw_test(each, test)
        each.set_xlim(*limits)
    corner, *below = axes[columns:]
    for each, sweep in zip(below, result.sweeps, strict=True):
        draw_sweep(each, sweep, result.alpha)
    below[0].set_ylabel("accuracy")
    corner.axis("off")
    corner.legend(*axes[1].get_legend_handles_labels(), loc="center", frameon=False)
    return {"femnist-cnn": figure}


EXPERIMENT = Experiment(
    name="femnist-cnn",
    about="101 small convolutional networks of groups of 33 writers, of which up to 40 turn malicious",
    claim=(
        "Section 5.1, figure 'feMNIST letters niid CNN': networks of groups of writers generalise much "
        "better than models of single writers; local Slush has increased robustness against perfectly "
        "malicious members and can outperform the majority even for larger f. Table 'stats CNN Byz "
        "users' describes the first ten."
    ),
    full=Config(),
    quick=Config(
        groups=11,
        writers=25,
        test_writers=(1, 5, 10),
        epochs=3,
        trees=25,
        byzantine=(0, 1, 2, 3, 4),
        talk=TalkSettings(repeats=5),
    ),
    cells=cells,
    result=result,
    figures=figures,
    then=then,
    needs_data=True,
)
