"""``absorption``: the chance that all end blue, from b blue nodes (figure "Slush Absorption")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from experiments.experiment import Experiment, Finding, Plan, Result
from folkmoot.theory import SlushChain
from folkmoot.theory.bounds import absorption_bound, chvatal_bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """The chain of the figure."""

    n: int = 61
    k: int = 10
    alpha: int = 7


@dataclass(frozen=True)
class Numbers:
    """One entry for each number b of blue nodes."""

    blue: list[float]
    log10_red: list[float | None]  # None where the chance is 0
    chvatal: list[float]  # 1 less the bound, from the majority on


class AbsorptionFound(TypedDict):
    """What the cells returned."""

    numbers: Numbers


@dataclass(frozen=True)
class AbsorptionResult(Result):
    """The numbers of the figure."""

    n: int
    k: int
    alpha: int
    numbers: Numbers


def compute(n: int, k: int, alpha: int) -> Numbers:
    """Exact absorption probabilities and the paper's bounds."""
    chain = SlushChain(n, k, alpha)
    red = chain.log_red / np.log(10)
    return Numbers(
        blue=chain.blue.tolist(),
        log10_red=[float(value) if np.isfinite(value) else None for value in red],
        chvatal=[1 - chvatal_bound(n, k, alpha, b) for b in range((n + 1) // 2, n + 1)],
    )


def cells(config: Config, seed: int) -> Plan:  # noqa: ARG001
    """One: it takes a millisecond."""
    return {"numbers": partial(compute, n=config.n, k=config.k, alpha=config.alpha)}


def result(config: Config, found: AbsorptionFound) -> AbsorptionResult:
    """The paper's two statements about the figure, judged."""
    numbers = found["numbers"]
    n, half = config.n, (config.n + 1) // 2
    above = all(numbers.blue[b] >= absorption_bound(n, b) for b in range(half, n + 1))
    below = [b for b in range(half, n + 1) if numbers.blue[b] < numbers.chvatal[b - half]]
    findings = (
        Finding("B_b >= b/n for b > n/2", "bound", "holds for every b" if above else "broken", holds=above),
        Finding(
            "B_b >= 1 - Chvatal's bound",
            "bound on R_b",
            "holds for every b here" if not below else f"broken at b = {below}",
            reason=(
                "it bounds the chance that one query turns a node, not absorption; in general it is false "
                "(n=5, k=alpha=2: R_b = 1/4 exceeds 0.2369)"
            ),
            holds=not below,
        ),
        Finding(f"B_{half}, just above one half", "drawn, not printed", f"{numbers.blue[half]:.4f}"),
    )
    return AbsorptionResult(
        verdict="Reproduced. Both curves lie below the absorption probability, as drawn.",
        findings=findings,
        notes=("Exact: the paper's sampling law, in which a node may draw itself.",),
        n=n, k=config.k, alpha=config.alpha, numbers=numbers,
    )  # fmt: skip


def figures(result: AbsorptionResult) -> dict[str, Figure]:
    """B_b with the bounds, linear and on a log scale; exact, so it can only be what the result holds."""
    from folkmoot.report.theory_figures import absorption

    return {"absorption": absorption(SlushChain(result.n, result.k, result.alpha))}


EXPERIMENT = Experiment(
    name="absorption",
    about="chance that all end blue, from b blue of 61, with the paper's bounds",
    claim=(
        "Figure 'Slush Absorption': B_b for n=61, k=10, alpha=7 lies above b/n and above the bound from "
        "Chvatal's tail inequality for every b above one half."
    ),
    full=Config(),
    quick=Config(),
    cells=cells,
    result=result,
    figures=figures,
)
