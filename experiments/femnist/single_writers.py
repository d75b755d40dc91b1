"""``femnist-individual``: 101 models of single writers (figure "feMNIST letters niid", section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from experiments.experiment import Cell, Experiment, Finding, Plan, Result
from experiments.femnist.accuracy_panels import draw_test, draw_validation, span
from experiments.femnist.ensemble import BEYOND, LOCAL, LOCAL_TEST, PAPER, SLUSH, Lead, TalkSettings
from experiments.femnist.test_sets import (
    Ensemble,
    accuracy_findings,
    assess_cell,
    counted,
    in_a_word,
    on_writers,
)
from experiments.femnist.writer_votes import FAMILIES, MemberVotes, fit_family
from experiments.femnist.writers import notes_on_writers
from folkmoot.comparing.printing import times
from folkmoot.pictures.palette import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """Who is trained on what; ``trees`` are those of a forest and the rounds of a booster."""

    data: str | None = None
    writers: int = 101
    test_writers: tuple[int, ...] = (1, 10, 100)
    families: tuple[str, ...] = tuple(FAMILIES)
    trees: int = 100
    talk: TalkSettings = field(default_factory=TalkSettings)


class IndividualVotes(TypedDict):
    """What the first cells returned."""

    votes: dict[str, MemberVotes]  # by family


class IndividualFound(IndividualVotes):
    """What all cells returned."""

    ensembles: dict[str, Ensemble]  # by family


@dataclass(frozen=True)
class IndividualResult(Result):
    """An ensemble for each family of models."""

    families: tuple[Ensemble, ...]
    talk: TalkSettings


def votes_cell(data: str | None, seed: int, family: str, writers: int, test_writers: int, trees: int) -> Cell:
    """Also a cell of ``femnist-byzantine``: equal arguments, so it is computed once."""
    return partial(
        fit_family,
        data=data,
        seed=seed,
        family=family,
        writers=writers,
        test_writers=test_writers,
        trees=trees,
    )


def cells(config: Config, seed: int) -> Plan:
    """One for each family."""
    return {
        "votes": {
            family: votes_cell(
                config.data, seed, family, config.writers, max(config.test_writers), config.trees
            )
            for family in config.families
        }
    }


def then(config: Config, found: IndividualVotes) -> Plan:
    """The talk of each family."""
    return {
        "ensembles": {
            family: assess_cell(FAMILIES[family], votes, config.test_writers, config.talk)
            for family, votes in found["votes"].items()
        }
    }


def result(config: Config, found: IndividualFound) -> IndividualResult:
    """The paper's statements, judged."""
    ensembles = tuple(found["ensembles"].values())
    leads = {name: [t.method(name).lead for e in ensembles for t in e.tests] for name in PAPER}
    findings = [
        *(_validation(ensemble) for ensemble in ensembles),
        *(_generalises(ensemble) for ensemble in ensembles),
        *(finding for ensemble in ensembles for finding in accuracy_findings(ensemble)),
        *(_better(name, leads[name]) for name in PAPER),
        *(_beyond(ensemble) for ensemble in ensembles),
    ]
    first = found["votes"][config.families[0]]  # all families have the same writers
    return IndividualResult(
        verdict=_verdict(leads, ensembles),
        findings=tuple(findings),
        notes=(
            *notes_on_writers(config.writers, len(first.members), config.test_writers, first.letters),
            f"The talk was played {times(config.talk.repeats)}; ± is the standard error over repetitions. "
            "Leads over the majority have a standard error over letters, taken as independent; ahead and "
            "behind mean by more than three of them.",
            "Local thresholds 'by test' are set from the accuracy on the test letters themselves, as the "
            "paper does: no participant could know it. 'By validation' are from the 20% each held out, about "
            f"{round(sum(first.held_out) / len(first.held_out))} letters, so they are coarse.",
            "Weights of the weighted majority and of weighted Slush are log-odds of (right + 1) / "
            "(held out + 2) on validation; in weighted Slush none is below 0.",
        ),
        families=ensembles,
        talk=config.talk,
    )


