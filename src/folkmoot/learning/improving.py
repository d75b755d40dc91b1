"""Models that improve each other: participants agree on answers for a pool, and each refits its own model.

For labels the rule is that of ``folkmoot.learning.pseudo_labels``, on arrays; here are models and rows
(docs/improve.md). Numbers are those that the moot agrees on in ``predict``, or each one's final ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    tell,
)
from folkmoot.learning.pseudo_labels import FIRM, AgreedLabels, Footing, OwnRows, agree_on_labels
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


def improve_labels(
    participants: Sequence[Participant],
    tasks: Sequence[Task],
    X: Any,
    classes: Array,
    everybody: Everybody,
    *,
    rows: int | Literal["all"],
    safe: bool,
    seed: int,
    prefit: bool,
    adversaries: Mapping[int, Adversary],
    truth: Votes | None,
    progress: Progress | None,
) -> Improved:
    """Agree on labels for the pool X, and refit every model on its own rows and these."""
    check_review(rows, None)
    check_safe(safe)
    seer = next((i for i, liar in adversaries.items() if Knows.TRUTH in liar.knows), None)
    if truth is None and seer is not None:
        raise ValueError(
            f"participant {participants[seer].name!r} is {type(adversaries[seer]).__name__}, which must know "
            "the truth: give y, the right labels of the pool"
        )
    draw = np.random.default_rng([seed, _STREAM])
    shown = [places_to_show(task.y, rows, draw) for task in tasks]
    unseen = _unseen(participants, tasks, classes, everybody, prefit)
    votes, faults = _handed_in(participants, tasks, shown, unseen, X, classes, everybody)
    agreed = _agreed(votes, tasks, shown, classes, truth, adversaries, rows_in(X), safe, seed)
    why_not: list[str | None] = [
        f"its model cannot answer: {faults[i]}"
        if i in faults
        else too_few(unseen[i], tasks[i]) or agreed.why_not[i]
        for i in range(len(tasks))
    ]
    labels = classes[agreed.labels]
    refitted = _refitted(participants, tasks, X, labels, why_not, everybody, progress)
    before = [_right(each, task.y, classes) for each, task in zip(unseen, tasks, strict=True)]
    whys = [
        judged(ACCURACY, why, done, was, 1 / len(classes), agreed.footing(i) if safe else None)
        for i, (why, done, was) in enumerate(zip(why_not, refitted, before, strict=True))
    ]
    many = [len(own) for own in shown]
    return _improved(ACCURACY, participants, tasks, labels, refitted, before, whys, many)


def _unseen(
    participants: Sequence[Participant],
    tasks: Sequence[Task],
    classes: Array,
    everybody: Everybody,
    prefit: bool,
) -> list[Floats | None]:
    """(row, class): what models that have not seen its own rows say of them; None for failures."""
    if prefit:  # then the rows given to fit are new to the models
        asked = [(person, task.X, classes) for person, task in zip(participants, tasks, strict=True)]
        given = everybody(chances_of, asked, None)
        return [None if isinstance(each, str) else gaps_level(each) for each in given]
    whole = [
        (task, person, np.arange(len(task.y)), classes, True)
        for task, person in zip(tasks, participants, strict=True)
    ]
    found: list[Floats | None] = everybody(own_answers, whole, None)
    return [None if each is None else gaps_level(each) for each in found]


def _handed_in(
    participants: Sequence[Participant],
    tasks: Sequence[Task],
    shown: Sequence[Ints],
    unseen: Sequence[Floats | None],
    X: Any,
    classes: Array,
    everybody: Everybody,
) -> tuple[Floats, dict[int, str]]:
    """(participant, shown row and then input, class): honest answers, 0 for one that fails; and faults."""
    parts = [rows_of(task.X, own) for task, own in zip(tasks, shown, strict=True) if len(own)]
    asked = stacked([*parts, X])
    said = everybody(chances_of, [(person, asked, classes) for person in participants], None)
    faults = {i: each for i, each in enumerate(said) if isinstance(each, str)}
    if len(faults) == len(said):
        raise ValueError(f"no participant can answer; the first, {participants[0].name!r}, says {faults[0]}")
    tell([f"{participants[i].name} ({why})" for i, why in faults.items()], "predict_proba failed")
    votes = np.zeros((len(tasks), rows_in(asked), len(classes)))
    for i, each in enumerate(said):
        if not isinstance(each, str):
            votes[i] = in_levels(gaps_level(each))
    for i, at in enumerate(_places(shown)):
        own = unseen[i]
        votes[i, at] = 0.0 if own is None or i in faults else in_levels(own[shown[i]])
    return votes, faults


def _agreed(
    votes: Floats,
    tasks: Sequence[Task],
    shown: Sequence[Ints],
    labels: Array,
    truth: Votes | None,
    liars: Mapping[int, Adversary],
    inputs: int,
    safe: bool,
    seed: int,
) -> AgreedLabels:
    classes = len(labels)
    colours = [as_classes(task.y, labels) for task in tasks]
    own = [
        OwnRows(at, mine[some], np.bincount(mine, minlength=classes).astype(np.float64))
        for at, mine, some in zip(_places(shown), colours, shown, strict=True)
    ]
    right = [mine[some] for mine, some in zip(colours, shown, strict=True)]
    known = np.concatenate([*right, np.full(inputs, NO_VOTE) if truth is None else truth])

    def told(answers: Floats) -> Floats:
        """Liars say one class of each input, as if they were sure of it, or nothing."""
        if not liars:
            return answers
        named = np.where(answers.any(axis=2), answers.argmax(axis=2), NO_VOTE)
        said = handed_in(named, dict(liars), known, classes, seed=seed)
        heard = answers.copy()
        for i in liars:
            heard[i] = in_levels(np.eye(classes)[np.maximum(said[i], 0)])
            heard[i, (said[i] == NO_VOTE) | (said[i] >= classes)] = 0.0
        return heard

    pool = np.arange(votes.shape[1] - inputs, votes.shape[1])
    return agree_on_labels(votes, own, pool, told, steady=bool(safe))


def judged(
    metric: Metric, why_not: str | None, done: Refitted, before: Floats, idle: float, footing: Footing | None
) -> str | None:
    """Why a participant keeps its old model, if it does.

    ``before`` are the scores of the old model on own rows, and ``idle`` that of one that knows nothing. Own
    rows are listened to (``safe``) unless ``footing``, what the answers rest on, is None.
    """
    why = why_not or done.fault
    if why is None and footing is not None and done.scores is not None:
        return speaks_against(metric, before, done.scores, idle, footing)
    return why


def speaks_against(
    metric: Metric, before: Floats, after: Floats, idle: float, footing: Footing = FIRM
) -> str | None:
    """Say why one's own rows speak against a new model; None if they do not.

    It must be right more often than by chance, or nearer to the rows than their own mean. A one-sided sign
    test on the rows that change must not find it worse than the old model (at 0.2). Both flatter labels: the
    rows have chosen whose labels it learnt. So either half of them must come to the same labels for 80% of
    the pool. By the probabilities that it came to, the labels must be right on 6% more of the pool than what
    its old model says, as a few rows cannot tell whether less is gained or lost; and on more of it than those
    that count for the participant dispute, if they dispute more than 15% of its labels.

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


