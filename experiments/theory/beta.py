"""``beta``: learners whose accuracies are beta-distributed, with thresholds of their own (section 5.2).

As in the paper: draw n accuracies; for each draw, N1 voting profiles, each played through local Slush and
counted by the majority; N2 draws in all. Where it can be solved, the exact value for the same draws is put
beside the simulated one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np

from experiments.counting import MAJORITY, RULES, counted
from experiments.experiment import Cell, Experiment, Finding, Plan, Result
from experiments.theory.beta_law import beta_accuracies, beta_parameters
from experiments.theory.swept import swept_draws, swept_finding
from folkmoot.arrays import Floats
from folkmoot.checks import least_alpha
from folkmoot.comparing.printing import plus_minus
from folkmoot.outcome import Outcome, log_odds, share_right, standard_error
from folkmoot.pictures.palette import BLUE, GREEN, GREY, ORANGE, panels
from folkmoot.protocols.naming import named_protocol
from folkmoot.protocols.sampling import Everyone
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.simulation.engine import deliberate
from folkmoot.simulation.setting import Device
from folkmoot.theory import LocalSlushChain
from folkmoot.votes import Votes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROUNDS = 50
_BETA = 20  # of Snowflake and Snowball
_PAPERS_LAW = Everyone()
_LOCAL, _SLUSH = "local Slush", "Slush"


@dataclass(frozen=True)
class Config:
    """n learners; N1 ``profiles`` for each of N2 ``draws`` of accuracies, at every mean and variance."""

    n: int = 101
    k: int = 10
    profiles: int = 100
    draws: int = 50
    variances: tuple[float, ...] = (0.005, 0.01, 0.02, 0.04, 0.06)
    means: tuple[float, ...] = tuple(round(0.38 + 0.015 * i, 3) for i in range(21))
    exact_means: tuple[float, ...] = (0.38, 0.41, 0.44, 0.485, 0.53)
    most_states: int = 600_000  # of all chains of an exact point together; larger points are left out
    other_means: tuple[float, ...] = (0.44, 0.5, 0.56, 0.62)
    other_draws: int = 10
    device: Device = "cpu"  # a GPU plays all points at once: another sample of votes, kept apart


QUICK = Config(
    variances=(0.005, 0.02, 0.04, 0.06),
    means=(0.425, 0.47, 0.515, 0.56, 0.605),
    draws=12,
    exact_means=(0.425, 0.515),
    most_states=60_000,
    other_means=(0.515,),
    other_draws=4,
)


@dataclass(frozen=True)
class Average:
    """An average over draws and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class BetaPoint:
    """One mean and variance: local Slush, the majority, and their difference on the same profiles."""

    mean: float
    variance: float
    local: Average
    majority: Average
    gap: Average  # majority less local Slush, as the paper draws it
    slush: Average  # global alpha
    settled: float


@dataclass(frozen=True)
class ExactPoint:
    """The exact accuracy of local Slush for the draws of a point, and the simulated one."""

    mean: float
    variance: float
    exact: float
    simulated: float
    error: float  # of the simulated one, given the draws


@dataclass(frozen=True)
class OtherRules:
    """Rules beyond the paper on a few draws."""

    mean: float
    variance: float
    accuracies: dict[str, Average]


class BetaFound(TypedDict):
    """What the cells returned, by mean and variance."""

    exact: dict[tuple[float, float], ExactPoint | None]
    others: dict[tuple[float, float], OtherRules]
    points: NotRequired[dict[tuple[float, float], BetaPoint]]
    swept: NotRequired[list[BetaPoint]]  # by a GPU, instead of points


@dataclass(frozen=True)
class BetaResult(Result):
    """All points; ``updates`` counts node updates as the paper would: every round of every talk."""

    n: int
    k: int
    points: tuple[BetaPoint, ...]
    exact: tuple[ExactPoint, ...]
    others: tuple[OtherRules, ...]
    updates: int


def point(mean: float, variance: float, n: int, k: int, draws: int, profiles: int, seed: int) -> BetaPoint:
    """Simulate one mean and variance."""
    local, global_, majority, settled = [], [], [], []
    for draw in range(draws):
        p, votes, truth = _profiles(mean, variance, n, profiles, seed, draw)
        talks = {_LOCAL: Slush(k, StrongConfidence(p)), _SLUSH: Slush(k, least_alpha(k))}
        found = {name: _run(votes, protocol, truth, seed + draw) for name, protocol in talks.items()}
        local.append(found[_LOCAL].accuracy(truth))
        settled.append(found[_LOCAL].converged.mean())
        global_.append(found[_SLUSH].accuracy(truth))
        majority.append(_counted(MAJORITY, votes, truth, p))
    gap = np.array(majority) - np.array(local)
    return BetaPoint(
        mean, variance, _mean(local), _mean(majority), _mean(gap), _mean(global_), float(np.mean(settled))
    )


