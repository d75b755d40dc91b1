"""Models that improve each other: participants agree on answers for a pool, and each refits its own model.

For labels the rule is that of ``folkmoot.learning.pseudo_labels``, on arrays; here are models and rows
(docs/improve.md). Numbers are those that the moot agrees on in ``predict``, or each one's final ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np
from scipy import sparse
from scipy.stats import binom

from folkmoot.adversaries.interface import Adversary, Knows, handed_in
from folkmoot.aggregation import Known
from folkmoot.aggregation.interface import OwnAggregation
from folkmoot.arrays import Array, Floats, Ints, Progress
from folkmoot.comparing.metric import ACCURACY, ERROR, Metric
from folkmoot.learning.first_votes import as_classes, chances_of, gaps_level
from folkmoot.learning.improvement import Improvement, ModelChange
from folkmoot.learning.known_rows import check_review, own_answers, places_to_show
from folkmoot.learning.participants import (
    Participant,
    Task,
    answers_like,
    first_sentence,
    learnt_on,
    measured,
    warn_about,
)
from folkmoot.learning.pseudo_labels import FIRM, Footing, OwnRows, agree_on_labels
from folkmoot.learning.tables import rows_in, rows_of, stacked
from folkmoot.votes import NO_VOTE, Votes, in_levels

_STREAM: Final = 19  # of the random numbers that choose rows to show

_BY_CHANCE: Final = 0.5  # how likely chance may be right on as many own rows as a safe new model
_WORSE: Final = 0.2  # how likely as many rows lost, of those that changed, must be if nothing were worse
_STEADY: Final = 0.8  # of the labels that half of the rows must come to, too
_SHARED: Final = 0.85  # of the labels: if those who count for it have announced less, more must be gained
_GAIN: Final = 0.06  # of the pool: what labels promising less bring is lost in what chance does
# Asks all participants, or does something else for each: ``Moot._everybody``.
Everybody = Callable[[Any, Sequence[tuple[Any, ...]], Progress | None], Any]


@dataclass(frozen=True, eq=False)
class Improved:
    """Participants with new models, or their old ones, and what changed."""

    participants: list[Participant]
    improvement: Improvement


@dataclass(frozen=True, eq=False)
class Pool:
    """Inputs without labels, and the participants that are to learn from them."""

    X: Any
    participants: Sequence[Participant]
    tasks: Sequence[Task]  # their own rows
    everybody: Everybody
    prefit: bool  # are own rows new to the models?
    safe: bool  # may own rows speak against a new model?
    progress: Progress | None

    def __post_init__(self) -> None:
        if not isinstance(self.safe, (bool, np.bool_)):
            raise TypeError(f"safe must be True or False: got {self.safe!r}")
        own = self.tasks[0].X
        if _kind(self.X) != _kind(own):
            raise ValueError(
                f"X_unlabelled must be of the kind that was fitted on, {_kind(own)}: got {_kind(self.X)}"
            )

    def refitted(
        self,
        metric: Metric,
        agreed: Array,
        why_not: Sequence[str | None],
        before: Sequence[Floats],
        idle: Sequence[float],
        footings: Sequence[Footing],
        shown: Sequence[int],
    ) -> Improved:
        """Let each fit a new model to its rows and what was agreed on, and keep the old one if it must.

        By participant: ``agreed`` are its answers for the pool, ``why_not`` what speaks against it from the
        start. ``before`` are the scores of its old model on its own rows, ``idle`` that of a model without
        knowledge. ``footings`` are what the answers rest on, ``shown`` how many rows it showed.
        """
        everyone = list(zip(self.tasks, self.participants, strict=True))
        asked = [
            (*each, self.X, None if why else mine)
            for each, mine, why in zip(everyone, agreed, why_not, strict=True)
        ]
        changes, people = [], []
        for i, done in enumerate(self.everybody(refit, asked, self.progress)):
            (task, old), was, why = everyone[i], before[i], why_not[i] or done.fault
            if why is None and self.safe and done.scores is not None:
                why = speaks_against(metric, was, done.scores, idle[i], footings[i])
            score = metric.score(was) if np.isfinite(was).any() else float("nan")
            became = None if done.scores is None else metric.score(done.scores)
            changes.append(ModelChange(old.name, len(task.y), shown[i], score, became, why, old.model))
            people.append(done.participant if why is None else old)
        warn_about([f"{each.name} ({each.why})" for each in changes if each.why], "keeps its old model")
        return Improved(people, Improvement(tuple(changes), agreed.shape[1], agreed, metric is ERROR))


# ---- labels ----------------------------------------------------------------------------------------------


def improve_labels(
    pool: Pool,
    classes: Array,
    *,
    rows: int | Literal["all"],
    seed: int,
    adversaries: Mapping[int, Adversary],
    truth: Votes | None,
) -> Improved:
    """Agree on labels for the pool, and refit every model on its own rows and these."""
    check_review(rows, None)
    seer = next((i for i, liar in adversaries.items() if Knows.TRUTH in liar.knows), None)
    if truth is None and seer is not None:
        name, kind = pool.participants[seer].name, type(adversaries[seer]).__name__
        raise ValueError(
            f"participant {name!r} is {kind}, which must know the truth: give y, the right labels of the pool"
        )
    draw = np.random.default_rng([seed, _STREAM])
    shown = [places_to_show(task.y, rows, draw) for task in pool.tasks]
    ends = np.cumsum([0, *(len(own) for own in shown)])
    places = [np.arange(start, end) for start, end in pairwise(ends)]  # among the inputs that all answer
    unseen = _unseen(pool, classes)
    votes, faults = _handed_in(pool, classes, shown, places, unseen)
    labels = [as_classes(task.y, classes) for task in pool.tasks]
    own = [
        OwnRows(at, mine[some], np.bincount(mine, minlength=len(classes)).astype(np.float64))
        for at, mine, some in zip(places, labels, shown, strict=True)
    ]
    right = [each.labels for each in own]
    rest = np.full(votes.shape[1] - ends[-1], NO_VOTE) if truth is None else truth
    heard = partial(_with_lies, adversaries=adversaries, truth=np.concatenate([*right, rest]), seed=seed)
    found = agree_on_labels(votes, own, np.arange(ends[-1], votes.shape[1]), heard, steady=bool(pool.safe))
    why_not = [
        f"its model cannot answer: {faults[i]}"
        if i in faults
        else _too_few(task, unseen[i]) or found.why_not[i]
        for i, task in enumerate(pool.tasks)
    ]
    before = [_right(each, task.y, classes) for each, task in zip(unseen, pool.tasks, strict=True)]
    idle = [1 / len(classes)] * len(own)
    footings = [found.footing(i) for i in range(len(own))]
    many = [len(each) for each in shown]
    return pool.refitted(ACCURACY, classes[found.labels], why_not, before, idle, footings, many)


def _unseen(pool: Pool, classes: Array) -> list[Floats | None]:
    """(row, class): what models that have not seen its own rows say of them; None for failures."""
    everyone = list(zip(pool.tasks, pool.participants, strict=True))
    if pool.prefit:  # then the rows given to fit are new to the models
        given = pool.everybody(chances_of, [(person, task.X, classes) for task, person in everyone], None)
    else:
        whole = [(*each, np.arange(len(each[0].y)), classes, True) for each in everyone]
        given = pool.everybody(own_answers, whole, None)
    return [None if each is None or isinstance(each, str) else gaps_level(each) for each in given]


def _handed_in(
    pool: Pool, classes: Array, shown: Sequence[Ints], places: Sequence[Ints], unseen: Sequence[Floats | None]
) -> tuple[Floats, dict[int, str]]:
    """(participant, shown row and then input, class): honest answers, 0 for one that fails; and faults."""
    parts = [rows_of(task.X, own) for task, own in zip(pool.tasks, shown, strict=True) if len(own)]
    asked = stacked([*parts, pool.X])
    given = pool.everybody(chances_of, [(person, asked, classes) for person in pool.participants], None)
    names = [person.name for person in pool.participants]
    faults = {i: each for i, each in enumerate(given) if isinstance(each, str)}
    if len(faults) == len(given):
        raise ValueError(f"no participant can answer; the first, {names[0]!r}, says {faults[0]}")
    warn_about([f"{names[i]} ({why})" for i, why in faults.items()], "predict_proba failed")
    votes = np.zeros((len(names), rows_in(asked), len(classes)))
    for i, each in enumerate(given):
        own = unseen[i]
        if i not in faults:
            votes[i] = in_levels(gaps_level(each))
            votes[i, places[i]] = 0.0 if own is None else in_levels(own[shown[i]])
    return votes, faults


def _with_lies(answers: Floats, *, adversaries: Mapping[int, Adversary], truth: Votes, seed: int) -> Floats:
    """Liars say one class of each input, as if they were sure of it, or nothing."""
    if not adversaries:
        return answers
    classes = answers.shape[2]
    named = np.where(answers.any(axis=2), answers.argmax(axis=2), NO_VOTE)
    lies = handed_in(named, dict(adversaries), truth, classes, seed=seed)
    heard = answers.copy()
    for i in adversaries:
        heard[i] = in_levels(np.eye(classes)[np.maximum(lies[i], 0)])
        heard[i, (lies[i] == NO_VOTE) | (lies[i] >= classes)] = 0.0
    return heard


def _too_few(task: Task, unseen: Floats | None) -> str | None:
    """Why a participant has too few rows to improve its model; None if it has enough."""
    if len(task.y) < 2:
        return "it has one row only"
    return "its model cannot be fitted on some of its rows" if unseen is None else None


def _right(unseen: Floats | None, y: Array, classes: Array) -> Floats:
    """1 for rows that the old model's clones answer right without having seen them."""
    if unseen is None:
        return np.zeros(len(y))
    right = unseen.any(axis=1) & (classes[unseen.argmax(axis=1)] == y)
    return np.asarray(right, dtype=np.float64)


