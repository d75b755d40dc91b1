"""``homogeneous``: Slush and supermajorities against the majority (figure "Homogeneous Ensembles")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from experiments.experiment import Cell, Experiment, Finding, Plan, Result
from folkmoot.pictures.palette import GREY, SERIES, panels
from folkmoot.theory import SlushChain, accuracy_gap, threshold_accuracy
from folkmoot.theory.votes_law import log_votes_law

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHADED = (7, 10)  # alpha and k of the shaded region, which compares with delta = 1
_TABLE_1 = "0.6 (table 1)"  # the paper's p_th for it
_DASHES = ((0, (6, 2)), (0, (4, 2)), (0, (2, 2)), (0, (1, 2)))


@dataclass(frozen=True)
class Config:
    """Who votes, which queries (alpha, k) and which supermajorities are compared, at how many p."""

    n: int = 101
    queries: tuple[tuple[int, int], ...] = ((6, 10), (7, 10), (8, 10), (14, 20))
    deltas: tuple[int, ...] = (1, 2, 3, 4)
    points: int = 251


@dataclass(frozen=True)
class SlushLine:
    """P_Maj - P_S of one query, and where it crosses the supermajorities."""

    alpha: int
    k: int
    gap: list[float]
    signs: list[int]  # right also where the gap is too small for a double
    peak: float
    peak_at: float
    p_th: list[float | None]  # one for each delta; None where the two rules never differ


class HomogeneousFound(TypedDict):
    """What the cells returned."""

    solid: dict[tuple[int, int], SlushLine]  # by alpha and k
    same: SlushLine
    unanimous: SlushLine
    dashed: dict[int, list[float]]  # by delta


@dataclass(frozen=True)
class HomogeneousResult(Result):
    """The curves of the figure, over ``p``."""

    n: int
    p: list[float]
    slush: list[SlushLine]
    deltas: list[int]
    supermajorities: list[list[float]]  # P_Maj - P_delta, one list for each delta
    shaded: int  # the place in ``slush`` of the query whose region is shaded, against the first delta


def accuracies(points: int) -> list[float]:
    """So many p from 1/2 to 1."""
    return [float(p) for p in np.linspace(0.5, 1.0, points)]


def slush(n: int, k: int, alpha: int, deltas: list[int], points: int) -> SlushLine:
    """One solid line of the figure, exactly."""
    from scipy.optimize import minimize_scalar

    chain = SlushChain(n, k, alpha)
    gaps = [accuracy_gap(chain, p) for p in accuracies(points)]
    top = max(range(points), key=lambda i: gaps[i].value)
    step = 0.5 / (points - 1)
    around = (max(0.5, 0.5 + (top - 1) * step), min(1.0, 0.5 + (top + 1) * step))
    best = minimize_scalar(lambda p: -accuracy_gap(chain, p).value, bounds=around, method="bounded")
    crossings = [threshold_accuracy(n, k, alpha, delta=delta) for delta in deltas]
    return SlushLine(
        alpha=alpha, k=k,
        gap=[gap.value for gap in gaps], signs=[gap.sign for gap in gaps],
        peak=-float(best.fun), peak_at=float(best.x),
        p_th=[None if math.isnan(p) else p for p in crossings],
    )  # fmt: skip


def supermajority(n: int, delta: int, points: int) -> list[float]:
    """P_Maj - P_delta: the chance of ceil(n/2) right votes or more, but fewer than delta more."""
    half = (n + 1) // 2
    return [math.fsum(np.exp(log_votes_law(p, n)[half : half + delta]).tolist()) for p in accuracies(points)]


def cells(config: Config, seed: int) -> Plan:  # noqa: ARG001
    """One for each solid line, one for each dashed line, and the two cases beyond the figure."""
    n, points = config.n, config.points

    def line(n: int, alpha: int, k: int, *deltas: int) -> Cell:
        return partial(slush, n=n, k=k, alpha=alpha, deltas=list(deltas), points=points)

    return {
        "solid": {(alpha, k): line(n, alpha, k, *config.deltas) for alpha, k in config.queries},
        # With alpha = ceil(n/2) Slush is the majority; n = k = alpha = 5 wants more votes than delta = 1.
        "same": line(n, (n + 1) // 2, n, *config.deltas),
        "unanimous": line(5, 5, 5, 1),
        "dashed": {delta: partial(supermajority, n=n, delta=delta, points=points) for delta in config.deltas},
    }


def result(config: Config, found: HomogeneousFound) -> HomogeneousResult:
    """The two theorems of the figure, the shaded region, and how large the gap gets."""
    lines, same = list(found["solid"].values()), found["same"]
    n = config.n
    end = found["solid"][_SHADED].p_th[0] or 0.0
    never = found["unanimous"].p_th[0] == 0  # then Slush is never ahead
    ahead = all(sign > 0 for line in lines for sign in line.signs[1:-1])
    fair = all(line.signs[0] == 0 for line in lines)
    equal = not any(same.signs)
    crossings = [p or 0.0 for line in lines for p in line.p_th]
    above = min(crossings) > 0.5
    largest = max(lines, key=lambda line: line.peak)
    findings = [
        Finding(
            "theorem 'Slush vs Majority hom': majority ahead for p > 1/2",
            "for every p > 1/2",
            f"at all {config.points - 2} p between 1/2 and 1, for every {{alpha, k}}" if ahead else "broken",
            reason="at p = 1 both are 1",
            holds=ahead,
        ),
        Finding("gap at p = 1/2", "0", "0 exactly" if fair else "not 0", holds=fair),
        Finding(
            f"the same accuracy for alpha = ceil(n/2) = {(n + 1) // 2}",
            "for every p",
            "gap 0 exactly at every p" if equal else "broken",
            holds=equal,
        ),
        Finding(
            "theorem 'Slush vs delta-majority': p_th > 1/2",
            "for every delta > 0",
            f"p_th from {min(crossings):.4f} to {max(crossings):.4f}, "
            f"delta = {config.deltas[0]} to {config.deltas[-1]}",
            holds=above,
        ),
        Finding(
            "the same theorem for large alpha",
            "for every delta > 0, any alpha",
            f"n = k = alpha = 5, delta = 1: Slush is {'never' if never else 'first'} ahead",
            reason="it needs alpha < ceil(n/2) + delta, which the paper leaves out",
            holds=not never,
        ),
        Finding(
            "right end of the shaded region (alpha=7, k=10 against delta=1)",
            _TABLE_1,
            f"{end:.4f}",
            difference=f"{end - 0.6:+.4f}",
            reason="rounded to two decimals",
            holds=round(end, 2) == 0.6,
        ),
    ]
    findings += [
        Finding(
            f"largest gap for alpha={line.alpha}, k={line.k}",
            "drawn, not printed",
            f"{line.peak:.4f} at p = {line.peak_at:.3f}",
        )
        for line in lines
    ]
    return HomogeneousResult(
        verdict=(
            "Reproduced. The majority is ahead of Slush for every p above one half, by at most "
            f"{largest.peak:.3f}; Slush is ahead of the one-vote supermajority up to p = {end:.4f}. "
            "The second theorem needs a condition on alpha, met here."
        ),
        findings=tuple(findings),
        notes=(
            "Exact: the paper's sampling law, in which a node may draw itself.",
            "The paper does not say which {alpha, k} it draws besides {7, 10}; these are those of table 1.",
            "Below p = 1/2 everything is mirrored: there Slush is ahead of the majority.",
        ),
        n=n, p=accuracies(config.points), slush=lines, deltas=list(config.deltas),
        supermajorities=list(found["dashed"].values()), shaded=config.queries.index(_SHADED),
    )  # fmt: skip


def figures(result: HomogeneousResult) -> dict[str, Figure]:
    """As in the paper on the left; the p_th of every pair of lines on the right."""
    figure, (left, right) = panels(1, 2, size=(5.6, 4.0))
    p = np.array(result.p)
    for line, colour in zip(result.slush, SERIES, strict=False):
        left.plot(p, line.gap, color=colour, label=rf"Slush $\alpha$={line.alpha}, k={line.k}")
    for i, (delta, gap) in enumerate(zip(result.deltas, result.supermajorities, strict=True)):
        left.plot(p, gap, color=GREY, lw=1.2, ls=_DASHES[i % 4], label=rf"supermajority $\delta$={delta}")
    line = result.slush[result.shaded]
    own = SERIES[result.shaded]
    solid, dashed = np.array(line.gap), np.array(result.supermajorities[0])
    left.fill_between(
        p, solid, dashed, where=(dashed > solid).tolist(), interpolate=True, color=own, alpha=0.2, lw=0
    )
    if line.p_th[0] is not None:
        left.axvline(line.p_th[0], color=own, lw=0.8, ls=":")
        left.annotate(
            rf"$p_{{th}}$ = {line.p_th[0]:.4f}", (line.p_th[0], 1), (4, -2),
            xycoords=("data", "axes fraction"), textcoords="offset points", va="top",
        )  # fmt: skip
    left.set(
        xlim=(0.5, 0.8), ylim=(0, None), xlabel="accuracy p of a participant",
        ylabel=r"$\Delta P = P_{Maj} - P$", title=f"n = {result.n}",
    )  # fmt: skip
    left.legend(frameon=False, fontsize=8, loc="upper right", bbox_to_anchor=(1, 0.92))
    for line, colour in zip(result.slush, SERIES, strict=False):
        heights = [np.nan if value is None else value for value in line.p_th]
        right.plot(
            result.deltas, heights, color=colour, marker="o", label=rf"$\alpha$={line.alpha}, k={line.k}"
        )
    right.axhline(0.5, color=GREY, lw=0.8, ls=":")
    right.set(
        xlabel=r"$\delta$ of the supermajority", ylabel=r"$p_{th}$", xticks=result.deltas,
        title="below, Slush is ahead of the supermajority",
    )  # fmt: skip
    right.legend(frameon=False, fontsize=8, loc="upper left")
    return {"homogeneous": figure}


EXPERIMENT = Experiment(
    name="homogeneous",
    about="Slush and supermajorities against the majority of 101 equal participants",
    claim=(
        "Figure 'Homogeneous Ensembles', theorems 'Slush vs Majority hom' and 'Slush vs delta-majority': "
        "with equal accuracies p > 1/2 the majority beats Slush, and Slush any supermajority up to some "
        "p_th > 1/2."
    ),
    full=Config(),
    quick=Config(points=51),
    cells=cells,
    result=result,
    figures=figures,
)
