"""``thresholds``: the accuracy p_th up to which Slush beats a supermajority (tables 1 to 3), and its limit.

Where a printed value is not the exact one, the reason is found by computation: is it rounded, rounded down,
or is it where the two accuracies become the same double?
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypedDict

import numpy as np
from scipy.special import betainc, expit, logit

from experiments.experiment import Experiment, Finding, Plan, Result
from folkmoot.checks import required_votes
from folkmoot.pictures.palette import BLUE, GREY, RED, SERIES, panels
from folkmoot.theory import SlushChain, threshold_accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The tables as printed; rows are {alpha, k}, n and f.
_TABLE_1: Final = {
    (6, 10): ("0.5", "0.56", "0.62", "0.68", "0.73"),
    (7, 10): ("0.5", "0.6", "0.68", "0.76", "0.83"),
    (8, 10): ("0.5", "0.63", "0.74", "0.83", ">0.87"),
    (14, 20): ("0.5", "0.7", "0.84", "0.87", ">0.88"),
}
_TABLE_2: Final = {51: "0.92", 101: "0.88", 201: "0.8", 501: "0.73"}
_TABLE_3: Final = {
    0: ("0.5", "0.7", "0.84", "0.87"),
    1: ("0.49", "0.69", "0.84", "0.87"),
    5: ("0.47", "0.67", "0.83", "0.87"),
    10: ("0.47", "0.67", "0.83", "0.87"),
}
_Q: Final = 0.55  # of table 2
_QUERY_2: Final = (10, 7)  # k and alpha of table 2
_STEP: Final = 0.001  # of the search for equal doubles


@dataclass(frozen=True)
class Printed:
    """One entry of a table: where it stands, what is printed, and what it is the threshold of."""

    table: int
    row: str
    column: str
    value: str
    n: int
    k: int
    alpha: int
    byzantine: int = 0
    delta: int | None = None
    q: float | None = None

    @property
    def number(self) -> float:
        """The printed number without its sign ">"."""
        return float(self.value.lstrip(">"))


PRINTED: Final = (
    *(
        Printed(1, f"alpha={alpha}, k={k}", f"delta={delta}", value, 101, k, alpha, delta=delta)
        for (alpha, k), row in _TABLE_1.items()
        for delta, value in enumerate(row)
    ),
    *(Printed(2, f"n={n}", f"q={_Q}", value, n, *_QUERY_2, q=_Q) for n, value in _TABLE_2.items()),
    *(
        Printed(3, f"f={f}", f"delta={delta}", value, 101, 20, 14, byzantine=f, delta=delta)
        for f, row in _TABLE_3.items()
        for delta, value in enumerate(row)
    ),
)


@dataclass(frozen=True)
class Config:
    """How far table 2 is continued."""

    sizes: tuple[int, ...] = (51, 101, 201, 501, 1001, 2001, 5001, 10001, 20001)
    shares: tuple[float, ...] = (0.51, 0.55, 0.6, 0.7, 0.8, 0.9)  # q, for the limit


@dataclass(frozen=True)
class Crossing:
    """p_th, and the first p at which doubles no longer show Slush ahead, summed in two ways."""

    exact: float
    doubles: list[float]


@dataclass(frozen=True)
class ThresholdEntry:
    """An entry of a table beside the exact value."""

    table: int
    row: str
    column: str
    printed: float
    exact: float
    reason: str
    agrees: bool


class ThresholdsFound(TypedDict):
    """What the cells returned."""

    crossings: dict[Printed, Crossing]
    continued: dict[int, float]  # by n
    limits: dict[tuple[int, int, float], float]  # by alpha, k and q


@dataclass(frozen=True)
class ThresholdsResult(Result):
    """The entries of the three tables, and table 2 continued."""

    entries: list[ThresholdEntry]
    q: float
    sizes: list[int]
    continued: list[float]  # p_th for each of the sizes
    limit: float  # of p_th as n grows


def crossing(n: int, k: int, alpha: int, byzantine: int, delta: int | None, q: float | None) -> Crossing:
    """The exact p_th, and what plain double precision makes of it."""
    exact = threshold_accuracy(n, k, alpha, delta=delta, q=q, byzantine=byzantine)
    chain = SlushChain(n, k, alpha, byzantine=byzantine)
    ties = equal_doubles(chain, required_votes(n, delta, q)) if exact > 0.5 else []
    return Crossing(exact, ties)


def equal_doubles(chain: SlushChain, needed: int) -> list[float]:
    """The first p above 1/2, in steps of 0.001, at which P_S > P_Maj is no longer true of their doubles.

    Deliberately naive: each probability is one minus what is lost, or its terms added up in order. Both round
    at 1e-16 of 1, so they come out equal where 1 - P is smaller, whichever rule is ahead.
    """
    c = chain.honest
    b = np.arange(c + 1)
    choose = np.array([float(math.comb(c, x)) for x in b.tolist()])
    p = np.arange(0.5, 1.0, _STEP)[:, None]
    law = choose * p**b * (1 - p) ** (c - b)
    lost = (1 - (law * chain.red).sum(axis=1)) - (1 - law[:, :needed].sum(axis=1))
    added = np.cumsum(law * chain.blue, axis=1)[:, -1] - np.cumsum(law[:, needed:], axis=1)[:, -1]
    return [round(float(p[np.argmax(way <= 0), 0]), 3) for way in (lost, added)]


def large_n_limit(k: int, alpha: int, q: float) -> float:
    """The limit of p_th(q) as n grows, by large deviations; always above q for k > 1.

    Let H(x) = P(Bin(k, x) >= alpha) and theta(x) = log H(x)/H(1-x). From b = xn blue nodes, R_b falls like
    exp(-n I(x)) with I(x) = int_{1/2}^x (theta - logit), and P(S = xn) like exp(-n KL(x, p)). Slush wins most
    at x = q, the majority at the x with theta(x) = logit p. Both fall alike where

        int_{1/2}^q (theta - logit) = int_q^x (y - q) theta'(y) dy = (x - q) theta(x) - int_q^x theta,

    which has one solution x > q; so logit p_th = theta(x) > theta(q) > logit q.
    """
    from scipy.integrate import quad
    from scipy.optimize import brentq

    def theta(x: float) -> float:
        # H(x) = I_x(alpha, k - alpha + 1), the regularised incomplete beta function.
        return float(np.log(betainc(alpha, k - alpha + 1, x)) - np.log(betainc(alpha, k - alpha + 1, 1 - x)))

    ahead = quad(lambda y: theta(y) - float(logit(y)), 0.5, q, epsabs=1e-12)[0]

    def balance(x: float) -> float:
        return float((x - q) * theta(x) - quad(theta, q, x, epsabs=1e-12)[0] - ahead)

    return float(expit(theta(brentq(balance, q, 1 - 1e-9, xtol=1e-13))))


def cells(config: Config, seed: int) -> Plan:  # noqa: ARG001
    """One for each entry, one for each further n, one for each limit."""
    k, alpha = _QUERY_2
    asked = [(alpha, k, _Q), *((alpha, k, q) for alpha, k in _TABLE_1 for q in config.shares)]
    return {
        "crossings": {
            e: partial(crossing, n=e.n, k=e.k, alpha=e.alpha, byzantine=e.byzantine, delta=e.delta, q=e.q)
            for e in PRINTED
        },
        "continued": {n: partial(continued, n=n, k=k, alpha=alpha, q=_Q) for n in config.sizes},
        "limits": {(alpha, k, q): partial(large_n_limit, k=k, alpha=alpha, q=q) for alpha, k, q in asked},
    }


def continued(n: int, k: int, alpha: int, q: float) -> float:
    """Another column of table 2."""
    return threshold_accuracy(n, k, alpha, q=q)


def judge(entry: Printed, found: Crossing, repeats: bool) -> tuple[str, bool]:
    """Why the printed value is what it is, and whether it is the exact one to two decimals.

    ``repeats``: the printed row is that of another f, though the exact ones differ.
    """
    printed, exact = entry.number, found.exact
    ends = " to ".join(f"{p:.3f}" for p in sorted(set(found.doubles)))
    seen = f"doubles show Slush ahead up to p = {ends} only"
    if entry.value.startswith(">"):
        if any(abs(p - printed) <= 0.01 for p in found.doubles):
            return f"a lower bound: {seen}", exact > printed
        return "a lower bound", exact > printed
    if round(exact, 2) == printed:
        return "rounded to two decimals", True
    if math.floor(exact * 100) / 100 == printed:
        return "a lower bound: rounded down", True
    if repeats:
        return "the row f=10 repeats the row f=5", False
    if any(abs(p - printed) <= 0.01 for p in found.doubles):
        return f"double precision: {seen}", False
    return f"a lower bound, of unknown origin: {seen}", False


def result(config: Config, found: ThresholdsFound) -> ThresholdsResult:
    """Every entry beside the exact value, and the answer to the question under table 2."""
    values, limits = list(found["continued"].values()), found["limits"]
    k, alpha = _QUERY_2
    limit = limits[alpha, k, _Q]
    rows: dict[str, list[float]] = {}
    for entry in PRINTED:
        if entry.table == 3:
            rows.setdefault(entry.row, []).append(entry.number)
    entries, findings = [], []
    for entry in PRINTED:
        here = found["crossings"][entry]
        repeats = entry.row == "f=10" and rows["f=10"] == rows["f=5"]
        reason, agrees = judge(entry, here, repeats)
        entries.append(
            ThresholdEntry(entry.table, entry.row, entry.column, entry.number, here.exact, reason, agrees)
        )
        findings.append(
            Finding(
                f"table {entry.table}, {entry.row}, {entry.column}",
                entry.value,
                f"{here.exact:.4f}",
                f"{here.exact - entry.number:+.4f}",
                "" if here.exact == entry.number else reason,
                agrees,
            )
        )
    least = min(limits[alpha, k, q] - q for alpha, k in _TABLE_1 for q in config.shares)
    falls = "falls" if values == sorted(values, reverse=True) else "does not fall steadily"
    findings += [
        Finding(
            f"table 2 continued: p_th(q={_Q}) as n grows",
            "left open whether it stays above q",
            f"{values[-1]:.4f} at n = {config.sizes[-1]:,}; limit {limit:.4f}",
            reason=f"exactly it {falls} to a limit well above q; the printed fall is double precision's",
            holds=limit > _Q and min(values) > _Q,
        ),
        Finding(
            "limit of p_th(q) above q",
            "needed for theorem 'Slush convergence'",
            f"above q by at least {least:.4f} for every query of table 1, "
            f"q = {config.shares[0]} to {config.shares[-1]}",
            reason="by large deviations the limit exceeds q for every q and every k > 1",
            holds=least > 0,
        ),
    ]
    good = sum(entry.agrees for entry in entries)
    wrong = [entry.reason for entry in entries if not entry.agrees]
    said = {word: sum(word in reason for reason in wrong) for word in ("repeats", "unknown")}
    said["double precision"] = len(wrong) - sum(said.values())
    return ThresholdsResult(
        verdict=(
            f"Reproduced in {good} of {len(entries)} entries. Of the others {said['double precision']} stop "
            f"where double precision does, {said['repeats']} repeat another row, for {said['unknown']} there "
            f"is no explanation. Exactly, table 2 settles near {limit:.2f}, well above q = {_Q}: the "
            "question under it is answered."
        ),
        findings=tuple(findings),
        notes=(
            "Exact: logarithms throughout, checked against rational arithmetic in the tests.",
            "An entry agrees if it is the exact value rounded, or rounded down (the captions say 'lower').",
            "The crossing is unique, so 'up to p_th' has one meaning.",
        ),
        entries=entries, q=_Q, sizes=list(config.sizes), continued=values, limit=limit,
    )  # fmt: skip


def figures(result: ThresholdsResult) -> dict[str, Figure]:
    """Tables 1 and 3 by delta (rows of table 3 side by side), table 2 by n on the way to its limit."""
    figure, (first, second, third) = panels(1, 3, size=(4.6, 4.0))
    for axes, table, title in (
        (first, 1, "table 1, n=101"),
        (third, 3, r"table 3, n=101, $\alpha$=14, k=20"),
    ):
        rows: dict[str, list[ThresholdEntry]] = {}
        for entry in result.entries:
            if entry.table == table:
                rows.setdefault(entry.row, []).append(entry)
        for i, ((name, entries), colour) in enumerate(zip(rows.items(), SERIES, strict=False)):
            label = name.replace("alpha", r"$\alpha$")
            x = [delta + (i - 1.5) * 0.08 * (table == 3) for delta in range(len(entries))]
            axes.plot(x, [e.exact for e in entries], color=colour, marker="o", ms=4, label=label)
            axes.plot(x, [e.printed for e in entries], color=colour, marker="x", ls="none", ms=8)
            _lines(axes, x, entries, colour)
        _ends(axes, title, r"$\delta$ of the supermajority", list(range(len(entries))))
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    printed = [entry for entry in result.entries if entry.table == 2]
    second.plot(result.sizes, result.continued, color=BLUE, marker="o", ms=4, label="exact")
    x = [int(entry.row.removeprefix("n=")) for entry in printed]
    second.plot(x, [e.printed for e in printed], color=RED, marker="x", ls="none", ms=8, label="printed")
    _lines(second, x, printed, RED)
    second.axhline(result.limit, color=BLUE, lw=0.8, ls="--", label=f"limit {result.limit:.4f}")
    second.axhline(result.q, color=GREY, lw=0.8, ls=":", label=f"q = {result.q}")
    second.set_xscale("log")
    _ends(second, rf"table 2, q={result.q}, $\alpha$=7, k=10", "participants n", None)
    second.legend(frameon=False, fontsize=8, loc="center right")
    return {"thresholds": figure}


def _lines(axes: Any, x: Sequence[float], entries: list[ThresholdEntry], colour: str) -> None:
    """From each printed value to the exact one, where they are not the same to two decimals."""
    for where, entry in zip(x, entries, strict=True):
        if abs(entry.exact - entry.printed) > 0.01:
            axes.plot([where] * 2, [entry.printed, entry.exact], color=colour, lw=0.8, ls=":", label="_gap")


def _ends(axes: Any, title: str, x: str, ticks: list[int] | None) -> None:
    axes.set(title=title, xlabel=x, ylabel=r"$p_{th}$ (points exact, crosses printed)", ylim=(0.42, 1.0))
    if ticks is not None:
        axes.set_xticks(ticks)


EXPERIMENT = Experiment(
    name="thresholds",
    about="accuracy up to which Slush beats supermajorities, exact beside printed",
    claim=(
        "Tables 'threshold (honest)', 'threshold for varying n' and 'threshold with Byz nodes': p_th to two "
        "decimals, as lower bounds; it is not obvious that p_th(q) stays above q as n grows."
    ),
    full=Config(),
    quick=Config(sizes=(51, 101, 201, 501, 1001, 2001), shares=(0.51, 0.7, 0.9)),
    cells=cells,
    result=result,
    figures=figures,
)
