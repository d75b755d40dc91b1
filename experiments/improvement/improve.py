"""``improve``: what models of few rows gain by labels they agree on, beside other ways to come to labels.

Writers of FEMNIST with 10 to 48 labelled characters each, and 1,000 inputs that nobody has labelled
(docs/improve.md); accuracies are on other inputs, of writers who take no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypedDict

import numpy as np

from experiments.experiment import Cell, Experiment, Finding, Plan, Result
from experiments.femnist.writer_votes import CASE, DIGITS
from experiments.improvement.points import (
    CLEAR,
    CLIQUE,
    LATE,
    LIES,
    NEAREST,
    NOBODY,
    OURS,
    SELF,
    SPARING,
    STEALTHY,
    STEPS,
    TENFOLD,
    TWICE,
    WRONG,
    Point,
    Trial,
    improve_writers,
)
from experiments.improvement.writers import FOREST, LOGISTIC, Setting
from folkmoot.pictures.palette import BLUE, GREY, ORANGE, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOT: Final = "not in the paper; goal: "
WAYS: Final = (*STEPS, CLEAR, TENFOLD, TWICE, NEAREST, SELF)
GOALS: Final = {NOBODY: 0.68, CLIQUE: 0.63, WRONG: 0.63, STEALTHY: 0.55}  # on digits: the mean
WORST, FORESTS, CASES, HARMED = 0.65, 0.70, 0.67, 0.08


@dataclass(frozen=True)
class Config:
    """The seeds are the one given and those after it; fewer where much is tried or models are many."""

    data: str | None = None
    writers: int = 25
    forests: int = 101
    test_writers: int = 100
    inputs: int = 1000
    tested: int = 2000
    trees: int = 50
    seeds: int = 10
    forest_seeds: int = 10
    way_seeds: int = 10
    few: int = 5  # participants that refit where many ways are tried
    forest_few: int = 10
    rows: tuple[int, ...] = (0, 5, 10)
    ways: tuple[str, ...] = WAYS
    case: bool = True


class Improved(TypedDict):
    """What the cells returned, by seed."""

    digits: dict[int, list[Point]]
    case: dict[int, list[Point]]
    forests: dict[int, list[Point]]
    ways: dict[int, list[Point]]


@dataclass(frozen=True)
class ImproveResult(Result):
    """All points."""

    points: tuple[Point, ...]


def cells(config: Config, seed: int) -> Plan:
    """A cell for each setting and seed."""

    def planned(seeds: int, task: str, model: str, writers: int, trials: list[Trial]) -> dict[int, Cell]:
        setting = Setting(
            config.data, task, model, writers, config.test_writers,
            inputs=config.inputs, tested=config.tested, trees=config.trees,
        )  # fmt: skip
        return {
            each: partial(improve_writers, setting=setting, seed=each, trials=trials)
            for each in range(seed, seed + seeds)
        }

    lies = (NOBODY, CLIQUE, STEALTHY)
    ways = [Trial(lie, way, few=config.few) for way in config.ways for lie in lies]
    shown = [Trial(lie, rows=rows, few=config.few) for rows in config.rows for lie in lies]
    return {
        "digits": planned(
            config.seeds, DIGITS, LOGISTIC, config.writers,
            [Trial(lie, careful=True) for lie in (*LIES, LATE, SPARING)],
        ),
        "case": planned(
            config.seeds if config.case else 0, CASE, LOGISTIC, config.writers,
            [Trial(lie, careful=True) for lie in LIES],
        ),
        "forests": planned(
            config.forest_seeds, DIGITS, FOREST, config.forests,
            [Trial(lie, few=config.forest_few) for lie in (NOBODY, CLIQUE)],
        ),
        "ways": planned(config.way_seeds, DIGITS, LOGISTIC, config.writers, [*ways, *shown]),
    }  # fmt: skip


def result(config: Config, found: Improved) -> ImproveResult:
    """The goals, judged; then each way and number of check rows beside the rule."""
    digits, case, forests, ways = (
        [each for seed in found[name].values() for each in seed]
        for name in ("digits", "case", "forests", "ways")
    )
    goals = [*_digits(digits), *_forests(forests), *_case(case)]
    held = [each.holds for each in goals if each.holds is not None]
    first = [each for each in digits if each.lie == NOBODY]
    verdict = (
        f"Beyond the paper. {sum(held)} of {len(held)} goals are reached. Ten digits, nobody lying: the mean "
        f"participant's own model goes from {mean(first, 'before'):.3f} to {mean(first, 'after'):.3f}, the "
        f"worst to {least(first, 'worst'):.3f}; pooled data {mean(first, 'pooled'):.3f}."
    )
    return ImproveResult(
        verdict=verdict,
        findings=(*goals, *_beside(ways)),
        notes=_notes(config, digits),
        points=(*digits, *case, *forests, *ways),
    )


def mean(points: Sequence[Point], what: str) -> float:
    """The mean over seeds."""
    return float(np.mean([getattr(each, what) for each in points]))


def least(points: Sequence[Point], what: str) -> float:
    """The least over seeds."""
    return float(np.min([getattr(each, what) for each in points]))


def _of(points: Sequence[Point], lie: str) -> list[Point]:
    return [each for each in points if each.lie == lie]


def _digits(points: Sequence[Point]) -> list[Finding]:
    found = []
    for lie in (*GOALS, LATE, SPARING):
        some = _of(points, lie)
        if not some:
            continue
        after, goal = mean(some, "after"), GOALS.get(lie)
        found.append(
            Finding(
                f"ten digits, {lie}: mean of the models",
                "not in the paper" if goal is None else f"{_NOT}{goal}",
                f"{after:.3f}, worst {least(some, 'worst'):.3f}; before {mean(some, 'before'):.3f}, "
                f"worst {least(some, 'worst_before'):.3f}",
                difference="" if goal is None else f"{after - goal:+.3f}",
                holds=None if goal is None else after >= goal,
            )
        )
        if some[0].safe is not None:
            found.append(_careful(f"ten digits, {lie}", some))
    nobody = _of(points, NOBODY)
    if nobody:
        worst = mean(nobody, "worst")
        found.append(
            Finding(
                "ten digits, nobody lies: worst participant, mean of seeds", f"{_NOT}{WORST}", f"{worst:.3f}",
                difference=f"{worst - WORST:+.3f}", holds=worst >= WORST,
            )
        )  # fmt: skip
        lost = sum(each.harmed for each in points)
        judged = sum(each.judged for each in points)
        found.append(
            Finding(
                "ten digits, any lie: models worse than before", f"{_NOT}0", f"{lost} of {judged}",
                holds=lost == 0,
            )
        )  # fmt: skip
    return found


def _forests(points: Sequence[Point]) -> list[Finding]:
    return [
        Finding(
            f"ten digits, {some[0].participants} forests, {lie}: mean of the models",
            f"{_NOT}{FORESTS}",
            f"{mean(some, 'after'):.3f}, worst {least(some, 'worst'):.3f}; before {mean(some, 'before'):.3f}",
            difference=f"{mean(some, 'after') - FORESTS:+.3f}",
            holds=mean(some, "after") >= FORESTS,
        )
        for lie in (NOBODY, CLIQUE)
        if (some := _of(points, lie))
    ]


def _case(points: Sequence[Point]) -> list[Finding]:
    found = []
    for lie in LIES:
        some = _of(points, lie)
        if not some:
            continue
        after, judged = mean(some, "after"), sum(each.judged for each in some)
        lost = sum(each.harmed for each in some)
        found += [
            Finding(
                f"case of letters, {lie}: mean of the models",
                f"{_NOT}{CASES}",
                f"{after:.3f}, worst {least(some, 'worst'):.3f}; before {mean(some, 'before'):.3f}",
                difference=f"{after - CASES:+.3f}",
                holds=after >= CASES,
            ),
            Finding(
                f"case of letters, {lie}: models worse than before",
                f"{_NOT}{HARMED:.0%}",
                f"{lost} of {judged}, {sum(each.hurt for each in some)} by more than a point",
                holds=lost <= HARMED * judged,
            ),
            _careful(f"case of letters, {lie}", some),
        ]
    return found


def _careful(where: str, points: Sequence[Point]) -> Finding:
    """What ``safe=True`` accepts, and whom it harms."""
    judged, lost = (sum(getattr(each, what) or 0 for each in points) for what in ("judged", "safe_harmed"))
    hurt, took = (sum(getattr(each, what) or 0 for each in points) for what in ("safe_hurt", "safe_accepted"))
    return Finding(
        f"{where}, safe=True: models worse than before",
        f"{_NOT}0",
        f"{lost} of {judged}, {hurt} by more than a point; {took} accepted, mean {mean(points, 'safe'):.3f}, "
        f"worst {least(points, 'safe_worst'):.3f}",
        holds=lost == 0,
    )


def _beside(points: Sequence[Point]) -> list[Finding]:
    """Each other way and number of check rows, nobody lying and under two lies: nothing to judge."""
    keys = dict.fromkeys((each.way, each.rows) for each in points)
    found = []
    for way, rows in keys:
        named = way if rows is None else f"{rows} check rows"
        parts = []
        for lie in dict.fromkeys(each.lie for each in points):
            some = [each for each in _of(points, lie) if (each.way, each.rows) == (way, rows)]
            if some:
                parts.append(f"{lie} {mean(some, 'after'):.3f} (worst {least(some, 'worst'):.3f})")
        found.append(Finding(f"ten digits, {named}", "not in the paper", "; ".join(parts)))
    return found


def _notes(config: Config, digits: Sequence[Point]) -> tuple[str, ...]:
    seeds = sorted({each.seed for each in digits})
    return (
        f"Seeds {seeds[0]} to {seeds[-1]}; the steps of the rule and their constants were chosen on seeds 0 "
        "to 2 of a similar draw of writers. Each writer has 10 to 48 labelled rows, drawn by the seed, and "
        "shows all their inputs as check rows unless another number is named. 60% lie where a lie is named.",
        f"Forests: {config.forest_seeds} seeds, {config.forest_few} participants refit. Other ways and "
        f"numbers of check rows: {config.way_seeds} seeds, {config.few} participants refit, so compare them "
        f"with '{OURS}' in the same table and not with the goals.",
        "Liars know every truth and hand in their class as if sure of it, in first votes and in all that "
        "they announce. Clique: one class by dice for each input. Always wrong: the class after the right "
        "one. Stealthy: wrong together on a quarter of rows and inputs, else honest; late: the same, but "
        "honest first votes. Sparing check rows: a clique that recognises every row that anybody shows, and "
        "answers it honestly.",
        "Prediction consensus is the method of Fan, Mendler-Duenner and Jaggi (NeurIPS 2023) for the same "
        "models: labels by the mean of all answers, weighted by their cosine with one's own, and models "
        "fitted again, three times. Self-training: labels by one's own model.",
    )


def figures(result: ImproveResult) -> dict[str, Figure]:
    """Mean and worst model before and after, by lie; a panel for each setting."""
    groups = dict.fromkeys((each.task, each.model) for each in result.points)
    figure, axes = panels(1, len(groups), size=(4.6, 3.4))
    for axis, (task, model) in zip(axes, groups, strict=True):
        some = [
            each
            for each in result.points
            if (each.task, each.model, each.way, each.rows) == (task, model, OURS, None)
        ]
        lies = list(dict.fromkeys(each.lie for each in some))
        at = np.arange(len(lies))
        for what, shift, colour in (("before", -0.2, GREY), ("after", 0.2, BLUE)):
            axis.bar(at + shift, [mean(_of(some, lie), what) for lie in lies], 0.38, color=colour, label=what)
        worst = [least(_of(some, lie), "worst") for lie in lies]
        axis.plot(at + 0.2, worst, "o", color=ORANGE, label="worst after")
        axis.set_xticks(at, lies, rotation=20, ha="right")
        axis.set_title(f"{task}, {model}")
    axes[0].set_ylabel("accuracy of participants' own models")
    axes[0].legend(frameon=False)
    return {"improve": figure}


EXPERIMENT = Experiment(
    name="improve",
    about="models that improve each other by labels they agree on, nobody lying and with 60% liars",
    claim=(
        "Section 3 names self-supervised use, 'with the ensemble outputs being used to improve local "
        "models'. Beyond the paper: what it brings, also where most lie."
    ),
    full=Config(),
    quick=Config(
        writers=11,
        forests=11,
        test_writers=20,
        inputs=300,
        tested=500,
        trees=10,
        seeds=1,
        forest_seeds=1,
        way_seeds=1,
        few=2,
        forest_few=2,
        rows=(5,),
        ways=(OURS, "without own class counts", NEAREST, SELF),
    ),
    cells=cells,
    result=result,
    figures=figures,
    needs_data=True,
)