def _validation(ensemble: Ensemble) -> Finding:
    models = len(ensemble.validation)
    return Finding(
        f"{ensemble.name}: models above 50% on validation",
        "all",
        f"{ensemble.above_half} of {models}, mean accuracy {sum(ensemble.validation) / models:.3f}",
        reason="" if ensemble.above_half == models else "a validation set has about 10 letters",
        holds=ensemble.above_half == models,
    )


def _generalises(ensemble: Ensemble) -> Finding:
    last = ensemble.tests[-1]
    validation = sum(ensemble.validation) / len(ensemble.validation)
    return Finding(
        f"{ensemble.name}: unseen handwriting is harder than one's own",
        "many models do not generalise very well",
        f"mean accuracy {validation:.3f} on validation, {last.mean:.3f} on {on_writers(last.writers)}",
        holds=last.mean < validation,
    )


def _better(name: str, leads: Sequence[Lead]) -> Finding:
    return Finding(
        f"{name} against the majority, all families and test sets",
        "can perform better",
        counted(leads),
        reason="holds if ahead more often than behind, by more than three standard errors over letters",
        holds=sum(lead.sign for lead in leads) > 0,
    )


def _beyond(ensemble: Ensemble) -> Finding:
    last = ensemble.tests[-1]
    others = ", ".join(f"{name} {last.method(name)}" for name in BEYOND)
    return Finding(
        f"{ensemble.name}, {on_writers(last.writers)}: beyond the paper",
        "not in the paper",
        f"mean participant {last.mean:.4f}, best {last.best:.4f}, {others}",
    )


def _verdict(leads: dict[str, list[Lead]], ensembles: Sequence[Ensemble]) -> str:
    order = (SLUSH, LOCAL_TEST, LOCAL)
    parts = "; ".join(f"{name} is {counted(leads[name])}" for name in order)
    ahead = [
        f"{name} with {ensemble.name} on {on_writers(test.writers)} ({test.method(name).lead})"
        for name in order
        for ensemble in ensembles
        for test in ensemble.tests
        if test.method(name).lead.sign > 0
    ]
    below = sum(len(each.validation) - each.above_half for each in ensembles)
    return (
        f"{in_a_word([leads[name] for name in order])} Against the majority, over families and test sets: "
        f"{parts}."
        + (f" Ahead: {', '.join(ahead)}." if ahead else "")
        + (f" {below} models are not above 50% on their own validation letters." if below else "")
    )


def figures(result: IndividualResult) -> dict[str, Figure]:
    """Distributions of accuracies, with majority and consensus as vertical lines."""
    columns = 1 + max(len(family.tests) for family in result.families)
    figure, axes = panels(len(result.families), columns, size=(3.3, 2.5))
    limits = span(result.families)
    for row, family in enumerate(result.families):
        mine = axes[row * columns : (row + 1) * columns]
        draw_validation(mine[0], family)
        for each, test in zip(mine[1:], family.tests, strict=True):
            draw_test(each, test)
            each.set_xlim(*limits)
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return {"femnist-individual": figure}


EXPERIMENT = Experiment(
    name="femnist-individual",
    about="101 models of single writers tell lower from upper case; three families, three test sets",
    claim=(
        "Section 5.1, figure 'feMNIST letters niid': 101 random forests, XGBoost and LightGBM models, each "
        "of one writer and all above 50% on validation; on 1, 10 and 100 new writers, Slush (k=10, alpha=6) "
        "and Slush with local thresholds can perform better than the centralised majority."
    ),
    full=Config(),
    quick=Config(writers=25, test_writers=(1, 5, 10), trees=25),
    cells=cells,
    result=result,
    figures=figures,
    then=then,
    needs_data=True,
)
