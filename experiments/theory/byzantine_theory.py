"""``byzantine-theory``: perfectly malicious and perfectly faulty participants, exactly (section 4.4).

Theorem "Perfectly malicious nodes" says that the majority stays ahead of Slush; the conjecture after it,
that Slush gets ahead when enough participants are perfectly faulty. The majority counts the wrong votes of
f' faulty ones and so needs ceil((n + f')/2) right votes: a supermajority with delta = f'/2 for even f',
where the paper says delta = f'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from experiments.experiment import Experiment, Finding, Plan, Result
from folkmoot.checks import least_alpha
from folkmoot.pictures.palette import GREY, SERIES, panels
from folkmoot.theory import SlushChain, accuracy_gap, majority_accuracy, threshold_accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """The grid of the theorem, the queries (n, k, alpha) of the conjecture, and what is drawn."""

    sizes: tuple[int, ...] = (5, 11, 31, 101)
    queries: tuple[int, ...] = (2, 3, 5, 10, 20)  # k; every alpha and every f < alpha is tried
    accuracies: tuple[float, ...] = (0.501, 0.55, 0.6, 0.75, 0.9, 0.99)
    settings: tuple[tuple[int, int, int], ...] = (
        (101, 20, 14),
        (101, 10, 6),
        (101, 10, 7),
        (101, 10, 8),
        (31, 20, 14),
        (31, 20, 18),
    )
    most_liars: int = 10
    deltas: tuple[int, ...] = (0, 1, 2, 3, 4)
    drawn: tuple[int, ...] = (0, 1, 5, 10)  # f whose gap is drawn, for the first setting
    points: int = 141


@dataclass(frozen=True)
class Signs:
    """How often the majority was ahead, equal and behind, over alpha, f and p; and where equal or behind."""

    n: int
    k: int
    ahead: int
    behind: int
    equal: list[list[int]]  # [alpha, f] of the chains that were equal for every p
    mixed: list[list[int]]  # [alpha, f] of those equal for some p only


@dataclass(frozen=True)
class Conjecture:
    """p_th for every f (rows) and delta (columns), and the smallest delta with p_th > 1/2."""

    n: int
    k: int
    alpha: int
    f: list[int]
    p_th: list[list[float | None]]  # None where the two rules never differ
    least: list[int | None]  # None if not among the deltas tried
    hopeless: list[float]  # P_S at p = 1/2, where enough faulty votes leave the majority none: above 0


@dataclass(frozen=True)
class MaliciousCurve:
    """P_Maj - P_S against p for one f."""

    f: int
    gap: list[float]


class ByzantineTheoryFound(TypedDict):
    """What the cells returned."""

    theorem: dict[tuple[int, int], Signs]  # by n and k
    conjecture: dict[tuple[int, int, int], Conjecture]  # by n, k and alpha
    curves: dict[int, MaliciousCurve]  # by f
    faulty: list[float]


@dataclass(frozen=True)
class ByzantineTheoryResult(Result):
    """The thresholds by f and delta, and the gap by p."""

    deltas: list[int]
    conjecture: list[Conjecture]
    p: list[float]
    curves: list[MaliciousCurve]


def signs(n: int, k: int, accuracies: list[float]) -> Signs:
    """The theorem for every alpha and every f < alpha that leaves more honest participants than liars."""
    ahead = behind = 0
    equal, mixed = [], []
    for alpha in range(least_alpha(k), k + 1):
        for f in range(min(alpha, (n + 1) // 2)):
            chain = SlushChain(n, k, alpha, byzantine=f)
            found = [accuracy_gap(chain, p).sign for p in accuracies]
            ahead += found.count(1)
            behind += found.count(-1)
            if not any(found):
                equal.append([alpha, f])
            elif 0 in found:
                mixed.append([alpha, f])
    return Signs(n, k, ahead, behind, equal, mixed)


def conjecture(n: int, k: int, alpha: int, most_liars: int, deltas: list[int]) -> Conjecture:
    """p_th for f = 0..most_liars, as far as f < alpha."""
    liars = list(range(min(most_liars, alpha - 1) + 1))
    rows: list[list[float | None]] = []
    for f in liars:
        values = [threshold_accuracy(n, k, alpha, delta=delta, byzantine=f) for delta in deltas]
        rows.append([None if math.isnan(value) else value for value in values])
    return Conjecture(
        n=n, k=k, alpha=alpha, f=liars, p_th=rows,
        least=[_least(deltas, row) for row in rows],
        hopeless=[SlushChain(n, k, alpha, byzantine=f).accuracy(0.5) for f in liars],
    )  # fmt: skip


def _least(deltas: Sequence[int], row: Sequence[float | None]) -> int | None:
    """The smallest delta with p_th > 1/2."""
    return next((d for d, p in zip(deltas, row, strict=True) if p is not None and p > 0.5), None)


def curve(n: int, k: int, alpha: int, f: int, points: int) -> MaliciousCurve:
    """One line of the picture."""
    chain = SlushChain(n, k, alpha, byzantine=f)
    return MaliciousCurve(f, [accuracy_gap(chain, p).value for p in drawn_accuracies(points)])


def drawn_accuracies(points: int) -> list[float]:
    """So many p from 0.3 to 1."""
    return [float(p) for p in np.linspace(0.3, 1.0, points)]


def faulty(n: int, f: int, extra: int, p: float) -> list[float]:
    """P_Maj with f liars and ``extra`` faulty votes, and of the supermajorities extra/2 and extra."""
    counted = majority_accuracy(n + extra, p, byzantine=f + extra)
    return [counted, *(majority_accuracy(n, p, delta=delta, byzantine=f) for delta in (extra // 2, extra))]


def cells(config: Config, seed: int) -> Plan:  # noqa: ARG001
    """The theorem by n and k, the conjecture by setting, the lines of the picture, and faulty votes."""
    n, k, alpha = config.settings[0]
    tried = partial(conjecture, most_liars=config.most_liars, deltas=list(config.deltas))
    return {
        "theorem": {
            (n, k): partial(signs, n=n, k=k, accuracies=list(config.accuracies))
            for n in config.sizes
            for k in config.queries
            if k <= n
        },
        "conjecture": {
            (n, k, alpha): partial(tried, n=n, k=k, alpha=alpha) for n, k, alpha in config.settings
        },
        "curves": {f: partial(curve, n=n, k=k, alpha=alpha, f=f, points=config.points) for f in config.drawn},
        "faulty": partial(faulty, n=n, f=5, extra=4, p=0.6),
    }


def result(config: Config, found: ByzantineTheoryFound) -> ByzantineTheoryResult:
    """The theorem with its cases of equality, the conjecture, and what faulty votes amount to."""
    tables = list(found["conjecture"].values())
    findings = [*_theorem(list(found["theorem"].values())), *_faulty(found["faulty"])]
    usual: list[int | None] = []  # what delta must be where a query cannot ask for more than half of all
    for each in tables:
        half = (each.n + 1) // 2
        known = [delta for delta in each.least if delta is not None]
        reason = f"f' = {2 * max(known)} faulty participants are enough" if known else ""
        if each.alpha > half:
            reason += f"; alpha > ceil(n/2) = {half} asks for a supermajority itself"
        else:
            usual += each.least
        findings.append(
            Finding(
                f"conjecture, n={each.n}, k={each.k}, alpha={each.alpha}: least delta with p_th > 1/2",
                "some f' > 0",
                _by_liars(each.f, each.least),
                reason=reason,
                holds=None not in each.least,
            )
        )
    sure = all(p > 0 for each in tables for p in each.hopeless)
    findings.append(
        Finding(
            "the conjecture for enough faulty participants",
            "no proof",
            "true, and easy: with more faulty votes than the honest can outvote P_Maj = 0 < P_S for every p"
            if sure
            else "P_S vanishes",
            holds=sure,
        )
    )
    enough = max((delta for delta in usual if delta is not None), default=0)
    return ByzantineTheoryResult(
        verdict=(
            "Theorem and conjecture hold. The theorem has one more case of equality. The conjecture is true "
            f"and easy; delta = {enough} is enough for every f tried if alpha <= ceil(n/2). But delta is "
            "half the number of faulty participants, not their number."
        ),
        findings=tuple(findings),
        notes=(
            "Exact: the paper's sampling law; f < alpha throughout, so that all-blue is absorbing.",
            "delta = f'/2, the votes that f' silent wrong votes add to what the majority needs (f' even).",
            "The crossing is unique: p_th > 1/2 exactly when P_S at p = 1/2 exceeds the supermajority there.",
        ),
        deltas=list(config.deltas), conjecture=tables,
        p=drawn_accuracies(config.points), curves=list(found["curves"].values()),
    )  # fmt: skip


def _theorem(grid: Sequence[Signs]) -> list[Finding]:
    ahead, behind = sum(each.ahead for each in grid), sum(each.behind for each in grid)
    equal = [(each.n, each.k, alpha, f) for each in grid for alpha, f in each.equal]
    partly = any(each.mixed for each in grid)
    expected = [case for case in equal if case[2] == (case[0] + 1) // 2]
    overlooked = [case for case in equal if case not in expected]
    as_known = all(n == 2 * f + 1 and alpha > n - f for n, _, alpha, f in overlooked)
    example = ", for example n={}, k={}, alpha={}, f={}".format(*overlooked[0]) if overlooked else ""
    return [
        Finding(
            "theorem 'Perfectly malicious nodes': majority ahead for p > 1/2",
            "for f < alpha, alpha not ceil(n/2)",
            f"ahead in {ahead:,} cases of (n, f, alpha, k, p), never behind"
            if not behind
            else f"behind in {behind}",
            holds=not behind and not partly,
        ),
        Finding(
            "equal for alpha = ceil(n/2)",
            "for every p",
            f"{len(expected)} chains, all equal for every p",
            holds=not partly and bool(expected),
        ),
        Finding(
            "equal only for alpha = ceil(n/2)",
            "only then",
            f"{len(overlooked)} more chains{example}",
            reason="n = 2f + 1 and alpha > f + 1: both rules then need every honest participant right"
            if as_known
            else "",
            holds=not overlooked,
        ),
    ]


def _faulty(votes: list[float]) -> list[Finding]:
    counted, half, whole = votes
    good = math.isclose(counted, half, rel_tol=1e-9)
    return [
        Finding(
            "f' perfectly faulty participants as a supermajority",
            "delta = f'",
            "delta = f'/2" if good else "neither f' nor f'/2",
            difference=f"P_Maj for f' = 4, f = 5, p = 0.6: {counted:.4f}, not {whole:.4f}",
            reason="n + f' votes are cast, so ceil((n + f')/2) right ones are needed",
            holds=math.isclose(counted, whole, rel_tol=1e-9),
        )
    ]


def _by_liars(liars: Sequence[int], least: Sequence[int | None]) -> str:
    """ "0 for f = 0 to 2, 1 for f = 3 to 9" """
    parts: list[str] = []
    start = 0
    for i in range(1, len(liars) + 1):
        if i == len(liars) or least[i] != least[start]:
            span = f"{liars[start]}" if i - 1 == start else f"{liars[start]} to {liars[i - 1]}"
            parts.append(f"{'none tried' if least[start] is None else least[start]} for f = {span}")
            start = i
    return ", ".join(parts)


def figures(result: ByzantineTheoryResult) -> dict[str, Figure]:
    """p_th for several delta on the left, the gap for several f on the right."""
    figure, (left, right) = panels(1, 2, size=(5.6, 4.0))
    shown = result.conjecture[0]
    name = rf"n={shown.n}, $\alpha$={shown.alpha}, k={shown.k}"
    for i, (delta, colour) in enumerate(zip(result.deltas, SERIES, strict=False)):
        heights = [np.nan if row[i] is None else row[i] for row in shown.p_th]
        label = rf"$\delta$={delta}: $f'$={2 * delta} faulty"
        left.plot(shown.f, heights, color=colour, marker="o", ms=4, label=label)
    left.axhline(0.5, color=GREY, lw=0.8, ls=":")
    left.set(xlabel="perfectly malicious participants f", ylabel=r"$p_{th}$ (Slush ahead below)", title=name)
    left.set_ylim(top=1.22)
    left.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    left.legend(frameon=False, fontsize=8, ncols=2, loc="upper center")
    for curve, colour in zip(result.curves, SERIES, strict=False):
        right.plot(result.p, curve.gap, color=colour, label=f"f={curve.f}")
    right.axhline(0, color=GREY, lw=0.8)
    right.axvline(0.5, color=GREY, lw=0.8, ls=":")
    right.set(
        xlabel="accuracy p of an honest participant", ylabel=r"$\Delta P = P_{Maj} - P_S$",
        title=rf"{name}, $\delta$=0", xlim=(result.p[0], 0.8),
    )  # fmt: skip
    right.legend(frameon=False, fontsize=8)
    return {"byzantine-theory": figure}


EXPERIMENT = Experiment(
    name="byzantine-theory",
    about="malicious and faulty participants: who is ahead, and the conjecture",
    claim=(
        "Theorem 'Perfectly malicious nodes': with f < alpha of them the majority beats Slush for p > 1/2. "
        "Conjecture: for some f' > 0 perfectly faulty participants Slush beats the majority up to some "
        "p_th > 1/2."
    ),
    full=Config(),
    quick=Config(sizes=(5, 11, 31), queries=(2, 3, 5, 10), settings=((101, 20, 14), (31, 20, 18)), points=71),
    cells=cells,
    result=result,
    figures=figures,
)