def swept_points(
    points: list[list[float]], n: int, k: int, draws: int, profiles: int, seed: int, device: Device
) -> list[BetaPoint]:
    """All points (mean, variance) at once, on a GPU."""
    p = [
        np.stack([_draw(mean, variance, n, seed, draw)[0] for draw in range(draws)])
        for mean, variance in points
    ]
    found = swept_draws(p, k, profiles, _ROUNDS, seed, device)
    return [
        BetaPoint(
            mean, variance, _mean(each.local), _mean(each.majority),
            _mean(np.array(each.majority) - np.array(each.local)), _mean(each.slush),
            float(np.mean(each.settled)),
        )
        for (mean, variance), each in zip(points, found, strict=True)
    ]  # fmt: skip


def exact_point(
    mean: float, variance: float, n: int, k: int, draws: int, profiles: int, most_states: int, seed: int
) -> ExactPoint | None:
    """The exact accuracy for the draws of ``point``; None if their chains have too many states to solve."""
    played = [_profiles(mean, variance, n, profiles, seed, draw) for draw in range(draws)]
    alphas = [StrongConfidence(p).thresholds(k) for p, _, _ in played]
    if sum(float(np.prod(np.bincount(alpha) + 1.0)) for alpha in alphas) > most_states:
        return None
    exact, simulated, doubt = [], [], []
    for draw, ((p, votes, truth), alpha) in enumerate(zip(played, alphas, strict=True)):
        right = LocalSlushChain(alpha, k).accuracy(p)
        exact.append(right)
        doubt.append(right * (1 - right) / profiles)
        simulated.append(_run(votes, Slush(k, alpha), truth, seed + draw).accuracy(truth))
    error = float(np.sqrt(np.sum(doubt)) / len(exact))
    return ExactPoint(mean, variance, float(np.mean(exact)), float(np.mean(simulated)), error)


def others(mean: float, variance: float, n: int, k: int, draws: int, profiles: int, seed: int) -> OtherRules:
    """Snowflake, Snowball, weighted Slush, weighted majority and Dawid-Skene on a few draws."""
    found: dict[str, list[float]] = {}
    alpha = least_alpha(k)
    for draw in range(draws):
        p, votes, truth = _profiles(mean, variance, n, profiles, seed, draw)
        talks: dict[str, SnowProtocol[Any]] = {
            _LOCAL: Slush(k, StrongConfidence(p)),
            _SLUSH: Slush(k, alpha),
            "weighted Slush": Slush(k, alpha, weights=np.maximum(log_odds(p, 2), 0).tolist()),
            "Snowflake": named_protocol("snowflake", k, alpha, beta=_BETA),
            "Snowball": named_protocol("snowball", k, alpha, beta=_BETA),
        }
        for name, protocol in talks.items():
            found.setdefault(name, []).append(_run(votes, protocol, truth, seed + draw).accuracy(truth))
        for name in RULES:
            found.setdefault(name, []).append(_counted(name, votes, truth, p))
    return OtherRules(mean, variance, {name: _mean(values) for name, values in found.items()})


def _profiles(
    mean: float, variance: float, n: int, profiles: int, seed: int, draw: int
) -> tuple[Floats, Votes, Votes]:
    """Accuracies and voting profiles of a draw, and the truths: either colour is right half of the time."""
    p, second = _draw(mean, variance, n, seed, draw)
    rng = np.random.default_rng(second)
    truth = np.arange(profiles) % 2
    right = rng.random((n, profiles)) < p[:, None]
    return p, np.where(right, truth, 1 - truth), truth


def _draw(mean: float, variance: float, n: int, seed: int, draw: int) -> tuple[Floats, int]:
    """The accuracies of a draw, and what seeds its profiles."""
    key = [seed, draw, round(mean * 10**6), round(variance * 10**6)]
    first, second = np.random.SeedSequence(key).generate_state(2)
    return beta_accuracies(n, mean, variance, int(first)), int(second)


def _run(votes: Votes, protocol: SnowProtocol[Any], truth: Votes, seed: int) -> Outcome:
    """A protocol once, as the paper has it."""
    return deliberate(
        votes, protocol, truth=truth, classes=2, sampling=_PAPERS_LAW, rounds=_ROUNDS, seed=seed,
        missing="present", threads=1,
    )  # fmt: skip


