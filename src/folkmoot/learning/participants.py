"""Participants: each fits a model on its own rows, measures it on held-out rows, and votes.

With ``refit`` the final model is fitted on the held-out rows too; its accuracy stays that of the model that
had not seen them.

Everything here is a pure function of one participant, so joblib may run it in another process or on another
machine. Results are models and predictions, never rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Final

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from folkmoot import checks
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.comparing.metric import ERROR
from folkmoot.learning.tables import columns_of, is_missing, rows_in, rows_of
from folkmoot.outcome import laplace_accuracy

FOLDS: Final = 5  # of a participant that cross-validates instead of holding out
# scikit-learn's own line prints the rows.
_ONE_DIMENSION: Final = (
    "Expected 2D array, got 1D array: each row of X is one thing, such as a text, and this model takes rows "
    "of features; texts need a first step, such as make_pipeline(TfidfVectorizer(), model), numbers "
    "X.reshape(-1, 1)"
)


class ParticipantWarning(checks.MootWarning):
    """A problem of single participants; the others go on."""


@dataclass(frozen=True, eq=False)
class Participant:
    """A participant of a fitted estimator: its model and its held-out rows.

    Parameters
    ----------
    name : str
        Its name, of the group or of the model.
    model : object
        The fitted model.
    columns : list of str or int, optional
        The columns that it uses. Default: all.
    rows : int, default 0
        How many rows the model was fitted on: all its rows if it was fitted again.
    unseen : tuple of ndarray, optional
        The truth of its held-out rows, and the answers of a model not fitted on them.
    numbers : bool, default False
        Whether it answers with numbers.
    constant : bool, default False
        Whether its rows held one class only, which it then always answers.
    weighted : bool, default True
        Whether its model took the sample weights, if there were any.
    fault : str, optional
        Why it could not answer its held-out rows.
    unrefitted : str, optional
        Why it could not be fitted again on all its rows.

    Examples
    --------
    >>> from folkmoot import ConsensusClassifier, Slush
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = [[i] for i in range(60)], [0] * 30 + [1] * 30
    >>> moot = ConsensusClassifier([GaussianNB()] * 3, protocol=Slush(2, 2), random_state=0).fit(X, y)
    >>> first = moot.participants_[0]
    >>> first.name, first.rows, first.held_out, first.accuracy
    ('gaussiannb-1', 20, 4, 0.75)
    """

    name: str
    model: Any
    columns: list[Any] | None = None
    rows: int = 0
    unseen: tuple[Array, Array] | None = None
    numbers: bool = False
    constant: bool = False
    weighted: bool = True
    fault: str | None = None
    unrefitted: str | None = None

    @property
    def scores(self) -> Floats:
        """(row,): of its held-out rows, 1 for a right answer and 0 for another; of numbers squared errors."""
        return np.empty(0) if self.unseen is None else scores_of(*self.unseen, self.numbers)

    @property
    def held_out(self) -> int:
        """The number of held-out rows."""
        return len(self.scores)

    @property
    def right(self) -> int:
        """The number of held-out rows with a right answer."""
        return 0 if self.numbers else int(self.scores.sum())

    @property
    def accuracy(self) -> float:
        """The share of held-out rows with a right answer; nan if there are none, or for numbers."""
        return self.right / self.held_out if self.held_out and not self.numbers else float("nan")

    @property
    def squared_error(self) -> float:
        """Mean squared error on the held-out rows; nan if there are none, or for labels."""
        return float(self.scores.mean()) if self.held_out and self.numbers else float("nan")

    def accuracy_of_answers(self, classes: Array) -> float:
        """Laplace's estimate (right + 1) / (answered + C), over rows answered with a class."""
        known = set(classes.tolist())
        answered = 0 if self.unseen is None else sum(answer in known for answer in self.unseen[1].tolist())
        return float(laplace_accuracy(self.right, answered, len(classes)))

    def predict(self, X: Any) -> Array | str:
        """One answer per row of X; a message if the model fails."""
        try:
            answers = np.asarray(self.model.predict(columns_of(X, self.columns)))
        except Exception as error:  # any model may be here, and it may fail in any way
            return f"{type(error).__name__}: {first_sentence(error)}"
        if answers.ndim == 2 and answers.shape[1] == 1:
            answers = answers[:, 0]
        if answers.ndim == 0 or len(answers) != rows_in(X):
            return f"predict returned the shape {answers.shape} for {rows_in(X)} rows"
        return with_gaps(answers, self.numbers) if answers.dtype == object else answers


