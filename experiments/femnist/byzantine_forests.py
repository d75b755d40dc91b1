"""``femnist-byzantine``: random forests of single writers turn malicious.

Figure "feMNIST letters niid Byzantine", and the statistics of the first ten that turn (table "stats RF Byz
users", appendix C).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypedDict

import numpy as np

from experiments.experiment import Experiment, Plan, Result
from experiments.femnist.accuracy_panels import draw_sweep
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
from experiments.femnist.ensemble import LOCAL, LOCAL_TEST, PAPER, TalkSettings
from experiments.femnist.single_writers import votes_cell
from experiments.femnist.test_sets import counted, in_a_word, members_of, on_writers
from experiments.femnist.writer_votes import MemberVotes
from experiments.femnist.writers import notes_on_writers, sizes_of_test_sets
from folkmoot.arrays import Floats
from folkmoot.pictures.palette import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRONG, WEAK = "strong", "weak"
# Table "stats RF Byz users": mean, median and standard deviation on the test sets of 1, 10 and 100 writers.
PRINTED: Final = {
    STRONG: (
        Statistics(0.699, 0.714, 0.091),
        Statistics(0.610, 0.620, 0.037),
        Statistics(0.611, 0.619, 0.037),
    ),
    WEAK: (
        Statistics(0.601, 0.531, 0.114),
        Statistics(0.552, 0.521, 0.057),
        Statistics(0.554, 0.523, 0.053),
    ),
}


@dataclass(frozen=True)
class Config:
    """As in ``femnist-individual``, with the numbers of members that turn."""

    data: str | None = None
    writers: int = 101
    test_writers: tuple[int, ...] = (1, 10, 100)
    trees: int = 100
    byzantine: tuple[int, ...] = tuple(range(41))
    talk: TalkSettings = field(default_factory=TalkSettings)


class ByzantineVotes(TypedDict):
    """What the first cell returned."""

    forests: MemberVotes


class ByzantineFound(ByzantineVotes):
    """What all cells returned."""

    sweeps: dict[tuple[str, int], Sweep]  # by who turns and the writers of the test set


@dataclass(frozen=True)
class ByzantineResult(Result):
    """Sweeps: the strong turn on each test set, then the weak."""

    sweeps: tuple[Sweep, ...]
    alpha: int


def cells(config: Config, seed: int) -> Plan:
    """The forests."""
    most = max(config.test_writers)
    return {"forests": votes_cell(config.data, seed, "rf", config.writers, most, config.trees)}


def turning_order(accuracies: Floats, kind: str, seed: int) -> list[int]:
    """Members above (strong) or below the average in random order; then the rest, the nearest first."""
    away = accuracies - accuracies.mean() if kind == STRONG else accuracies.mean() - accuracies
    chosen = np.random.default_rng([seed, 2]).permutation(np.flatnonzero(away > 0))
    rest = np.flatnonzero(away <= 0)
    return [*chosen.tolist(), *rest[np.argsort(-away[rest], kind="stable")].tolist()]


def _orders(votes: MemberVotes, sizes: Sequence[int]) -> dict[str, list[int]]:
    """Who turns, in which order: by the accuracy on the largest test set."""
    skill = members_of(votes, sizes[-1]).accuracies
    return {kind: turning_order(skill, kind, votes.seed) for kind in (STRONG, WEAK)}


def then(config: Config, found: ByzantineVotes) -> Plan:
    """A sweep for the strong and one for the weak on each test set."""
    votes = found["forests"]
    sizes = sizes_of_test_sets(config.test_writers, len(votes.letters))
    return {
        "sweeps": {
            (kind, size): sweep_cell(votes, size, config.talk, order, config.byzantine, kind)
            for kind, order in _orders(votes, sizes).items()
            for size in sizes
        }
    }


def result(config: Config, found: ByzantineFound) -> ByzantineResult:
    """The paper's statements, judged."""
    votes, sweeps = found["forests"], tuple(found["sweeps"].values())
    sizes = sizes_of_test_sets(config.test_writers, len(votes.letters))
    members = {size: members_of(votes, size) for size in sizes}
    skill = members[sizes[-1]].accuracies  # on the largest test set
    orders = _orders(votes, sizes)
    strong = [each for each in sweeps if each.turned == STRONG]
    local = (LOCAL_TEST, LOCAL)
    findings = [
        *(
            statistics_finding(
                f"{kind} turned", PRINTED[kind], size, members[size].accuracies[orders[kind][:SAMPLE]]
            )
            for kind in (STRONG, WEAK)
            for size in sizes
        ),
        *lead_findings(sweeps, PAPER, FEW, "consensus outperforms the majority"),
        *lead_findings(strong, local, SOME, "increased resilience", "strong turned, "),
        *lead_findings(strong, local, MOST, "", "strong turned, "),
        *(finding for each in sweeps for finding in loss_finding(each)),
    ]
    above = int((skill > skill.mean()).sum())
    short = min(above, len(skill) - above) < max(config.byzantine)
    return ByzantineResult(
        verdict=_verdict(sweeps, strong),
        findings=tuple(findings),
        notes=(
            *notes_on_writers(config.writers, len(votes.members), config.test_writers, votes.letters),
            f"Strong are the {above} forests above the average on {on_writers(sizes[-1])}, weak the other "
            f"{len(skill) - above}; they turn in random order"
            + (", and when they run out the nearest to them." if short else "."),
            *notes_on_sweeps(config.talk, sweeps),
        ),
        sweeps=sweeps,
        alpha=config.talk.alpha,
    )


def _verdict(sweeps: Sequence[Sweep], strong: Sequence[Sweep]) -> str:
    few = {name: leads(sweeps, name, FEW) for name in PAPER}
    some = {name: leads(strong, name, SOME) for name in (LOCAL_TEST, LOCAL)}
    first = "; ".join(f"{name} is {counted(found)}" for name, found in few.items() if found)
    second = "; ".join(f"{name} is {counted(found)}" for name, found in some.items() if found)
    judged = [found for found in (*few.values(), *some.values()) if found]
    return (
        f"{in_a_word(judged)} Against the majority, with f < alpha liars, both samples and all test sets: "
        f"{first}." + (f" With strong ones turned and {SOME}: {second}." if second else "")
    )


def figures(result: ByzantineResult) -> dict[str, Figure]:
    """Accuracy against the number of perfectly malicious forests."""
    columns = len({sweep.writers for sweep in result.sweeps})
    figure, axes = panels(2, columns, size=(3.7, 2.9))
    for row, kind in enumerate((STRONG, WEAK)):
        mine = axes[row * columns : (row + 1) * columns]
        for each, sweep in zip(mine, [s for s in result.sweeps if s.turned == kind], strict=True):
            draw_sweep(each, sweep, result.alpha)
        mine[0].set_ylabel(f"accuracy, {kind} turn")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return {"femnist-byzantine": figure}


EXPERIMENT = Experiment(
    name="femnist-byzantine",
    about="101 random forests of single writers, of which up to 40 turn perfectly malicious",
    claim=(
        "Section 5.1, figure 'feMNIST letters niid Byzantine': consensus outperforms the majority as long as "
        "the number f of perfectly malicious forests is not too large; when strong ones turn, local Slush "
        "has increased resilience compared to the majority. Table 'stats RF Byz users' describes ten."
    ),
    full=Config(),
    quick=Config(writers=25, test_writers=(1, 5, 10), trees=25, byzantine=tuple(range(11))),
    cells=cells,
    result=result,
    figures=figures,
    then=then,
    needs_data=True,
)
