"""``trust``: whom to believe, learnt by listening, against every kind of liar (docs/trust.md).

Forests of single writers, as in ``femnist-byzantine``; the letters that each held out are its anchor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypedDict

from experiments.experiment import Cell, Experiment, Finding, Plan, Result
from experiments.femnist.ensemble import MAJORITY, TalkSettings
from experiments.femnist.single_writers import votes_cell
from experiments.femnist.writer_votes import CASE, DIGITS, KIND, MemberVotes
from experiments.femnist.writers import notes_on_writers
from experiments.trust.attack_panels import attacked, other_tasks
from experiments.trust.attacks import ATTACKS, CLIQUE, HONEST, NOBODY, STEALTHY, WRONG
from experiments.trust.curves import TrustCurve, curves_of, find
from experiments.trust.goals import MOST_LIARS, beyond, findings
from experiments.trust.points import TALKED, UNEVEN, Point, hear

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TASK_STORIES: Final = (WRONG, CLIQUE, STEALTHY)  # on the other tasks


@dataclass(frozen=True)
class Config:
    """The seeds are the one given and those after it; ``liars`` are of as many participants as wanted."""

    data: str | None = None
    writers: int = 101
    test_writers: int = 100
    trees: int = 100
    seeds: int = 3
    liars: tuple[int, ...] = (20, 40, 60, 80)
    tasks: tuple[str, ...] = (UNEVEN, KIND, DIGITS)
    task_seeds: int = 1
    task_liars: tuple[int, ...] = (40, 60)
    task_inputs: int = 1500
    talk: TalkSettings = field(default_factory=lambda: TalkSettings(rounds=15, repeats=1))


class TrustVotes(TypedDict):
    """What the first cells returned."""

    case: dict[int, MemberVotes]  # by seed
    more_classes: dict[tuple[str, int], MemberVotes]  # by task and seed


class TrustFound(TrustVotes):
    """What all cells returned."""

    heard: dict[tuple[str, int, str, tuple[int, ...]], list[Point]]  # by task, seed, story and liars


@dataclass(frozen=True)
class TrustResult(Result):
    """All points, and their curves over seeds."""

    participants: int
    points: tuple[Point, ...]
    curves: tuple[TrustCurve, ...]


def cells(config: Config, seed: int) -> Plan:
    """The forests: of each seed for the case of letters, of the first ones for the tasks of more classes."""
    tasks = [task for task in config.tasks if task != UNEVEN]
    some = range(seed, seed + config.task_seeds)
    return {
        "case": {each: _forests(config, each) for each in range(seed, seed + config.seeds)},
        "more_classes": {(task, each): _forests(config, each, task) for task in tasks for each in some},
    }


def _forests(config: Config, seed: int, task: str = CASE) -> Cell:
    """Those of the case of letters are also a cell of ``femnist-byzantine``."""
    cell = votes_cell(config.data, seed, "rf", config.writers, config.test_writers, config.trees)
    if task == CASE:
        return cell
    return partial(cell, task=task, most=config.task_inputs)


def then(config: Config, found: TrustVotes) -> Plan:
    """A cell for each story and number of liars; honest first votes are listened to once for all numbers."""
    heard: dict[tuple[str, int, str, tuple[int, ...]], Cell] = {}

    def listen(votes: MemberVotes, task: str, story: str, *liars: int) -> None:
        heard[task, votes.seed, story, liars] = partial(
            hear, votes=votes, task=task, story=story, wanted=config.writers, liars=list(liars),
            per_class=task != CASE, talk=config.talk,
        )  # fmt: skip

    told = dict.fromkeys(each.story for each in ATTACKS if each.story != HONEST)
    for votes in found["case"].values():
        listen(votes, CASE, HONEST, 0, *config.liars)
        for story in told:
            for f in config.liars:
                listen(votes, CASE, story, f)
    tasks = dict(found["more_classes"])
    if UNEVEN in config.tasks:  # the same forests
        tasks = {(UNEVEN, seed): votes for seed, votes in found["case"].items()} | tasks
    for (task, _), votes in tasks.items():
        listen(votes, task, HONEST, 0)
        for story in _TASK_STORIES:
            for f in config.task_liars:
                listen(votes, task, story, f)
    return {"heard": heard}


def result(config: Config, found: TrustFound) -> TrustResult:
    """The goals, judged."""
    first = found["case"][min(found["case"])]
    points = tuple(point for each in found["heard"].values() for point in each)
    curves = curves_of(points)
    goals = findings(curves, CASE)
    more = [finding for task in config.tasks for finding in findings(curves, task)]
    return TrustResult(
        verdict=_verdict(config, curves, goals, more),
        findings=(*goals, *beyond(curves), *more),
        notes=_notes(config, first, points),
        participants=len(first.members),
        points=points,
        curves=tuple(curves),
    )


def _verdict(
    config: Config, curves: Sequence[TrustCurve], goals: Sequence[Finding], more: Sequence[Finding]
) -> str:
    held, held_more = ([each.holds for each in some if each.holds is not None] for some in (goals, more))
    most = max((f for f in config.liars if f <= MOST_LIARS), default=0)
    shown = []
    for where, attack, f in (
        ("nobody lying", NOBODY, 0),
        (f"{most} always wrong", WRONG, most),
        (f"{most} in a clique", CLIQUE, most),
    ):
        ours, theirs = (find(curves, CASE, attack, method).at(f) for method in (TALKED, MAJORITY))
        if ours and theirs:
            shown.append(f"{where} {ours} (majority {theirs})")
    if not held:
        return (
            "Beyond the paper. Nobody anchored: these models do no better on what they held out than chance."
        )
    return (
        f"Beyond the paper. {sum(held)} of {len(held)} goals are reached on the case of letters"
        + (f", {sum(held_more)} of {len(held_more)} on uneven and on more classes" if held_more else "")
        + f". Accuracy of trust, then Slush: {'; '.join(shown)}."
    )


def _notes(config: Config, first: MemberVotes, points: Sequence[Point]) -> tuple[str, ...]:
    none = [each for each in points if each.attack == NOBODY]
    anchored = ", ".join(
        f"{task} {sum(each.anchored for each in here) / len(here):.0f} of {here[0].participants}"
        for task in dict.fromkeys(each.task for each in none)
        if (here := [each for each in none if each.task == task])
    )
    scaled = len(first.members) != config.writers
    many = any(task != UNEVEN for task in config.tasks)
    more = (
        f", {config.task_seeds} for tasks of more classes ({config.task_inputs:,} inputs; docs/trust.md "
        "tells how far other seeds differ)"
        if many
        else ""
    )
    return (
        *notes_on_writers(config.writers, len(first.members), (config.test_writers,), first.letters)[1:],
        f"Seeds: {config.seeds} for the case of letters ({none[0].inputs:,} letters of {len(first.letters)} "
        f"new writers in the first){more}; ± is the standard deviation over seeds. The method and its "
        "constants were chosen on seeds 0 to 2; --seed 3 shows others.",
        f"Slush has k={config.talk.k} and alpha={config.talk.alpha}, {config.talk.rounds} rounds each; with "
        "trust, those who anchor talk and ask in proportion to positive trust. A participant "
        f"without an anchor decides nothing and is not counted. With nobody lying there anchor: {anchored}.",
        "Liars are drawn by the seed, more include the fewer. "
        + " ".join(f"{each.name}: {each.about}." for each in ATTACKS)
        + (f" Numbers of liars are of {config.writers}, and scaled down." if scaled else ""),
        "Worst is the least accurate participant that anchored, in all seeds; agreement is judged by the "
        "least of all seeds, accuracies by their mean.",
    )


def figures(result: TrustResult) -> dict[str, Figure]:
    """Every attack on the case of letters; and the other tasks, if there are any."""
    tasks = other_tasks(result.curves)
    drawn = {"trust": attacked(result.curves, result.participants)}
    return drawn if tasks is None else drawn | {"tasks": tasks}


EXPERIMENT = Experiment(
    name="trust",
    about="trust learnt by listening, against twelve kinds of liar, up to 80 of 101",
    claim=(
        "The paper's outlook asks for protocols in which participants choose whom to trust. Beyond the "
        "paper: from its own held-out letters and everybody's first votes each learns whom to believe; Slush "
        "and every majority are lost long before 60 of 101 lie."
    ),
    full=Config(),
    quick=Config(
        test_writers=20,
        trees=25,
        seeds=1,
        liars=(40, 60),
        tasks=(UNEVEN,),
        task_liars=(60,),
    ),
    cells=cells,
    result=result,
    figures=figures,
    then=then,
    needs_data=True,
)