@dataclass(frozen=True, eq=False)
class Task:
    """The work of one participant in ``fit``: plain data for another process."""

    name: str
    model: Any
    columns: list[Any] | None
    X: Any  # its rows, and nobody else's
    y: Array
    weights: Array | None
    held_out: Ints  # places in X that it keeps back
    seed: int | None
    folds: tuple[Ints, ...] = ()  # or parts of X for cross-validation
    refit: bool = False  # on all rows, after the model is measured?
    places: Ints | None = None  # of its rows in the common table
    numbers: bool = False  # is y numbers?


def fit_participant(task: Task) -> Participant:
    """Fit a clone on the rows not held out, and measure it on the others.

    With ``refit`` the final model is another clone, fitted on all rows with the same seed: the model of
    ``holdout=0``. With folds it is fitted on all rows at once, and measured by cross-validation.
    """
    everything = np.arange(len(task.y))
    done = learnt_on(task, np.setdiff1d(everything, task.held_out))
    # On rows of the one class that it knows its accuracy would be 1.
    if not done.constant:
        done = (
            _cross_measured(done, task)
            if task.folds
            else measured(done, rows_of(task.X, task.held_out), task.y[task.held_out])
        )
    # A model that fails on held-out rows is not fitted again.
    if not task.refit or done.fault or done.rows == len(everything):
        return done
    try:
        again = learnt_on(task, everything)
    except (ValueError, TypeError, RuntimeError) as error:
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        return replace(done, unrefitted=f"{type(cause).__name__}: {first_sentence(cause)}")
    return replace(done, model=again.model, rows=again.rows, constant=again.constant, weighted=again.weighted)


def learnt_on(task: Task, rows: Ints) -> Participant:
    """A participant with a model fitted on these of its rows."""
    if task.numbers or len(np.unique(task.y[rows])) > 1:
        model, weighted = fitted_clone(task, rows)
        return Participant(task.name, model, task.columns, len(rows), weighted=weighted, numbers=task.numbers)
    # Many models refuse a single class.
    model = DummyClassifier(strategy="most_frequent").fit(np.zeros((1, 1)), task.y[rows[:1]])
    return Participant(task.name, model, task.columns, len(rows), constant=True)


def _cross_measured(done: Participant, task: Task) -> Participant:
    """The participant, measured by cross-validation."""
    parts = []
    for fold in task.folds:
        if not 0 < len(fold) < len(task.y):
            continue
        try:
            clone_of_it = learnt_on(task, np.setdiff1d(np.arange(len(task.y)), fold))
        except (ValueError, TypeError, RuntimeError) as error:
            return replace(done, fault=first_sentence(error))
        part = measured(clone_of_it, rows_of(task.X, fold), task.y[fold])
        if part.fault or part.unseen is None:
            return replace(done, fault=part.fault)
        parts.append(part.unseen)
    if not parts:
        return done
    true, answers = (np.concatenate(each) for each in zip(*parts, strict=True))
    return replace(done, unseen=(true, answers))


def measured(participant: Participant, X: Any, y: Array) -> Participant:
    """The participant, measured on rows that it was not fitted on."""
    if not len(y):
        return participant
    answers = answers_like(participant, X, y)
    if isinstance(answers, str):
        return replace(participant, fault=answers)
    return replace(participant, unseen=(y, answers))


def answers_like(participant: Participant, X: Any, y: Array) -> Array | str:
    """Its answers to these rows, of the shape and kind of ``y``; a message if the model fails."""
    answers = participant.predict(X)
    if isinstance(answers, str):
        return answers
    if participant.numbers:
        if answers.shape != y.shape or answers.dtype.kind not in "biuf" or not np.isfinite(answers).all():
            return f"predict returned no numbers of the shape {y.shape}"
        return answers
    if answers.shape != y.shape:
        return f"predict returned the shape {answers.shape}"
    try:
        set(answers.tolist())
    except TypeError:
        return "predict returned something that cannot be a label"
    return answers


def with_gaps(answers: Array, numbers: bool) -> Array:
    """Answers of any kind, where None and pandas' NA are no answer: None among labels, NaN among numbers."""
    gaps = np.array([is_missing(each) for each in answers.ravel()], dtype=np.bool_).reshape(answers.shape)
    labels = np.where(gaps, np.array(None), answers)
    if not numbers or not all(isinstance(each, Real) for each in answers[~gaps]):
        return labels
    return np.where(gaps, np.nan, labels).astype(np.float64)


def scores_of(truth: Array, answers: Array, numbers: bool) -> Floats:
    """(row,): 1 for a right label and 0 for another; of numbers the squared error."""
    if numbers:
        return ERROR.each(answers, truth)
    alike = [answer == true for answer, true in zip(answers.tolist(), truth.tolist(), strict=True)]
    return np.array(alike, dtype=np.float64)


