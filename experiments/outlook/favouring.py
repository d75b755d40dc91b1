"""``outlook``: does a consensus that favours accurate participants beat Slush, and if accuracies are wrong?

Beta-distributed learners as in section 5.2 and, with ``--data``, models of FEMNIST writers. Every way to
agree is played on the same votes, with 0 to 30% perfectly malicious participants; with learnt trust up to
60%. Differences to Slush are taken draw by draw, and their standard errors are over draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypedDict

import numpy as np

from experiments.experiment import Experiment, Finding, Plan, Result
from experiments.femnist.single_writers import votes_cell
from experiments.femnist.writer_votes import MemberVotes
from experiments.outlook.crowds import BOASTED, HOLDOUT, SHUFFLED, TRUE, Crowd, beta_crowd, writers_crowd
from experiments.outlook.methods import (
    FINAL,
    NOTHING,
    TRUST,
    Said,
    Scene,
    Talking,
    said_by_all,
    said_by_trust,
)
from experiments.outlook.share_panels import drawn
from folkmoot.comparing.printing import plus_minus
from folkmoot.outcome import standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLUSH: Final = "Slush"
WRITERS: Final = "FEMNIST writers"
_FAR: Final = 4.5  # standard errors


@dataclass(frozen=True)
class Config:
    """Crowds, shares of liars without and with trust; the seeds are the one given and those after it."""

    data: str | None = None
    n: int = 101
    mean: float = 0.6
    variances: tuple[float, ...] = (0.005, 0.02, 0.06)
    draws: int = 5
    inputs: int = 200
    held_out: int = 20
    shares: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3)
    trust_shares: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6)
    writer_seeds: int = 3
    test_writers: int = 100
    trees: int = 100
    talking: Talking = field(default_factory=Talking)


QUICK = Config(
    variances=(0.02,), draws=3, inputs=100, shares=(0.0, 0.2), trust_shares=(0.0, 0.4), writer_seeds=1,
    test_writers=10, trees=10, talking=Talking(slices=(7,)),
)  # fmt: skip


@dataclass(frozen=True)
class OutlookPoint:
    """All ways to agree in one crowd with so many liars."""

    crowd: str
    seed: int
    share: float
    liars: int
    said: list[Said]


@dataclass(frozen=True)
class OutlookRow:
    """One way to agree in one crowd with one share of liars, over draws."""

    crowd: str
    method: str
    known: str
    share: float
    accuracy: float
    error: float | None
    lead: float | None  # over Slush on the same votes; None where Slush was not played
    lead_error: float | None
    exact: float | None
    agreement: float | None
    decided: float
    rounds: float | None
    messages: float | None

    def __str__(self) -> str:
        return f"{self.accuracy:.3f}{plus_minus(self.error, 3)}"

    @property
    def ahead(self) -> str:
        """The lead in words."""
        return "" if self.lead is None else f"{self.lead:+.3f}{plus_minus(self.lead_error, 3)}"


class OutlookVotes(TypedDict):
    """What the first cells returned."""

    beta: dict[tuple[float, int, float], OutlookPoint]  # by variance, seed and share
    forests: dict[int, MemberVotes]  # by seed


class OutlookFound(OutlookVotes):
    """What all cells returned."""

    writers: dict[tuple[int, float], OutlookPoint]  # by seed and share


@dataclass(frozen=True)
class OutlookResult(Result):
    """All rows, and the draws they are averages of."""

    rows: tuple[OutlookRow, ...]
    points: tuple[OutlookPoint, ...]


def play_beta(
    mean: float, variance: float, n: int, inputs: int, held_out: int, seed: int, share: float,
    plain: bool, trust: bool, talking: Talking,
) -> OutlookPoint:  # fmt: skip
    """Cell: one draw of learners, some of them lying."""
    crowd = beta_crowd(mean, variance, n, inputs, held_out, seed)
    return _point(f"beta, variance {variance:g}", crowd, share, plain, trust, talking)


def play_writers(
    votes: MemberVotes, inputs: int, share: float, plain: bool, trust: bool, talking: Talking
) -> OutlookPoint:
    """Cell: the models of single writers, some of them lying."""
    return _point(WRITERS, writers_crowd(votes, inputs), share, plain, trust, talking)


def _point(name: str, crowd: Crowd, share: float, plain: bool, trust: bool, talking: Talking) -> OutlookPoint:
    scene = Scene(crowd, crowd.liars(share), talking)
    said = [*(said_by_all(scene) if plain else ()), *(said_by_trust(scene) if trust else ())]
    if name == WRITERS:  # theory takes votes for independent, which those of models on one letter are not
        said = [Said(**{**vars(each), "exact": None}) for each in said]
    return OutlookPoint(name, crowd.seed, share, len(scene.liars), said)


def _shares(config: Config) -> list[float]:
    return sorted({*config.shares, *config.trust_shares})


def cells(config: Config, seed: int) -> Plan:
    """A cell for each draw and share of liars; and the forests of writers, if there is data."""
    forests = range(seed, seed + config.writer_seeds) if config.data is not None else ()
    return {
        "beta": {
            (variance, each, share): partial(
                play_beta,
                mean=config.mean,
                variance=variance,
                n=config.n,
                inputs=config.inputs,
                held_out=config.held_out,
                seed=each,
                **_asked(config, share),
            )
            for variance in config.variances
            for each in range(seed, seed + config.draws)
            for share in _shares(config)
        },
        "forests": {
            each: votes_cell(config.data, each, "rf", config.n, config.test_writers, config.trees)
            for each in forests
        },
    }


def _asked(config: Config, share: float) -> dict[str, Any]:
    return {
        "share": share,
        "plain": share in config.shares,
        "trust": share in config.trust_shares,
        "talking": config.talking,
    }


def then(config: Config, found: OutlookVotes) -> Plan:
    """The talks of the writers."""
    return {
        "writers": {
            (seed, share): partial(play_writers, votes=votes, inputs=config.inputs, **_asked(config, share))
            for seed, votes in found["forests"].items()
            for share in _shares(config)
        }
    }


def rows_of(points: Sequence[OutlookPoint]) -> list[OutlookRow]:
    """Averages over draws; leads over Slush draw by draw."""
    found: dict[tuple[str, float, str, str], list[tuple[Said, float | None]]] = {}
    for point in points:
        slush = next(
            (each.accuracy for each in point.said if (each.method, each.known) == (SLUSH, NOTHING)), None
        )
        for each in point.said:
            found.setdefault((point.crowd, point.share, each.method, each.known), []).append((each, slush))
    return [_row(*key, values) for key, values in found.items()]


def _row(
    crowd: str, share: float, method: str, known: str, values: Sequence[tuple[Said, float | None]]
) -> OutlookRow:
    said = [each for each, _ in values]
    leads = [each.accuracy - slush for each, slush in values if slush is not None]

    def mean(name: str) -> float | None:
        numbers = [getattr(each, name) for each in said if getattr(each, name) is not None]
        return float(np.mean(numbers)) if numbers else None

    right = [each.accuracy for each in said]
    return OutlookRow(
        crowd=crowd,
        method=method,
        known=known,
        share=share,
        accuracy=float(np.mean(right)),
        error=standard_error(right),
        lead=float(np.mean(leads)) if leads else None,
        lead_error=standard_error(leads) if leads else None,
        exact=mean("exact"),
        agreement=mean("agreement"),
        decided=mean("decided") or 0.0,
        rounds=mean("rounds"),
        messages=mean("messages"),
    )


def result(config: Config, found: OutlookFound) -> OutlookResult:
    """Who beats Slush by how much, with accuracies that are known, measured, lied about or wrong."""
    points = [*found["beta"].values(), *found["writers"].values()]
    rows = rows_of(points)
    findings = []
    for crowd in dict.fromkeys(each.crowd for each in rows):
        here = [each for each in rows if each.crowd == crowd]
        findings += _findings(here)
    findings.append(_exactness(rows, config.inputs, config.draws))
    return OutlookResult(
        verdict=verdict(rows),
        findings=tuple(findings),
        notes=_notes(config, found),
        rows=tuple(rows),
        points=tuple(points),
    )


def _best(rows: Sequence[OutlookRow], known: str, share: float) -> OutlookRow | None:
    """The talk without a centre that is best with this knowledge."""
    some = [
        each
        for each in rows
        if each.known == known
        and each.share == share
        and each.agreement is not None
        and each.lead is not None
    ]
    return max(some, key=lambda each: each.accuracy, default=None)


def _findings(rows: Sequence[OutlookRow]) -> list[Finding]:
    crowd, found = rows[0].crowd, []
    for share in sorted({each.share for each in rows}):
        here = [each for each in rows if each.share == share]
        for known in dict.fromkeys(each.known for each in here):
            shown = [each for each in here if each.known == known]
            best = _best(here, known, share)
            gains = known not in (NOTHING, SHUFFLED) and best is not None and best.lead is not None
            clear = gains and best is not None and (best.lead or 0.0) > 2 * (best.lead_error or 0.0)
            found.append(
                Finding(
                    f"{crowd}, {share:.0%} lying, by {known}",
                    "might perform better than Slush" if gains else "not in the paper",
                    ", ".join(f"{each.method} {each}" for each in shown),
                    difference="" if best is None else f"{best.method} {best.ahead} over Slush",
                    holds=clear if gains and share == 0 else None,
                )
            )
    return found


def _exactness(rows: Sequence[OutlookRow], inputs: int, draws: int) -> Finding:
    """Simulated against exact, by the spread over draws or, if larger, that of independent inputs."""
    off = []
    for each in rows:
        if each.exact is not None:
            alone = np.sqrt(max(each.exact * (1 - each.exact), 1e-6) / (inputs * draws))
            off.append(abs(each.accuracy - each.exact) / max(each.error or 0.0, float(alone)))
    worst = max(off, default=0.0)
    return Finding(
        "simulated against exact",
        "not given",
        f"{len(off)} averages, worst {worst:.1f} standard errors apart",
        reason="exact for the accuracies drawn: Slush, the majority, and teams without liars",
        holds=worst <= _FAR if off else None,
    )


def verdict(rows: Sequence[OutlookRow]) -> str:
    """The answer in three sentences, of the crowd in the middle."""
    crowds = [name for name in dict.fromkeys(each.crowd for each in rows) if name != WRITERS]
    crowd = crowds[len(crowds) // 2]
    here = [each for each in rows if each.crowd == crowd]
    lies = max(share for share in {each.share for each in here if each.known == NOTHING} if share <= 0.2)

    def of(method: str, known: str, share: float) -> OutlookRow | None:
        asked = (method, known, share)
        return next((each for each in here if (each.method, each.known, each.share) == asked), None)

    slush, known, measured = of(SLUSH, NOTHING, 0.0), _best(here, TRUE, 0.0), _best(here, HOLDOUT, 0.0)
    still, honest = of(SLUSH, NOTHING, lies), _best(here, HOLDOUT, lies)
    if slush is None or known is None or measured is None or still is None or honest is None:
        raise ValueError("the study needs talks without liars and with at most 20% of them")
    wrong, lied = of(measured.method, SHUFFLED, 0.0), of(honest.method, BOASTED, lies)
    clear = (measured.lead or 0.0) > 2 * (measured.lead_error or 0.0)
    trust = [each for each in here if each.known == TRUST and each.method == FINAL]
    most = max(trust, key=lambda each: each.share, default=None)
    return (
        f"{'Yes' if clear else 'No'} ({crowd}): Slush is right on {slush} of the inputs, {known.method} by "
        f"true accuracies on {known}, and {measured.method} by what each held out on {measured}. With the "
        f"accuracies of others {measured.method} falls to {wrong}; with {lies:.0%} lying Slush has {still}, "
        f"{honest.method} by holdout {honest}, and {lied} once liars claim the best holdout. "
        + (
            "Trust could not be learnt."
            if most is None
            else f"Trust that each learns for itself withstands both: {most} with {most.share:.0%} lying."
        )
    )


def _notes(config: Config, found: OutlookFound) -> tuple[str, ...]:
    talking = config.talking
    return (
        f"{config.n} participants, {config.inputs} inputs a draw, {config.draws} draws a variance at mean "
        f"{config.mean:g}; k={talking.k}, alpha={talking.alpha}, {talking.rounds} rounds, teams of about "
        f"{talking.team}; "
        "± is the standard error over draws.",
        f"Holdout: {config.held_out} labelled rows each (Laplace), for writers a fifth of their letters. "
        "Accuracies of "
        "others: the true ones, dealt to the wrong participants. Liars that claim the best say that they "
        "have all of "
        "their rows right.",
        "Messages are requests to single peers (or statements to them) about the whole batch; a centre "
        "gets one from each.",
        f"{len(found['forests'])} seeds of FEMNIST writers."
        if found["forests"]
        else "FEMNIST writers were left out: give --data.",
    )


def figures(result: OutlookResult) -> dict[str, Figure]:
    """Accuracy by the share of liars for each crowd; and what each way costs."""
    return drawn(result.rows)


EXPERIMENT = Experiment(
    name="outlook",
    about="protocols that favour accurate participants: federated, leaders, teams, weights, beside Slush",
    claim=(
        "The paper's last section: a greedy consensus which favours high-accuracy nodes might perform "
        "better than Slush. "
        "Beyond the paper: federated agreement, leaders and hierarchies, with accuracies that are true, "
        "measured, wrong "
        "or lied about."
    ),
    full=Config(),
    quick=QUICK,
    cells=cells,
    result=result,
    figures=figures,
    then=then,
    needs_data=True,
)
