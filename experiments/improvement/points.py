"""A point of the experiment ``improve``: a way to label the pool, some liars, and what models gain."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.improvement.traitors import stealthy_votes
from experiments.improvement.writers import Setting, Voted, Writers, accuracy, draw, vote
from folkmoot.adversaries import colluding_votes
from folkmoot.arrays import Floats, Ints
from folkmoot.comparing.metric import ACCURACY
from folkmoot.learning.first_votes import chances_of
from folkmoot.learning.improving import refit, speaks_against
from folkmoot.learning.known_rows import places_to_show
from folkmoot.learning.participants import Participant, learnt_on
from folkmoot.learning.pseudo_labels import FIRM, RULE, Footing, OwnRows, Recipe, agree_on_labels
from folkmoot.votes import NO_VOTE, in_levels

STRUCK: Final = 0.25  # of all inputs, by stealthy liars
HURT: Final = 0.01  # one standard error of an accuracy on 2,000 inputs
LATE: Final = "stealthy, late"  # honest first votes
SPARING: Final = "clique, sparing check rows"  # honest on all rows that anybody shows
NOBODY, CLIQUE, WRONG, STEALTHY = "nobody lies", "clique", "always wrong", "stealthy"
LIES: Final = (NOBODY, CLIQUE, WRONG, STEALTHY)
OURS: Final = "the rule"
SELF, NEAREST = "self-training alone", "prediction consensus"
ROUNDS: Final = 3  # of prediction consensus
STEPS: Final[dict[str, Recipe]] = {
    OURS: RULE,
    "without own class counts": replace(RULE, match=False),
    "without ridge": replace(RULE, ridge=False),
    "one review": replace(RULE, reviews=1),
    "no talk": replace(RULE, talks=0),
    "three rounds of talk": replace(RULE, talks=3),
    "labels instead of probabilities": replace(RULE, soft=False),
}
CLEAR, TENFOLD, TWICE = "clear labels only", "own rows ten times", "a second round"


@dataclass(frozen=True)
class Trial:
    """What is tried: a lie, told by 60%, a way to label, check rows (None: all), and how many refit."""

    lie: str
    way: str = OURS
    rows: int | None = None
    few: int | None = None  # None: all honest ones
    careful: bool = False  # whether to see what safe=True would do


@dataclass(frozen=True)
class Point:
    """What came of it, for the honest that fitted their models again."""

    task: str
    model: str
    participants: int
    seed: int
    lie: str
    way: str
    rows: int | None
    liars: int
    judged: int
    labels: float | None  # share of the pool that is labelled right, mean over participants
    before: float
    worst_before: float
    after: float
    worst: float
    harmed: int  # whose model is worse on the test set than before
    hurt: int  # worse by more than 0.01, which chance does not explain
    refused: int
    safe: float | None  # mean accuracy with safe=True
    safe_worst: float | None
    safe_harmed: int | None
    safe_hurt: int | None
    safe_accepted: int | None
    pooled: float  # of one model on all rows with right labels


def improve_writers(setting: Setting, seed: int, trials: list[Trial]) -> list[Point]:
    """Cell: several trials with the same writers."""
    with threadpool_limits(1), warnings.catch_warnings():  # cells run side by side
        warnings.simplefilter("ignore")  # scikit-learn's default of 100 iterations
        drawn = draw(setting, seed)
        voted = vote(drawn)
        whole = replace(drawn, owner=np.zeros_like(drawn.owner))
        pooled = accuracy(learnt_on(whole.task_of(0), np.arange(len(drawn.y))), drawn)
        return [_point(drawn, voted, trial, pooled) for trial in trials]


def liars_in(drawn: Writers, lie: str) -> Ints:
    """60% of the participants, by the seed; none if nobody lies."""
    n = len(drawn.rows_of)
    order = np.random.default_rng([drawn.seed, 4]).permutation(n)
    return np.sort(order[: 0 if lie == NOBODY else round(0.6 * n)])


def story_of(drawn: Writers, lie: str) -> Ints:
    """(row and then input,): the class that all liars name, -1 where each says what it would say honestly."""
    truth = np.concatenate([drawn.y, drawn.pool_truth])
    own = np.full(len(truth), NO_VOTE)
    if lie in (CLIQUE, SPARING):
        story = colluding_votes(len(truth), drawn.classes, seed=drawn.seed)
        return np.where(np.arange(len(truth)) < len(drawn.y), own, story) if lie == SPARING else story
    if lie == WRONG:
        return (truth + 1) % drawn.classes
    if lie in (STEALTHY, LATE):
        return stealthy_votes(own, truth, drawn.classes, share=STRUCK, seed=drawn.seed)
    return own


@dataclass(frozen=True, eq=False)
class Labelled:
    """What everybody makes of the pool."""

    chances: Floats  # (participant, input, class)
    why_not: tuple[str | None, ...]  # why some have no view
    footing: tuple[Footing, ...]  # what each one's labels rest on, for safe=True


def labels_by(drawn: Writers, votes: Floats, trial: Trial) -> Labelled:
    """How likely each finds the classes of the pool."""
    classes, liars = drawn.classes, liars_in(drawn, trial.lie)
    told_on = np.flatnonzero(story_of(drawn, trial.lie) != NO_VOTE)
    story = np.eye(classes)[story_of(drawn, trial.lie)[told_on]]
    first = trial.lie == LATE

    def told(answers: Floats) -> Floats:
        nonlocal first
        heard = answers.copy()
        if not first:
            heard[np.ix_(liars, told_on)] = story
        first = False
        return heard

    pool = np.arange(len(drawn.y), votes.shape[1])
    rng = np.random.default_rng([drawn.seed, 13])
    some = [
        rows[places_to_show(drawn.y[rows], "all" if trial.rows is None else trial.rows, rng)]
        for rows in drawn.rows_of
    ]
    if trial.way == SELF:
        return _plain(votes[:, pool])
    if trial.way == NEAREST:
        return _plain(_nearest(told(votes), votes)[:, pool])
    own = [
        OwnRows(shown, drawn.y[shown], np.bincount(drawn.y[rows], minlength=classes).astype(np.float64))
        for shown, rows in zip(some, drawn.rows_of, strict=True)
    ]
    asked = np.sort(np.concatenate([*some, pool]))  # rows that are not shown are asked about by nobody
    place = np.searchsorted(asked, np.arange(votes.shape[1]))
    own = [replace(each, places=place[each.places]) for each in own]
    told_all = told

    def told_of(answers: Floats) -> Floats:
        whole = np.zeros((len(votes), votes.shape[1], classes))
        whole[:, asked] = answers
        return told_all(whole)[:, asked]

    recipe = STEPS.get(trial.way, RULE)
    agreed = agree_on_labels(votes[:, asked], own, place[pool], told_of, recipe, steady=trial.careful)
    footing = tuple(agreed.footing(i) for i in range(len(votes)))
    return Labelled(agreed.chances, agreed.why_not, footing)


def _plain(chances: Floats) -> Labelled:
    """What comes of ways that ask nobody's rows."""
    return Labelled(chances, (None,) * len(chances), (FIRM,) * len(chances))