def fitted_clone(task: Task, rows: Ints) -> tuple[Any, bool]:
    """The fitted clone, and whether it took the weights. Errors name the participant."""
    if not (hasattr(task.model, "get_params") and hasattr(task.model, "fit")):
        raise TypeError(
            f"the model of participant {task.name!r} must have fit and get_params, as scikit-learn's have: "
            f"got {type(task.model).__name__} (prefit=True needs predict only)"
        )
    model = clone(task.model)
    if task.seed is not None:
        seed_model(model, task.seed)
    options: dict[str, Any] = {}
    if task.weights is not None:
        key = weight_parameter(model)
        if key is not None:
            options[key] = task.weights[rows]
    X = rows_of(columns_of(task.X, task.columns), rows)
    try:
        model.fit(X, task.y[rows], **options)
    except MemoryError:  # a problem of the whole process
        raise
    except Exception as error:
        kind = type(error) if type(error) in (ValueError, TypeError) else RuntimeError
        why = _ONE_DIMENSION if "got 1D array" in str(error) else error
        raise kind(f"participant {task.name!r} ({type(model).__name__}) cannot be fitted: {why}") from error
    return model, task.weights is None or bool(options)


def first_sentence(error: Exception) -> str:
    """The first sentence of an error, which may be a page long."""
    text = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
    return text if len(text) <= 160 else f"{text[:157]}..."


def weight_parameter(model: Any) -> str | None:
    """The name under which a model's ``fit`` takes sample weights, or None."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def seed_model(model: Any, seed: int) -> None:
    """Give every ``random_state`` of a model that is None one that follows from the seed."""
    params = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    free = [k for k, v in sorted(params.items()) if v is None and k.rpartition("__")[2] == "random_state"]
    if free:
        seeds = np.random.default_rng(seed).integers(0, 2**31, len(free))
        model.set_params(**{key: int(value) for key, value in zip(free, seeds, strict=True)})


def stratified_shards(y: Array, n: int, rng: np.random.Generator) -> list[Ints]:
    """n disjoint shards of the rows, with every class dealt out evenly.

    Rows are shuffled, sorted by class and dealt out in turn, so sizes, and counts of each class, differ by
    at most one.
    """
    rows = len(y)
    if rows < n:
        raise ValueError(
            f"more participants than rows: {n} participants cannot share n_samples={rows} rows disjointly"
        )
    shuffled = rng.permutation(rows)
    dealt = shuffled[np.argsort(y[shuffled], kind="stable")]
    return [np.sort(dealt[i::n]) for i in range(n)]


def cross_validated(tasks: Sequence[Task], draw: np.random.Generator) -> list[Task]:
    """The tasks, with five folds each (fewer where rows are) in which all rows are answered once."""
    return [
        replace(
            task,
            folds=tuple(
                stratified_shards(task.y.reshape(len(task.y), -1)[:, 0], min(FOLDS, len(task.y)), draw)
            ),
        )
        for task in tasks
    ]


def held_out_rows(y: Array, share: float, rng: np.random.Generator) -> Ints:
    """Places to keep back: ``share`` of the rows, spread over the classes, but never a class's only row."""
    rows = len(y)
    shuffled = rng.permutation(rows)
    order = shuffled[np.argsort(y[shuffled], kind="stable")]
    first = np.concatenate(([True], y[order][1:] != y[order][:-1]))
    spare = order[~first]
    wanted = min(round(share * rows), len(spare))
    if share > 0 and len(spare) and wanted == 0:
        wanted = 1
    picks = ((np.arange(wanted) + 0.5) * len(spare) / max(wanted, 1)).astype(np.int64)
    return np.sort(spare[picks])


def some_rows(y: Array, share: float, rng: np.random.Generator) -> Ints:
    """Places to keep back where y are numbers: ``share`` of the rows, at least one, but not all."""
    wanted = min(max(1, round(share * len(y))), len(y) - 1) if share else 0
    return np.sort(rng.permutation(len(y))[:wanted])


def check_holdout(holdout: object) -> float:
    """The share to keep back, 0 <= holdout < 1; None is 0."""
    share = checks.probability("holdout", 0.0 if holdout is None else holdout)
    if share == 1.0:
        raise checks.ArgumentError(
            "{holdout} must satisfy 0 <= holdout < 1: got {holdout=}, which leaves nothing to fit",
            holdout=share,
        )
    return share


def warn_about(participants: Sequence[str], what: str) -> None:
    """One warning about some participants, by name."""
    if participants:
        some = ", ".join(map(repr, participants[:5]))
        more = f" and {len(participants) - 5} more" if len(participants) > 5 else ""
        warnings.warn(f"{some}{more}: {what}", ParticipantWarning, stacklevel=4)
