"""``peer-review``: what each shown row buys, beside rules that are shown none and one that is shown all.

Forests of single writers, as in ``trust``; each writer shows some of its labelled rows (docs/peer-review.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from experiments.experiment import Experiment, Finding, Plan, Result
from experiments.femnist.ensemble import TalkSettings
from experiments.femnist.writer_votes import CASE, DIGITS, KIND
from experiments.peer_review.beside import (
    Forest,
    Listened,
    listen_to,
    plant,
    review_with_forest,
)
from experiments.peer_review.goals import MOST_LIARS, TEN, findings, mean_of
from experiments.peer_review.lies import BACKED, LIES
from experiments.peer_review.points import VOTINGS, Place, Point, review_places
from experiments.peer_review.row_panels import bought, under_attack
from experiments.peer_review.shown_rows import ALL, Sample, Shown, show
from experiments.trust.attacks import CLIQUE, HONEST, NOBODY, STEALTHY

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """The seeds are the one given and those after it; ``liars`` are of as many participants as wanted."""

    data: str | None = None
    writers: int = 101
    test_writers: int = 100
    inputs: int = 2000
    trees: int = 100
    seeds: int = 1
    tasks: tuple[str, ...] = (DIGITS, CASE, KIND)
    rows: tuple[int, ...] = (2, 5, 10, 20, ALL)
    liars: tuple[int, ...] = (20, 40, 60)
    lies: tuple[str, ...] = tuple(each.name for each in LIES)
    judges: int = 4
    forest_judges: int = 2
    talk: TalkSettings = field(default_factory=lambda: TalkSettings(rounds=15, repeats=1))

    @property
    def most(self) -> int:
        """The most liars."""
        return max(self.liars)

    def places(self) -> list[Place]:
        """Liars at every number of rows if they are as many as can be, at ten rows if they are fewer.

        Everybody judges, and talks, where each shows ten rows and the most lie.
        """
        many = [Place(rows, self.most, None if rows == TEN else self.judges) for rows in self.rows]
        few = [Place(TEN, f, self.judges) for f in self.liars if f != self.most and TEN in self.rows]
        return many + few

    def honest_places(self) -> list[Place]:
        """The same if nobody lies."""
        return [Place(rows, 0, None if rows == TEN else self.judges) for rows in self.rows]


class ReviewShown(TypedDict):
    """What the first cells returned."""

    shown: dict[tuple[str, int], Shown]  # by task and seed


class ReviewFound(ReviewShown):
    """What all cells returned."""

    reviewed: dict[tuple[str, int, str, str], list[Point]]  # by task, seed, voting and lie
    with_forest: dict[tuple[str, int, int], list[Point]]  # by task, seed and rows
    listened: dict[tuple[str, int, str], list[Listened]]  # by task, seed and story
    forests: dict[tuple[str, int, str], list[Forest]]  # by task, seed and lie


@dataclass(frozen=True)
class ReviewResult(Result):
    """All points, and what stands beside them."""

    points: tuple[Point, ...]
    listened: tuple[Listened, ...]
    forests: tuple[Forest, ...]


def _sample(config: Config, task: str, seed: int) -> Sample:
    return Sample(config.data, task, seed, config.writers, config.test_writers, config.inputs)


def cells(config: Config, seed: int) -> Plan:
    """The forests of the writers, and what they say of each other's rows."""
    return {
        "shown": {
            (task, each): partial(show, sample=_sample(config, task, each), trees=config.trees)
            for task in config.tasks
            for each in range(seed, seed + config.seeds)
        }
    }


def then(config: Config, found: ReviewShown) -> Plan:
    """A cell for each kind of liar and form of votes, and for what stands beside."""
    reviewed, with_forest, listened, forests = {}, {}, {}, {}
    stories = dict.fromkeys(each.story for each in LIES if each.name in config.lies)
    for (task, seed), shown in found["shown"].items():
        sample = _sample(config, task, seed)
        planted = partial(plant, sample=sample, shown=shown, trees=config.trees, wanted=config.writers)
        for lie in (NOBODY, *config.lies):
            places = config.honest_places() if lie == NOBODY else config.places()
            for voting in VOTINGS:
                reviewed[task, seed, voting, lie] = partial(
                    review_places, shown=shown, wanted=config.writers, voting=voting, lie=lie, places=places,
                    talk=config.talk,
                )  # fmt: skip
        for rows in config.rows:
            if rows in (TEN, ALL):
                place = Place(rows, 0, config.forest_judges)
                with_forest[task, seed, rows] = partial(
                    review_with_forest, sample=sample, shown=shown, trees=config.trees, place=place
                )
        for story in (HONEST, *(each for each in stories if each != HONEST)):
            liars = [0] if story == HONEST else list(config.liars)
            listened[task, seed, story] = partial(
                listen_to, shown=shown, wanted=config.writers, story=story, liars=liars, judges=config.judges
            )
        for lie in (NOBODY, *_labels_told(config)):
            places = config.honest_places() if lie == NOBODY else config.places()
            forests[task, seed, lie] = partial(planted, lie=lie, places=places)
    return {"reviewed": reviewed, "with_forest": with_forest, "listened": listened, "forests": forests}