# ---- numbers ---------------------------------------------------------------------------------------------


def improve_numbers(pool: Pool, numbers: Floats, faults: Mapping[int, str], shown: int) -> Improved:
    """Refit every model on its own rows and the numbers (participant, input[, output]) of the pool."""
    why_not, before = [], []
    for i, (task, person) in enumerate(zip(pool.tasks, pool.participants, strict=True)):
        few = "it has one row only" if len(task.y) < 2 else None
        why_not.append(f"its model cannot answer: {faults[i]}" if i in faults else few)
        given: Any = (
            answers_like(person, task.X, task.y)
            if pool.prefit
            else own_answers(task, person, np.arange(len(task.y)))
        )
        # An old model that cannot be measured is no reason to keep it.
        failed = given is None or isinstance(given, str)
        before.append(np.full(len(task.y), np.inf) if failed else ERROR.each(given, task.y))
    idle = [by_mean(task.y) for task in pool.tasks]
    many = len(pool.tasks)
    return pool.refitted(ERROR, numbers, why_not, before, idle, [FIRM] * many, [shown] * many)


def agreed_numbers(table: Floats, rule: Any, known: Known) -> Floats:
    """(participant, input[, output]): the numbers that each fits its model to."""
    if isinstance(rule, OwnAggregation):
        return np.asarray(rule.final_votes(table, known).votes)
    decision = rule.aggregate(table, known).decision
    return np.broadcast_to(decision, (len(table), *decision.shape)).copy()


