"""``design``: what k, alpha and the number of rounds buy and cost; a chart to read settings from.

Beyond the paper, and exact: the chain's accuracy, its expected number of queries, and what is still open
after some rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from folkmoot.paper.experiment import Cell, Experiment, Finding, Result
from folkmoot.sampling import Others
from folkmoot.theory import SlushChain


@dataclass(frozen=True)
class Config:
    """A homogeneous network of n, each right with the chance p; every alpha of these sample sizes k."""

    n: int = 101
    p: float = 0.6
    ks: tuple[int, ...] = tuple(range(2, 21))
    rounds: tuple[int, ...] = (5, 10, 20, 50, 100)
    byzantine: int = 5


@dataclass(frozen=True)
class Setting:
    """One k and alpha: exact figures of the whole network."""

    k: int
    alpha: int
    accuracy: float  # when all have agreed
    with_liars: float | None  # the same with some perfectly malicious participants; None if f >= alpha
    queries: float  # requests to single peers by one participant until all agree, on average
    open_after: list[float]  # chance that they have not all agreed after so many rounds each
    right_after: list[float]  # chance that more than half hold the right answer by then


@dataclass(frozen=True)
class DesignResult(Result):
    """All settings."""

    n: int
    p: float
    byzantine: int
    rounds: tuple[int, ...]
    settings: tuple[Setting, ...]


def settings_of(n: int, p: float, k: int, rounds: list[int], byzantine: int) -> list[Setting]:
    """Every threshold of one sample size."""
    start = binom.pmf(np.arange(n + 1), n, p)
    return [_setting(n, p, k, alpha, rounds, byzantine, start) for alpha in range(k // 2 + 1, k + 1)]


def _setting(
    n: int, p: float, k: int, alpha: int, rounds: list[int], byzantine: int, start: np.ndarray
) -> Setting:
    chain = SlushChain(n, k, alpha, sampling=Others())
    liars = None
    if byzantine < alpha:
        liars = SlushChain(n, k, alpha, byzantine=byzantine, sampling=Others()).accuracy(p)
    return Setting(
        k=k,
        alpha=alpha,
        accuracy=chain.accuracy(p),
        with_liars=liars,
        queries=float(start @ chain.expected_steps()) * k / n,
        open_after=[float(start @ chain.open_after(n * each)) for each in rounds],
        right_after=[chain.accuracy(p, steps=n * each) for each in rounds],
    )


def cells(config: Config, seed: int) -> list[Cell]:  # noqa: ARG001
    """One for each sample size."""
    common = {"n": config.n, "p": config.p, "rounds": list(config.rounds), "byzantine": config.byzantine}
    return [Cell(settings_of, {**common, "k": k}, list[Setting]) for k in config.ks]


def result(config: Config, found: Sequence[list[Setting]]) -> DesignResult:
    """Settings that stand out."""
    settings = tuple(each for group in found for each in group)
    fifty = config.rounds.index(50) if 50 in config.rounds else len(config.rounds) - 1
    horizon = config.rounds[fifty]
    usable = [each for each in settings if each.open_after[fifty] < 0.01]
    best = max(usable, key=lambda each: each.accuracy)
    robust = max(usable, key=lambda each: each.with_liars or 0.0)
    cheap = min(usable, key=lambda each: each.queries)
    closest = [each for each in usable if each.accuracy >= best.accuracy - 0.005]
    frugal = min(closest, key=lambda each: each.queries)
    findings = (
        _found("most accurate that agrees within the rounds", best, horizon),
        _found("fewest queries within half a percent of that", frugal, horizon),
        _found(f"most accurate with {config.byzantine} perfectly malicious", robust, horizon),
        _found("fewest queries of all", cheap, horizon),
        *(
            _found("the paper's setting", each, horizon)
            for each in settings
            if (each.k, each.alpha) in ((10, 6), (10, 7), (20, 14))
        ),
    )
    return DesignResult(
        verdict="Beyond the paper: a higher alpha buys accuracy and pays with queries and with open inputs.",
        findings=findings,
        notes=(
            f"Exact, n={config.n}, p={config.p}, nobody asks itself. Queries are those of one participant "
            "until all agree.",
        ),
        n=config.n, p=config.p, byzantine=config.byzantine, rounds=config.rounds, settings=settings,
    )  # fmt: skip


def _found(what: str, each: Setting, horizon: int) -> Finding:
    liars = "f >= alpha" if each.with_liars is None else f"{each.with_liars:.4f}"
    return Finding(
        what,
        "not in the paper",
        f"k={each.k}, alpha={each.alpha}: accuracy {each.accuracy:.4f} (with liars {liars}), "
        f"{each.queries:.0f} queries each",
        reason=f"settings with more than 1% open after {horizon} rounds are left out"
        if "paper" not in what
        else "",
    )


EXPERIMENT = Experiment(
    name="design",
    about="how accuracy and queries change with k, alpha and rounds: a chart to read settings from",
    claim="Beyond the paper, which fixes k=10 or 20 and 50 rounds a node: what other settings would give.",
    full=Config(),
    quick=Config(ks=(4, 6, 8, 10, 14, 20)),
    cells=cells,
    result=result,
)
