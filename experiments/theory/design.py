"""``design``: what k, alpha and the number of rounds buy and cost; a chart to read settings from.

Beyond the paper, and exact: the chain's accuracy, its expected number of queries, and what is still open
after some rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np
from scipy.stats import binom

from experiments.experiment import Experiment, Finding, Plan, Result
from experiments.theory.swept import PlayedSetting, played_settings
from folkmoot.checks import least_alpha
from folkmoot.pictures.palette import SERIES, panels
from folkmoot.protocols.sampling import Others
from folkmoot.simulation.setting import Device
from folkmoot.theory import SlushChain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """A homogeneous network of n, each right with the chance p; every alpha of these sample sizes k."""

    n: int = 101
    p: float = 0.6
    ks: tuple[int, ...] = tuple(range(2, 21))
    rounds: tuple[int, ...] = (5, 10, 20, 50, 100)
    byzantine: int = 5
    device: Device = "cpu"  # on a GPU settings are also played, with these numbers of liars
    liars: tuple[int, ...] = (0, 3, 6, 9)
    talks: int = 10**6
    played_rounds: int = 50


@dataclass(frozen=True)
class QuerySetting:
    """One k and alpha: exact figures of the whole network."""

    k: int
    alpha: int
    accuracy: float  # when all have agreed
    with_liars: float | None  # the same with some perfectly malicious participants; None if f >= alpha
    queries: float  # requests to single peers by one participant until all agree, on average
    open_after: list[float]  # chance that they have not all agreed after so many rounds each
    right_after: list[float]  # chance that more than half hold the right answer by then


class DesignFound(TypedDict):
    """What the cells returned."""

    settings: dict[int, list[QuerySetting]]  # by k
    played: NotRequired[dict[int, list[PlayedSetting]]]  # by k, on a GPU


@dataclass(frozen=True)
class DesignResult(Result):
    """All settings."""

    n: int
    p: float
    byzantine: int
    rounds: tuple[int, ...]
    settings: tuple[QuerySetting, ...]
    played: tuple[PlayedSetting, ...] = ()


def settings_of(n: int, p: float, k: int, rounds: list[int], byzantine: int) -> list[QuerySetting]:
    """Every threshold of one sample size."""
    start = binom.pmf(np.arange(n + 1), n, p)
    return [_setting(n, p, k, alpha, rounds, byzantine, start) for alpha in range(least_alpha(k), k + 1)]


def _setting(
    n: int, p: float, k: int, alpha: int, rounds: list[int], byzantine: int, start: np.ndarray
) -> QuerySetting:
    chain = SlushChain(n, k, alpha, sampling=Others())
    liars = None
    if byzantine < alpha:
        liars = SlushChain(n, k, alpha, byzantine=byzantine, sampling=Others()).accuracy(p)
    return QuerySetting(
        k=k,
        alpha=alpha,
        accuracy=chain.accuracy(p),
        with_liars=liars,
        queries=float(start @ chain.expected_steps()) * k / n,
        open_after=[float(start @ chain.open_after(n * each)) for each in rounds],
        right_after=[chain.accuracy(p, steps=n * each) for each in rounds],
    )


def cells(config: Config, seed: int) -> Plan:
    """One for each sample size, and on a GPU one more, in which its settings are played."""
    common = partial(
        settings_of, n=config.n, p=config.p, rounds=list(config.rounds), byzantine=config.byzantine
    )
    plan = {"settings": {k: partial(common, k=k) for k in config.ks}}
    if config.device == "cpu":
        return plan
    often = partial(
        played_settings, n=config.n, p=config.p, liars=list(config.liars), talks=config.talks,
        rounds=config.played_rounds, seed=seed, device=config.device,
    )  # fmt: skip
    return {**plan, "played": {k: partial(often, k=k) for k in config.ks}}


def result(config: Config, found: DesignFound) -> DesignResult:
    """Settings that stand out."""
    settings = tuple(each for of_k in found["settings"].values() for each in of_k)
    fifty = config.rounds.index(50) if 50 in config.rounds else len(config.rounds) - 1
    horizon = config.rounds[fifty]
    usable = [each for each in settings if each.open_after[fifty] < 0.01]
    best = max(usable, key=lambda each: each.accuracy)
    robust = max(usable, key=lambda each: each.with_liars or 0.0)
    cheap = min(usable, key=lambda each: each.queries)
    closest = [each for each in usable if each.accuracy >= best.accuracy - 0.005]
    frugal = min(closest, key=lambda each: each.queries)
    played = tuple(each for of_k in found.get("played", {}).values() for each in of_k)
    findings = (
        *([_played_finding(config, played)] if played else []),
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
        played=played,
    )  # fmt: skip


def _played_finding(config: Config, played: tuple[PlayedSetting, ...]) -> Finding:
    off = [each.z for each in played if each.z is not None]
    spread = float(np.mean(np.square(off)) ** 0.5)
    worst = max(map(abs, off))
    return Finding(
        f"played on a GPU, {config.talks:,} talks a setting of (k, alpha, liars)",
        "not in the paper",
        f"{len(off)} of {len(played)} settings beside exact values: worst {worst:.1f} standard errors apart, "
        f"root mean square {spread:.2f}",
        reason="where liars reach alpha there is no exact value: theory stops when all are right",
        holds=worst <= 4.5,
    )


def _found(what: str, each: QuerySetting, horizon: int) -> Finding:
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


def figures(result: DesignResult) -> dict[str, Figure]:
    """Four maps over (k, alpha), and accuracy by rounds for a few settings."""
    figure, axes = panels(2, 3, size=(4.6, 3.8))
    last = result.rounds.index(50) if 50 in result.rounds else len(result.rounds) - 1
    _map(axes[0], result.settings, "accuracy when all agree", [each.accuracy for each in result.settings])
    title = f"accuracy with {result.byzantine} liars (blank: too many)"
    _map(axes[1], result.settings, title, [each.with_liars for each in result.settings])
    _map(
        axes[2],
        result.settings,
        "queries a participant",
        [each.queries for each in result.settings],
        log=True,
    )
    title = f"open after {result.rounds[last]} rounds"
    opens = [max(each.open_after[last], 1e-12) for each in result.settings]
    _map(axes[3], result.settings, title, opens, log=True)
    chosen = [each for each in result.settings if each.k == 10]
    for place, each in enumerate(chosen):
        axes[4].plot(
            result.rounds, each.right_after, marker=".", color=SERIES[place], label=f"alpha={each.alpha}"
        )
        axes[5].plot(each.queries, each.accuracy, "o", color=SERIES[place])
        axes[5].annotate(f" {each.alpha}", (each.queries, each.accuracy), fontsize=8)
    axes[4].set(xscale="log", xlabel="rounds a participant (k = 10)", ylabel="more than half right by then")
    axes[4].set_xticks(result.rounds, [str(each) for each in result.rounds])
    axes[4].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes[5].set(xscale="log", xlabel="queries a participant (k = 10, alpha beside it)", ylabel="accuracy")
    few, many = min(each.queries for each in chosen), max(each.queries for each in chosen)
    ticks = [tick for tick in (20, 50, 100, 200, 500, 1000, 2000) if few / 1.5 <= tick <= many * 1.5]
    axes[5].set_xticks(ticks, [str(tick) for tick in ticks])
    axes[5].set_xticks([], minor=True)
    return {"design": figure} | ({"played": _played_figure(result)} if result.played else {})


def _played_figure(result: DesignResult) -> Figure:
    """Accuracy over (k, alpha) by the number of liars, as played; and how far that is from exact values."""
    liars = sorted({each.byzantine for each in result.played})
    figure, axes = panels(-(-(len(liars) + 1) // 3), 3, size=(4.6, 3.8))
    for place, many in enumerate(liars):
        here = [each for each in result.played if each.byzantine == many]
        _map(axes[place], here, f"accuracy with {many} liars, played", [each.accuracy for each in here])
    off = [each.z for each in result.played if each.z is not None]
    last = axes[len(liars)]
    last.hist(off, bins=30, density=True, color=SERIES[0])
    at = np.linspace(-4, 4, 200)
    last.plot(at, np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi), color=SERIES[1], label="normal law")
    last.set(xlabel="standard errors from the exact value", ylabel="density of settings")
    last.legend(frameon=False, fontsize=8)
    for spare in axes[len(liars) + 1 :]:
        spare.set_axis_off()
    return figure


def _map(
    axes: Any,
    settings: Sequence[QuerySetting | PlayedSetting],
    title: str,
    values: list[Any],
    *,
    log: bool = False,
) -> None:
    from matplotlib.colors import LogNorm

    ks = sorted({each.k for each in settings})
    alphas = sorted({each.alpha for each in settings})
    table = np.full((len(alphas), len(ks)), np.nan)
    for each, value in zip(settings, values, strict=True):
        if value is not None:
            table[alphas.index(each.alpha), ks.index(each.k)] = value
    norm = LogNorm() if log else None
    shown = axes.imshow(table, origin="lower", aspect="auto", cmap="viridis", norm=norm)
    every = max(1, len(ks) // 8)
    axes.set_xticks(range(0, len(ks), every), [str(k) for k in ks[::every]])
    axes.set_yticks(range(0, len(alphas), 3), [str(alpha) for alpha in alphas[::3]])
    axes.set(xlabel="k", ylabel="alpha")
    axes.set_title(title, fontsize=10, loc="left")
    axes.figure.colorbar(shown, ax=axes)


EXPERIMENT = Experiment(
    name="design",
    about="how accuracy and queries change with k, alpha and rounds: a chart to read settings from",
    claim="Beyond the paper, which fixes k=10 or 20 and 50 rounds a node: what other settings would give.",
    full=Config(),
    quick=Config(ks=(4, 6, 8, 10, 14, 20)),
    cells=cells,
    result=result,
    figures=figures,
    takes_device=True,
)