def by_mean(y: Array) -> float:
    """The mean squared error that the mean of all other rows has on each."""
    values = y.reshape(len(y), -1)
    apart = (values - values.mean(axis=0)) * len(y) / max(len(y) - 1, 1)
    return float((apart**2).mean())


# ---- one participant --------------------------------------------------------------------------------------


def speaks_against(
    metric: Metric, before: Floats, after: Floats, idle: float, footing: Footing = FIRM
) -> str | None:
    """Say why one's own rows speak against a new model; None if they do not.

    It must be right more often than by chance, or nearer to the rows than their own mean. A one-sided sign
    test on the rows that change must not find it worse than the old model (at 0.2). Both flatter labels: the
    rows have chosen whose labels it learnt. So either half of them must come to the same labels for 80% of
    the pool. By the probabilities that it came to, the labels must be right on 6% more of the pool than what
    its old model says, as a few rows cannot tell whether less is gained or lost. They must be right on more
    of it than those that count for the participant dispute, if they dispute more than 15% of its labels.

    ``before`` (row,): Scores of the old model on own unseen rows: right or not, or the squared error.
    ``after`` (row,): The same of the new one.
    """
    steady, shared, gain = footing
    if steady < _STEADY:
        return (
            f"its labels hang on few of its rows: half of these come to other labels for {1 - steady:.0%} "
            "of the pool"
        )
    if shared < _SHARED and gain < 1 - shared:
        return (
            f"those that count for it announce other labels for {1 - shared:.0%} of the pool, and its own "
            f"promise a gain of {gain:.0%} only"
        )
    if gain < _GAIN:
        return f"the labels promise a gain of {gain:.1%} of the pool over its old model, too little to trust"
    rows = len(after)
    if not metric.higher_is_better:
        if after.mean() >= idle:
            return "the new model is no nearer to its rows than their own mean"
    elif not rows or binom.sf(after.sum() - 1, rows, idle) > _BY_CHANCE:
        return f"the new model is right on {int(after.sum())} of its {rows} rows, no more than by chance"
    sign = 1 if metric.higher_is_better else -1
    change = sign * (np.asarray(after, dtype=np.float64) - before)
    worse, better = int((change < 0).sum()), int((change > 0).sum())
    if worse and binom.sf(worse - 1, worse + better, 0.5) < _WORSE:
        return f"the new model loses {worse} of its {rows} rows and wins {better}"
    return None