def _counted(name: str, votes: Votes, truth: Votes, skills: Floats) -> float:
    """The accuracy of a rule that counts votes; ties share."""
    answer = counted(name, votes, 2, skills)
    return float(share_right(answer.decision, truth, answer.tied))


def _mean(values: Sequence[float] | Floats) -> Average:
    array = np.asarray(values, dtype=np.float64)
    return Average(float(array.mean()), standard_error(array) or 0.0)


def _concave(mean: float, variance: float) -> bool:
    """Whether the density has a single hump (a, b >= 1); the paper calls it concave."""
    return min(beta_parameters(mean, variance)) >= 1


def cells(config: Config, seed: int) -> Plan:
    """A cell for every point, exact point and point of the other rules."""
    common: dict[str, Any] = {"n": config.n, "k": config.k, "profiles": config.profiles, "seed": seed}

    def over(means: Sequence[float], function: Any, **more: Any) -> dict[Any, Cell]:
        return {
            (mean, variance): partial(function, mean=mean, variance=variance, **common, **more)
            for variance in config.variances
            for mean in means
            if _concave(mean, variance)
        }

    limits = {"draws": config.draws, "most_states": config.most_states}
    points = over(config.means, point, draws=config.draws)
    plan: dict[str, Cell | dict[Any, Cell]] = {
        "exact": over(config.exact_means, exact_point, **limits),
        "others": over(config.other_means, others, draws=config.other_draws),
    }
    if config.device == "cpu":
        return plan | {"points": points}
    every = [list(each) for each in points]
    return plan | {
        "swept": partial(swept_points, points=every, draws=config.draws, device=config.device, **common)
    }


def result(config: Config, found: BetaFound) -> BetaResult:
    """Is local Slush ahead of the majority, and more so as the variance grows? Is simulation exact?"""
    beyond = tuple(found["others"].values())
    points = tuple(found["swept"] if "swept" in found else found["points"].values())
    exact = tuple(each for each in found["exact"].values() if each is not None)
    common = set.intersection(
        *({each.mean for each in points if each.variance == v} for v in config.variances)
    )
    leads = [_lead(points, variance, common) for variance in config.variances]
    findings = [_lead_finding(lead) for lead in leads]
    growing = all(
        b.value - a.value > 2 * float(np.hypot(a.error, b.error)) for a, b in itertools.pairwise(leads)
    )
    worst = max((abs(each.simulated - each.exact) / each.error for each in exact), default=0.0)
    findings.append(
        Finding(
            "the lead of local Slush grows with the variance",
            "significantly better for larger variances",
            ", ".join(f"{lead.value:+.4f}" for lead in leads),
            reason=f"averages over the {len(common)} means that all variances allow",
            holds=growing,
        )
    )
    findings.append(
        Finding(
            "simulated against exact",
            "not given",
            f"{len(exact)} points, worst {worst:.1f} standard errors apart",
            reason="exact values by LocalSlushChain, for the same draws of accuracies",
            holds=worst <= 4 if exact else None,
        )
    )
    if "swept" in found:
        local = {(each.mean, each.variance): each.local.value for each in points}
        pairs = [(local.get((each.mean, each.variance)), each.exact, each.error) for each in exact]
        findings.append(swept_finding(pairs, config.device))
    findings += [_others_finding(each) for each in beyond]
    ahead = all(lead.value > 2 * lead.error for lead in leads)
    behind = [lead.variance for lead in leads if lead.above.value < -2 * lead.above.error]
    verdict = (
        "Reproduced: averaged over the means, local Slush is ahead of the majority at every variance, and "
        "more so the larger it is."
        if ahead and growing
        else "Reproduced in part: see where local Slush is ahead, and by how much."
    )
    if behind:
        shown = ", ".join(f"{variance:g}" for variance in behind)
        verdict += (
            f" Where learners are better than a coin (mean above 1/2), it is behind at variance {shown}."
        )
    updates = len(points) * config.draws * config.profiles * _ROUNDS * config.n
    return BetaResult(
        verdict=verdict,
        findings=tuple(findings),
        notes=(
            f"{updates / 1e9:.2f} billion node updates as the paper counts them; most talks settle earlier.",
            "Thresholds are from the true accuracies, as in the paper; nobody knows its own that exactly.",
            "The variance of the beta distribution is ab/((a+b)^2 (a+b+1)); appendix C misprints it.",
        ),
        n=config.n, k=config.k, points=points, exact=exact, others=beyond, updates=updates,
    )  # fmt: skip


@dataclass(frozen=True)
class _Lead:
    """Of local Slush over the majority at one variance, averaged over means."""

    variance: float
    value: float
    error: float
    below: Average  # means below 1/2
    above: Average
    most: BetaPoint