def _nearest(heard: Floats, held: Floats) -> Floats:
    """Fan, Mendler-Duenner and Jaggi (2023): the mean of all, by the cosine of their answers with one's."""
    flat = heard.reshape(len(heard), -1)
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    mine = held.reshape(len(held), -1)
    trust = (mine / np.linalg.norm(mine, axis=1, keepdims=True)) @ flat.T
    return np.asarray(np.tensordot(trust / trust.sum(axis=1, keepdims=True), heard, axes=1))


def _point(drawn: Writers, voted: Voted, trial: Trial, pooled: float) -> Point:
    honest = np.setdiff1d(np.arange(len(voted.votes)), liars_in(drawn, trial.lie))
    judged = honest[: trial.few]
    votes, people = voted.votes, dict(enumerate(voted.models))
    last = {NEAREST: ROUNDS, TWICE: 2}.get(trial.way, 1) - 1
    for turn in range(last + 1):
        labelled = labels_by(drawn, votes, trial)
        chances, why_not = labelled.chances, labelled.why_not
        who = judged if turn == last else honest
        found = {int(i): _refitted(drawn, voted.models[i], i, chances[i], why_not[i], trial) for i in who}
        if turn < last:
            people |= {i: each[0] for i, each in found.items()}
            votes = _said_again(drawn, people, votes, honest)
    after = np.array([accuracy(found[int(i)][0], drawn) for i in judged])
    before = voted.before[judged]
    accepted = np.array([_borne_out(drawn, voted, int(i), found[int(i)][1], labelled) for i in judged])
    safe = np.where(accepted, after, before)
    labels = chances[judged].argmax(axis=2)
    return Point(
        task=drawn.setting.task,
        model=drawn.setting.model,
        participants=len(voted.votes),
        seed=drawn.seed,
        lie=trial.lie,
        way=trial.way,
        rows=trial.rows,
        liars=len(voted.votes) - len(honest),
        judged=len(judged),
        labels=float((labels == drawn.pool_truth).mean()),
        before=float(before.mean()),
        worst_before=float(before.min()),
        after=float(after.mean()),
        worst=float(after.min()),
        harmed=int((after < before).sum()),
        hurt=int((after < before - HURT).sum()),
        refused=sum(why_not[i] is not None for i in judged),
        safe=float(safe.mean()) if trial.careful else None,
        safe_worst=float(safe.min()) if trial.careful else None,
        safe_harmed=int((safe < before).sum()) if trial.careful else None,
        safe_hurt=int((safe < before - HURT).sum()) if trial.careful else None,
        safe_accepted=int(accepted.sum()) if trial.careful else None,
        pooled=pooled,
    )