@dataclass(frozen=True, eq=False)
class Refitted:
    """A participant with its new model, and how a model fitted to the agreed rows alone does on its own."""

    participant: Participant
    scores: Floats | None = None
    fault: str | None = None


def refit(task: Task, old: Participant, X: Any, agreed: Array | None, *, measure: bool = True) -> Refitted:
    """Fit a clone to own rows and agreed answers; if ``measure``, another to the agreed ones alone."""
    if agreed is None:
        return Refitted(old)
    pool, own = rows_in(X), len(task.y)
    both = both_rows(task, X, agreed)
    try:
        new = learnt_on(both, np.arange(own + pool))
        without = learnt_on(both, np.arange(own, own + pool)) if measure else None
    except (ValueError, TypeError, RuntimeError) as error:
        return Refitted(old, fault=f"its model cannot be fitted again: {first_sentence(error)}")
    person = replace(
        old, model=new.model, rows=own + pool, constant=new.constant, weighted=new.weighted, unrefitted=None
    )
    if without is None:
        return Refitted(person)
    seen = measured(without, task.X, task.y)
    if seen.fault:
        return Refitted(old, fault=f"its new model cannot answer its own rows: {seen.fault}")
    return Refitted(replace(person, unseen=seen.unseen, fault=None), seen.scores)


def both_rows(task: Task, X: Any, agreed: Array) -> Task:
    """Own rows and then the pool with what was agreed on, every row of the pool with weight 1."""
    weights = None if task.weights is None else np.concatenate([task.weights, np.ones(rows_in(X))])
    return replace(
        task, X=stacked([task.X, X]), y=np.concatenate([task.y, agreed]), weights=weights, places=None
    )


def _kind(X: Any) -> str:
    if sparse.issparse(X):
        return "a sparse matrix"
    if isinstance(X, np.ndarray):
        return "an array"
    return f"a {type(X).__module__.partition('.')[0]} {type(X).__name__}".replace("builtins ", "")
