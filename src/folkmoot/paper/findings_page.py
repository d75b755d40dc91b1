"""The page of ``folkmoot reproduce``: for each experiment the claim, the paper's numbers, ours, why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from folkmoot.paper.experiment import Experiment, Finding, Result
from folkmoot.report.page import Page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WORDS = {True: "yes", False: "no", None: ""}


@dataclass(frozen=True, eq=False)
class Done:
    """An experiment that ran, or ``failure``, why it did not; ``complaints`` are about stored cells."""

    experiment: Experiment[Any]
    result: Result | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)  # by name
    seconds: float = 0.0
    failure: str | None = None
    complaints: Sequence[str] = ()


def page(done: Sequence[Done], about: Mapping[str, object]) -> str:
    """One page for all experiments."""
    result = Page("Consensus learning: the paper's tables and figures, recomputed")
    result.text(
        "Every claim of 'Consensus learning: A novel decentralised ensemble learning paradigm' (Magureanu "
        "and Usher) beside what folkmoot computes: what the paper says, what comes out, and why they differ."
    )
    result.text(", ".join(f"{name}: {value}" for name, value in about.items()))
    result.table(
        ["experiment", "verdict", "claims that hold", "seconds"],
        [[each.experiment.name, _short(each), _count(each.result), f"{each.seconds:.1f}"] for each in done],
    )
    for each in done:
        result.heading(each.experiment.name)
        result.text(each.experiment.claim)
        if each.result is None:
            result.text(f"Not run: {each.failure}")
            continue
        result.strong(each.result.verdict)
        for name, figure in each.figures.items():
            caption = each.experiment.about
            result.figure(figure, caption if name == each.experiment.name else f"{caption}: {name}")
        result.table(*findings_table(each.result.findings))
        for note in each.result.notes:
            result.text(note)
    return result.html()


def findings_table(findings: Sequence[Finding]) -> tuple[list[str], list[list[str]]]:
    """Header and rows; columns that are empty throughout are left out."""
    header = ["", "the paper", "here", "difference", "holds", "why"]
    rows = [
        [each.quantity, each.paper, each.ours, each.difference, _WORDS[each.holds], each.reason]
        for each in findings
    ]
    kept = [i for i in range(len(header)) if i < 3 or any(row[i] for row in rows)]
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]


def _short(each: Done) -> str:
    return f"not run: {each.failure}" if each.result is None else each.result.verdict


def _count(result: Result | None) -> str:
    judged = [each.holds for each in result.findings if each.holds is not None] if result else []
    return f"{sum(judged)} of {len(judged)}" if judged else "-"