def _refitted(
    participants: Sequence[Participant],
    tasks: Sequence[Task],
    X: Any,
    agreed: Array,
    why_not: Sequence[str | None],
    everybody: Everybody,
    progress: Progress | None,
) -> list[Refitted]:
    """Everybody with a new model, unless something speaks against that from the start."""
    everyone = zip(tasks, participants, agreed, why_not, strict=True)
    asked = [(task, person, X, None if why else mine) for task, person, mine, why in everyone]
    found: list[Refitted] = everybody(refit, asked, progress)
    return found


def _improved(
    metric: Metric,
    participants: Sequence[Participant],
    tasks: Sequence[Task],
    agreed: Array,
    refitted: Sequence[Refitted],
    before: Sequence[Floats],
    whys: Sequence[str | None],
    shown: Sequence[int],
) -> Improved:
    """The participants as they go on, and the table of what changed."""
    changes, people = [], []
    for i, (old, done, why) in enumerate(zip(participants, refitted, whys, strict=True)):
        was = metric.score(before[i]) if np.isfinite(before[i]).any() else float("nan")
        became = None if done.scores is None else metric.score(done.scores)
        changes.append(ModelChange(old.name, len(tasks[i].y), shown[i], was, became, why, old.model))
        people.append(done.participant if why is None else old)
    tell([f"{each.name} ({each.why})" for each in changes if each.why], "keeps its old model")
    return Improved(people, Improvement(tuple(changes), agreed.shape[1], agreed, metric is ERROR))


def too_few(unseen: Floats | None, task: Task) -> str | None:
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


def _places(shown: Sequence[Ints]) -> list[Ints]:
    """Where each one's shown rows are among the inputs that all answer."""
    ends = np.cumsum([0, *(len(own) for own in shown)])
    return [np.arange(start, end) for start, end in pairwise(ends)]


def improve_numbers(
    participants: Sequence[Participant],
    tasks: Sequence[Task],
    X: Any,
    numbers: Floats,
    faults: Mapping[int, str],
    everybody: Everybody,
    *,
    safe: bool,
    prefit: bool,
    shown: int,
    progress: Progress | None,
) -> Improved:
    """Refit every model on its own rows and the numbers (participant, input[, output]) of the pool X."""
    check_safe(safe)
    why_not = [
        f"its model cannot answer: {faults[i]}"
        if i in faults
        else ("it has one row only" if len(task.y) < 2 else None)
        for i, task in enumerate(tasks)
    ]
    refitted = _refitted(participants, tasks, X, numbers, why_not, everybody, progress)
    unseen = [
        answers_like(person, task.X, task.y) if prefit else own_answers(task, person, np.arange(len(task.y)))
        for person, task in zip(participants, tasks, strict=True)
    ]
    # An old model that cannot be measured is no reason to keep it.
    before = [
        np.full(len(task.y), np.inf) if said is None or isinstance(said, str) else ERROR.each(said, task.y)
        for said, task in zip(unseen, tasks, strict=True)
    ]
    whys = [
        judged(ERROR, why, done, was, by_mean(task.y), FIRM if safe else None)
        for why, done, was, task in zip(why_not, refitted, before, tasks, strict=True)
    ]
    return _improved(ERROR, participants, tasks, numbers, refitted, before, whys, [shown] * len(tasks))


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


def check_safe(safe: object) -> None:
    """Complain about what is neither yes nor no."""
    if not isinstance(safe, (bool, np.bool_)):
        raise TypeError(f"safe must be True or False: got {safe!r}")


def check_pool(X: Any, own: Any) -> None:
    """Complain about a pool that is empty, or of another kind than what was fitted on."""
    if hasattr(X, "__len__") and not sparse.issparse(X) and len(X) == 0:
        raise ValueError("X_unlabelled must hold at least one input to agree on: got none")
    if own is not None and _kind(X) != _kind(own):
        raise ValueError(f"X_unlabelled must be of the kind that was fitted on, {_kind(own)}: got {_kind(X)}")


def _kind(X: Any) -> str:
    if sparse.issparse(X):
        return "a sparse matrix"
    if isinstance(X, np.ndarray):
        return "an array"
    return f"a {type(X).__module__.partition('.')[0]} {type(X).__name__}".replace("builtins ", "")


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
