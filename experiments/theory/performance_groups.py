"""``performance-groups``: where Slush beats the majority with two groups of accuracies p1 and p2.

With S1 and S2 the right first votes of the groups and d_b = 1 - B_b for b >= ceil(n/2), -B_b below,

    P_Maj - P_S = E d(S1 + S2) = sum_j C(n1, j) p1^j (1 - p1)^(n1 - j) g_j,    g_j = E d(j + S2).

d changes sign once; a binomial law is totally positive, so g does so at most once (variation diminishing),
and the sum has at most one zero in p1. Slush is therefore ahead exactly up to one p1, the crossing. It is
found as a balance of two sums of positive terms in logarithms, so no small difference is ever taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.special import expit, xlog1py, xlogy

from experiments.experiment import Experiment, Finding, Plan, Result
from experiments.theory.bounds import performance_groups_bound
from folkmoot.arrays import Floats
from folkmoot.pictures.palette import GREY, SERIES, panels
from folkmoot.theory import SlushChain
from folkmoot.theory.votes_law import log_choose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FAR = 60.0  # |logit p1| at which p1 is 0 or 1 for every purpose


@dataclass(frozen=True)
class Config:
    """The groups, the query, and how finely p1 and p2 are looked at."""

    groups: tuple[tuple[int, int], ...] = ((51, 50), (61, 40), (71, 30), (81, 20), (91, 10))
    k: int = 10
    alpha: int = 7
    looked_at: tuple[float, ...] = (0.0, 0.1, 0.25, 0.4)  # p2 in the table
    p1_points: int = 101
    p2_points: int = 51


@dataclass(frozen=True)
class TwoGroups:
    """One pair of groups."""

    n1: int
    n2: int
    bound: float  # ceil(n/2) / (1 + n1)
    crossing: list[float]  # p1 up to which Slush is ahead, over the grid of p2
    sufficient: list[float]  # p1 up to which every control ratio is below 1, the same
    mean: list[float]  # mean accuracy of all participants at the crossing
    majority: list[float]  # P_Maj there, which P_S equals
    table: list[list[float]]  # crossing and sufficient at each p2 looked at
    gap: list[list[float]]  # P_Maj - P_S, rows p1, columns p2; to about 1e-15
    one_crossing: bool  # no sign on the grid contradicts the crossings


class PerformanceGroupsFound(TypedDict):
    """What the cells returned."""

    groups: dict[tuple[int, int], TwoGroups]  # by n1 and n2


@dataclass(frozen=True)
class PerformanceGroupsResult(Result):
    """Every pair of groups, over the same grid."""

    k: int
    alpha: int
    p1: list[float]
    p2: list[float]
    groups: list[TwoGroups]


def grid(points: int) -> list[float]:
    """So many values from 0 to 1."""
    return [float(p) for p in np.linspace(0.0, 1.0, points)]


def crossing(chain: SlushChain, n1: int, p2: float) -> float:
    """The p1 up to which Slush is ahead of the majority: the only zero of P_Maj - P_S."""
    n2, half = chain.n - n1, (chain.n + 1) // 2
    b = np.arange(n1 + 1)[:, None] + np.arange(n2 + 1)
    law = _log_binomial(n2, p2)
    lost = np.where(b >= half, chain.log_not_blue[b], -np.inf) + law  # the majority is right, Slush is not
    won = np.where(b < half, chain.log_blue[b], -np.inf) + law
    lost_by, won_by = _logsums(lost), _logsums(won)
    choose, j = log_choose(n1), np.arange(n1 + 1)

    def balance(theta: float) -> float:
        tilted = choose + j * theta
        behind, ahead = _logsums(np.array([tilted + lost_by, tilted + won_by]))
        return float(behind - ahead)

    return _zero(balance)


def sufficient(chain: SlushChain, n1: int, p2: float) -> float:
    """The p1 up to which kappa_b < 1 for every b in ceil(n/2)..n-alpha: the paper's p_max for this p2.

    Without Byzantine participants R_b = B_{n-b}, so kappa_b = P(S=b) / P(S=n-b), which rises with p1.
    """
    n, n2 = chain.n, chain.n - n1
    b = np.arange((n + 1) // 2, n - chain.alpha + 1)
    law, choose, j = _log_binomial(n2, p2), log_choose(n1), np.arange(n1 + 1)

    def weights(count: npt.NDArray[np.int_]) -> Floats:
        rest = count[:, None] - j
        inside = (rest >= 0) & (rest <= n2)
        return np.where(inside, choose + law[np.clip(rest, 0, n2)], -np.inf)

    above, below = weights(b), weights(n - b)

    def worst(theta: float) -> float:
        up, down = _logsums(above + j * theta), _logsums(below + j * theta)
        known = np.isfinite(up) | np.isfinite(down)  # 0/0 says nothing
        return float(np.max((up - down)[known]))

    return _zero(worst)


def gaps(chain: SlushChain, n1: int, p1: Sequence[float], p2: Sequence[float]) -> Floats:
    """P_Maj - P_S over a grid: the laws of both groups around the table d(i + j). Good to about 1e-15."""
    n2, half = chain.n - n1, (chain.n + 1) // 2
    b = np.arange(chain.n + 1)
    d = np.where(b >= half, np.exp(chain.log_not_blue), -chain.blue)
    first, second = (np.exp([_log_binomial(size, p) for p in ps]) for size, ps in ((n1, p1), (n2, p2)))
    table = d[np.arange(n1 + 1)[:, None] + np.arange(n2 + 1)]
    return np.asarray(first @ table @ second.T, dtype=np.float64)


def compute(
    n1: int, n2: int, k: int, alpha: int, looked_at: list[float], p1_points: int, p2_points: int
) -> TwoGroups:
    """All about one pair of groups."""
    chain = SlushChain(n1 + n2, k, alpha)
    p1, p2 = grid(p1_points), grid(p2_points)
    lines = [crossing(chain, n1, p) for p in p2]
    gap = gaps(chain, n1, p1, p2)
    seen = np.abs(gap) > 1e-13
    beyond = np.array(p1)[:, None] > np.array(lines)
    n = n1 + n2
    return TwoGroups(
        n1=n1, n2=n2, bound=performance_groups_bound(n1, n2),
        crossing=lines, sufficient=[sufficient(chain, n1, p) for p in p2],
        mean=[(n1 * here + n2 * p) / n for here, p in zip(lines, p2, strict=True)],
        majority=[_majority(n1, n2, here, p) for here, p in zip(lines, p2, strict=True)],
        table=[[crossing(chain, n1, p), sufficient(chain, n1, p)] for p in looked_at],
        gap=gap.tolist(), one_crossing=bool(np.all((gap > 0)[seen] == beyond[seen])),
    )  # fmt: skip


def cells(config: Config, seed: int) -> Plan:  # noqa: ARG001
    """One for each pair of groups."""
    common = partial(
        compute, k=config.k, alpha=config.alpha, looked_at=list(config.looked_at),
        p1_points=config.p1_points, p2_points=config.p2_points,
    )  # fmt: skip
    return {"groups": {(n1, n2): partial(common, n1=n1, n2=n2) for n1, n2 in config.groups}}


def result(config: Config, found: PerformanceGroupsFound) -> PerformanceGroupsResult:
    """The theorem in its parts: that p_max exists, its value at p2 = 0, and what it bounds."""
    groups = list(found["groups"].values())
    findings = []
    for each in groups:
        for p2, (cross, enough) in zip(config.looked_at, each.table, strict=True):
            findings += _about(each, p2, cross, enough)
    above = all(cross > 0.5 for each in groups for cross, _ in each.table)
    meets = all(abs(each.table[0][1] - each.bound) < 1e-9 for each in groups if config.looked_at[0] == 0)
    signs = all(each.one_crossing for each in groups)
    beyond = [each for each in groups if each.table[0][0] > each.bound]
    findings += [
        Finding(
            "p_max > 1/2 for p2 < 1/2",
            "exists",
            "every exact crossing is above 1/2" if above else "broken",
            holds=above,
        ),
        Finding(
            "every kappa_b < 1 up to ceil(n/2)/(1+n1), at p2 = 0",
            "the bound is reached",
            "reached to nine decimals for every pair of groups" if meets else "not reached",
            holds=meets,
        ),
        Finding(
            "p_max as a bound on where Slush wins",
            "Slush wins on [0, p_max], p_max <= ceil(n/2)/(1+n1)",
            f"at p2 = 0 Slush wins beyond it for {len(beyond)} of {len(groups)} pairs of groups",
            reason="all kappa_b < 1 is sufficient, not necessary: the bound is on that, not on the region",
            holds=not beyond,
        ),
        Finding(
            "Slush ahead exactly up to one p1, for every p2",
            "not stated",
            "one crossing; no sign on the grid contradicts it" if signs else "contradicted on the grid",
            reason="by b the difference changes sign once, and binomial laws keep that (total positivity)",
            holds=signs,
        ),
    ]
    first = groups[0]
    weaker = [i for i, p in enumerate(grid(config.p2_points)) if p < 0.5]
    mean = [each.mean[i] for each in groups for i in weaker]
    vote = [each.majority[i] for each in groups for i in weaker]
    findings.append(
        Finding(
            "mean accuracy of all participants at the crossing, p2 < 1/2",
            "not stated",
            f"{min(mean):.4f} to {max(mean):.4f}; P_Maj = P_S = {min(vote):.4f} to {max(vote):.4f}",
            reason=(
                "for p2 < 1/2 Slush is ahead only where the mean participant and both rules are below chance"
                if max(mean) < 0.5 and max(vote) < 0.5
                else ""
            ),
        )
    )
    return PerformanceGroupsResult(
        verdict=(
            "Holds after correction. Slush is ahead up to a p1 above one half whenever p2 < 1/2, but the "
            "printed bound limits the paper's sufficient condition, not the region: at p2 = 0 Slush stays "
            f"ahead a little beyond it (n1={first.n1}, n2={first.n2}: to {first.table[0][0]:.4f}, "
            f"bound {first.bound:.4f})."
        ),
        findings=tuple(findings),
        notes=(
            f"Exact, alpha={config.alpha}, k={config.k}; the theorem needs alpha < ceil(n/2).",
            "At p1 = 0 and n2 < alpha both accuracies are 0: the interval is open there.",
            "Crossings are right to all decimals shown; the coloured gap to about 1e-15.",
        ),
        k=config.k, alpha=config.alpha,
        p1=grid(config.p1_points), p2=grid(config.p2_points), groups=groups,
    )  # fmt: skip


def _about(each: TwoGroups, p2: float, cross: float, enough: float) -> list[Finding]:
    name = f"n1={each.n1}, n2={each.n2}, p2={p2:g}"
    within = cross <= each.bound
    if within:
        reason = f"within the bound; all kappa_b < 1 up to {enough:.4f}"
    else:
        reason = f"Slush wins beyond the bound; all kappa_b < 1 only up to {enough:.4f}"
    return [
        Finding(
            f"{name}: Slush ahead up to p1",
            f"p_max <= {each.bound:.4f}",
            f"{cross:.4f}",
            difference=f"{cross - each.bound:+.4f}",
            reason=reason,
            holds=within,
        )
    ]


def _majority(n1: int, n2: int, p1: float, p2: float) -> float:
    law = np.convolve(np.exp(_log_binomial(n1, p1)), np.exp(_log_binomial(n2, p2)))
    return float(law[(n1 + n2 + 1) // 2 :].sum())


def _logsums(rows: Floats) -> Floats:
    """log of the sum of exp over each row; -inf where all of it is."""
    top = rows.max(axis=1, keepdims=True)
    top[np.isneginf(top)] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(top[:, 0] + np.log(np.exp(rows - top).sum(axis=1)), dtype=np.float64)


def _log_binomial(n: int, p: float) -> Floats:
    b = np.arange(n + 1)
    return np.asarray(log_choose(n) + xlogy(b, p) + xlog1py(n - b, -p), dtype=np.float64)


def _zero(rising: Callable[[float], float]) -> float:
    """p1 where a rising function of logit p1 is 0; 0 or 1 where it has one sign."""
    from scipy.optimize import brentq

    if rising(-_FAR) >= 0:
        return 0.0
    if rising(_FAR) <= 0:
        return 1.0
    return float(expit(brentq(rising, -_FAR, _FAR, xtol=1e-13)))


def figures(result: PerformanceGroupsResult) -> dict[str, Figure]:
    """The borders for all groups on the left; how much it matters for the middle pair on the right."""
    figure, (left, right) = panels(1, 2, size=(5.6, 4.6))
    for each, colour in zip(result.groups, SERIES, strict=False):
        left.plot(each.crossing, result.p2, color=colour, label=rf"$n_1$={each.n1}, $n_2$={each.n2}")
        left.plot(each.sufficient, result.p2, color=colour, lw=1, ls="--", label="_sufficient")
        left.plot([each.bound], [0], color=colour, marker="D", ms=6, ls="none", clip_on=False, label="_bound")
    left.plot([], [], color=GREY, lw=1, ls="--", label=r"all $\kappa_b < 1$")
    left.plot([], [], color=GREY, marker="D", ms=6, ls="none", label=r"$\lceil n/2\rceil/(1+n_1)$")
    left.axhline(0.5, color=GREY, lw=0.6, ls=":")
    left.axvline(0.5, color=GREY, lw=0.6, ls=":")
    left.text(0.03, 0.05, "Slush ahead", color=GREY)
    left.set(
        xlim=(0, 1), ylim=(0, 1), xlabel=r"$p_1$", ylabel=r"$p_2$",
        title=rf"Slush = majority, $\alpha$={result.alpha}, k={result.k}",
    )  # fmt: skip
    left.legend(frameon=False, fontsize=8, loc="upper right")

    shown = result.groups[len(result.groups) // 2]
    gap = np.array(shown.gap)
    top = float(np.abs(gap).max())
    levels = np.linspace(-top, top, 21)
    filled = right.contourf(result.p1, result.p2, gap.T, levels=levels, cmap="RdBu_r")
    right.plot(shown.crossing, result.p2, color="black", lw=1.4, label="equal, exactly")
    right.axvline(shown.bound, color="black", lw=0.9, ls="--", label=rf"bound {shown.bound:.4f}")
    right.set(
        xlim=(0, 1), ylim=(0, 1), xlabel=r"$p_1$", ylabel=r"$p_2$",
        title=rf"$P_{{Maj}} - P_S$, $n_1$={shown.n1}, $n_2$={shown.n2} (blue: Slush ahead)",
    )  # fmt: skip
    right.legend(frameon=False, fontsize=8, loc="upper right")
    figure.colorbar(filled, ax=right, format="%+.3f")
    return {"performance-groups": figure}


EXPERIMENT = Experiment(
    name="performance-groups",
    about="two groups of different accuracy: where Slush beats the majority",
    claim=(
        "Theorem 'performance groups': for p2 < 1/2 there is p_max > 1/2 such that Slush beats the majority "
        "for p1 in [0, p_max], with p_max <= ceil(n/2)/(1+n1), reached for p2 = 0."
    ),
    full=Config(),
    quick=Config(groups=((51, 50), (71, 30), (91, 10)), p1_points=41, p2_points=21),
    cells=cells,
    result=result,
    figures=figures,
)