def _labels_told(config: Config) -> list[str]:
    """A lie for each way of labelling rows falsely: forests on shown rows hear no votes."""
    lies = [each for each in LIES if each.name in config.lies and each.claims != "right"]
    return list({each.claims: each.name for each in lies}.values())


def result(config: Config, found: ReviewFound) -> ReviewResult:
    """The goals, judged."""
    judged = [*found["reviewed"].values(), *found["with_forest"].values()]
    points = [each for cell in judged for each in cell]
    forests = [each for cell in found["forests"].values() for each in cell]
    listened = [each for cell in found["listened"].values() for each in cell]
    goals = [each for task in config.tasks for each in findings(points, forests, task)]
    return ReviewResult(
        verdict=_verdict(config, points, goals),
        findings=tuple(goals),
        notes=_notes(config, found, points),
        points=tuple(points),
        listened=tuple(listened),
        forests=tuple(forests),
    )


def _verdict(config: Config, points: Sequence[Point], goals: Sequence[Finding]) -> str:
    held = [each.holds for each in goals if each.holds is not None]
    if not held:
        return "Beyond the paper. Nobody anchored: nothing that is published goes with anybody's own rows."
    shown = []
    for task in config.tasks:
        here = [each for each in points if each.task == task and each.lie == NOBODY and not each.forest]
        for rows in config.rows:
            some = [each for each in here if each.rows == rows and each.voting == VOTINGS[1]]
            mean = mean_of(some, lambda each: each.accuracy)
            if rows in (TEN, ALL) and mean is not None:
                shown.append(f"{task} {mean:.3f} with {'all' if rows == ALL else rows} rows")
    return (
        f"Beyond the paper. {sum(held)} of {len(held)} goals are reached. Accuracy of peer review, in "
        f"probabilities, nobody lying: {', '.join(shown)}."
    )


def _notes(config: Config, found: ReviewFound, points: Sequence[Point]) -> tuple[str, ...]:
    first = next(iter(found["shown"].values()))
    scaled = len(first.members) != config.writers
    talked = [each for each in points if each.talked is not None and each.lie == NOBODY]
    anchored = ", ".join(f"{each.task} {each.anchored} of {each.judges} ({each.voting})" for each in talked)
    return (
        f"Seeds: {config.seeds}, {len(first.truth):,} inputs of {config.test_writers} other writers. The "
        "constants of the rule were chosen on seeds 0 to 2; --seed 3 shows others. A writer shows its rows "
        "in an order drawn by the seed; the forest that votes was trained on all of them, and its votes on "
        "its own rows are not heard. Probabilities are sent in 8 bits.",
        f"With ten rows each and nobody lying, or {config.most} liars, all honest participants judge and "
        f"then talk, elsewhere {config.judges} of them, the same everywhere, and {config.forest_judges} "
        "where a forest votes. A participant without an anchor decides nothing and is not counted."
        + (f" With nobody lying there anchor: {anchored}." if anchored else ""),
        "A forest on shown rows believes all labels; the pooled one has all rows with right labels. As a "
        "voter it is grown, for each judge, from the rows of publishers that the judge accepts.",
        "Liars are drawn by the seed, more include the fewer. "
        + " ".join(f"{each.name}: {each.about}." for each in LIES if each.name in config.lies)
        + (f" Numbers of liars are of {config.writers}, and scaled down." if scaled else ""),
    )


def figures(result: ReviewResult) -> dict[str, Figure]:
    """What rows buy if nobody lies, and for each task under attack."""
    beside = (result.points, result.forests, result.listened)
    tasks = dict.fromkeys(each.task for each in result.points)
    return {"peer-review": bought(*beside)} | {task: under_attack(*beside, task) for task in tasks}


EXPERIMENT = Experiment(
    name="peer-review",
    about="peer review: what each shown row buys, nobody lying and with up to 60 liars of 101",
    claim=(
        "Consensus agrees, but it does not learn. Beyond the paper: votes on a few rows whose labels are "
        "shown tell each participant whom to believe on what, also where most lie."
    ),
    full=Config(),
    quick=Config(
        test_writers=20,
        inputs=600,
        trees=25,
        tasks=(CASE,),
        rows=(2, TEN, ALL),
        liars=(MOST_LIARS,),
        lies=("labels", CLIQUE, STEALTHY, BACKED, "sparing 100%"),
        judges=3,
        forest_judges=1,
    ),
    cells=cells,
    result=result,
    figures=figures,
    then=then,
    needs_data=True,
)