def _lead(points: Sequence[BetaPoint], variance: float, means: set[float]) -> _Lead:
    here = [each for each in points if each.variance == variance and each.mean in means]
    whole = _averaged(here)
    most = max(here, key=lambda each: -each.gap.value)
    below = _averaged([each for each in here if each.mean < 0.5])
    above = _averaged([each for each in here if each.mean > 0.5])
    return _Lead(variance, whole.value, whole.error, below, above, most)


def _averaged(points: Sequence[BetaPoint]) -> Average:
    """The mean lead of some points; their draws are independent."""
    if not points:
        return Average(0.0, 0.0)
    error = float(np.sqrt(np.sum([each.gap.error**2 for each in points])) / len(points))
    return Average(float(np.mean([-each.gap.value for each in points])), error)


def _lead_finding(lead: _Lead) -> Finding:
    most, parts = lead.most, [("below", lead.below), ("above", lead.above)]
    return Finding(
        f"lead of local Slush over the majority, variance {lead.variance:g}",
        "drawn, not printed",
        f"{lead.value:+.4f}{plus_minus(lead.error)} on average; "
        + ", ".join(f"{part.value:+.4f}{plus_minus(part.error)} {where} mean 1/2" for where, part in parts)
        + f"; at most {-most.gap.value:+.3f} (mean {most.mean:g}: {most.local.value:.3f} against "
        f"{most.majority.value:.3f})",
        holds=lead.value > 2 * lead.error,
    )


def _others_finding(each: OtherRules) -> Finding:
    shown = ", ".join(f"{name} {found.value:.3f}" for name, found in each.accuracies.items())
    return Finding(
        f"other rules, mean {each.mean:g}, variance {each.variance:g}",
        "not in the paper",
        shown,
        reason="weights from the true accuracies; standard errors in the JSON",
    )


def figures(result: BetaResult) -> dict[str, Figure]:
    """Left: accuracies. Middle: majority less local Slush. Right: the density at a mean of one half."""
    from scipy.stats import beta as beta_law

    variances = sorted({each.variance for each in result.points})
    figure, axes = panels(len(variances), 3, size=(4.2, 2.7))
    x = np.linspace(0.001, 0.999, 300)
    for row, variance in enumerate(variances):
        left, middle, right = axes[3 * row : 3 * row + 3]
        here = [each for each in result.points if each.variance == variance]
        means = [each.mean for each in here]
        for name, colour in (("majority", ORANGE), ("slush", GREEN), ("local", BLUE)):
            shown = {"slush": "Slush, one alpha", "local": "Slush, local alpha"}.get(name, name)
            values = [getattr(each, name) for each in here]
            left.errorbar(
                means, [v.value for v in values], [v.error for v in values],
                color=colour, label=shown, lw=1.2, marker=".", ms=4,
            )  # fmt: skip
        exact = [each for each in result.exact if each.variance == variance]
        if exact:
            left.plot(
                [each.mean for each in exact], [each.exact for each in exact],
                "kD", ms=5, mfc="none", label="exact, local alpha",
            )  # fmt: skip
        left.plot(means, means, color=GREY, ls=":", lw=1, label="mean participant")
        middle.axhline(0, color=GREY, lw=0.8)
        middle.errorbar(
            means, [each.gap.value for each in here], [each.gap.error for each in here],
            color=BLUE, lw=1.2, marker=".", ms=4,
        )  # fmt: skip
        right.fill_between(x, beta_law(*beta_parameters(0.5, variance)).pdf(x), color=GREY, alpha=0.5)
        left.set(ylabel="accuracy", ylim=(0, 1.02))
        left.set_title(f"variance {variance:g}", fontsize=10, loc="left")
        middle.set(ylabel="majority - local Slush")
        right.set(yticks=[], ylim=(0, None))
        if row == len(variances) - 1:
            for each in (left, middle):
                each.set_xlabel("mean accuracy of the learners")
            right.set_xlabel("accuracy of a learner")
    axes[0].legend(frameon=False, fontsize=7)
    axes[2].set_title("density at mean 0.5", fontsize=10, loc="left")
    return {"beta": figure}


EXPERIMENT = Experiment(
    name="beta",
    about="beta-distributed learners with local thresholds, against the majority, by mean and variance",
    claim=(
        "Figure 'Simulation' (section 5.2): for n=101, k=10 and local thresholds, Slush performs "
        "significantly better than a centralised majority rule for larger variances of the accuracies."
    ),
    full=Config(),
    quick=QUICK,
    cells=cells,
    result=result,
    figures=figures,
    takes_device=True,
)