def _borne_out(drawn: Writers, voted: Voted, i: int, right: Floats | None, labelled: Labelled) -> bool:
    """Whether a careful participant would take its new model."""
    if right is None:
        return False
    before = voted.unseen[i].argmax(axis=1) == drawn.y[drawn.rows_of[i]]
    was = np.asarray(before, dtype=np.float64)
    return speaks_against(ACCURACY, was, right, 1 / drawn.classes, labelled.footing[i]) is None


def _refitted(
    drawn: Writers, old: Participant, i: int, chances: Floats, why_not: str | None, trial: Trial
) -> tuple[Participant, Floats | None]:
    """The participant with its new model, and which own rows a model of the agreed rows alone gets right."""
    if why_not is not None:
        return old, None
    task, pool, labels = drawn.task_of(i), drawn.pool, chances.argmax(axis=1)
    if trial.way == CLEAR:
        sure = chances.max(axis=1)
        pool, labels = pool[sure >= np.median(sure)], labels[sure >= np.median(sure)]
    if trial.way == TENFOLD:
        task = replace(task, X=np.repeat(task.X, 10, axis=0), y=np.repeat(task.y, 10))
    done = refit(task, old, pool, labels, measure=trial.careful)
    return done.participant, done.scores


def _said_again(drawn: Writers, people: dict[int, Participant], votes: Floats, who: Ints) -> Floats:
    """What the new models say; on their own rows, which they have seen, what the old ones said."""
    asked, again = np.concatenate([drawn.X, drawn.pool]), votes.copy()
    for i in who:
        said = np.asarray(chances_of(people[int(i)], asked, np.arange(drawn.classes)))
        rows = drawn.rows_of[i]
        again[i] = in_levels(said)
        again[i, rows] = votes[i, rows]
    return again
