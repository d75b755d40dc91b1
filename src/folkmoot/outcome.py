"""``Outcome`` of a deliberation: decisions, agreement, cost, and the run.

An ``Outcome`` is data: ``explain``, ``plot_convergence`` and ``play`` are functions of it. It does not know
the truth, as agreement is not correctness.

Ties are decided here alone (``most``, which aggregations use, too). A tie is not broken: the decision is -1,
and the tied classes share in the accuracy (``share_right``). If no class reaches the needed number there is
no answer and no tie: the decision is -1 and no classes are tied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, get_args, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Classes, Floats, Ints
from folkmoot.pictures.notebook import titled
from folkmoot.votes import NO_VOTE, Votes, check_truth, known_inputs

__all__ = [
    "LEAST_DOUBT",
    "Change",
    "Outcome",
    "Turn",
    "Turns",
    "laplace_accuracy",
    "log_odds",
    "participant_accuracies",
    "right_by_input",
    "share_right",
    "standard_error",
    "wilson_bound",
]

LEAST_DOUBT: Final = 1e-6  # bound of any trust and distrust: p = 1 would outvote all others


class Decided(NamedTuple):
    """An answer to each input; rules that cannot tie leave out ``tied``."""

    decision: Ints
    """(..., input): the class with the largest score; -1 if there is none."""
    tied: Bools | None = None
    """(..., input, class): the tied classes; none elsewhere."""


def most(scores: Array, possible: Bools, within: float = 0) -> Decided:
    """The class with the largest of the scores (..., input, class), or those ``within`` of the largest.

    ``possible`` says for which inputs there is an answer at all.
    """
    best = (scores >= scores.max(axis=-1, keepdims=True) - within) & possible[..., None]
    many = best.sum(axis=-1)
    return Decided(np.where(many == 1, scores.argmax(axis=-1), NO_VOTE), best & (many > 1)[..., None])


def majority_class(counts: Ints, participants: Ints) -> Decided:
    """The class that more than half of the participants hold, or the most common ones if these are tied.

    Equal classes are a tie if together they have more than half: 5 to 5 of ten, or 3, 3 and 2 of eight. Two
    classes held by one each of ten, where the others hold none, are not: that is undecided.

    ``counts`` (..., input, class): how many hold each class; ``participants`` (input,): of how many.
    """
    largest = counts.max(axis=-1)
    together = largest * (counts == largest[..., None]).sum(axis=-1)
    return most(counts, 2 * together > participants)


def shares_of(weights: Array) -> Floats:
    """(input, class): weights as shares; equal ones where there are none."""
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / weights.shape[1])


class Change(NamedTuple):
    """One line of ``Turns.changes``: a change of class, with the tally before it.

    Parameters
    ----------
    round : int
        The round in which it happened; the first is 1.
    participant : int
        The participant that changed its class.
    before : int
        The class it held; -1 for none.
    after : int
        The class it then held.
    tally : tuple of float
        Answers of its peers by class; with weights, the sum of theirs.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> outcome.turns(0).changes
    [Change(round=1, participant=3, before=1, after=0, tally=(2.0, 0.0))]
    """

    round: int
    participant: int
    before: int
    after: int
    tally: tuple[float, ...]


class Turn(NamedTuple):
    """One turn of ``Outcome.turns``: a participant asks, gets answers, and may change its class.

    Parameters
    ----------
    round : int
        The round; the first is 1.
    participant : int
        The participant that asks.
    asked : tuple of int
        The peers it asks, in the order in which they were drawn.
    answers : tuple of int
        The class that each of them names; -1 for none.
    tally : tuple of float
        How many of the answers name each class; with weights, the sum of theirs, rescaled to
        ``len(asked)``.
    alpha : int
        The tally needed to win.
    won : int
        The class whose tally reached alpha; -1 if none did.
    before : int
        The class that the asker held; -1 for none.
    after : int
        The class that it then holds; with ``schedule="lockstep"``, after the round.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> turn = outcome.turns(0)[-1]
    >>> turn.participant, turn.asked, turn.answers, turn.won, turn.before, turn.after
    (3, (0, 1), (0, 0), 0, 1, 0)
    """

    round: int
    participant: int
    asked: tuple[int, ...]
    answers: tuple[int, ...]
    tally: tuple[float, ...]
    alpha: int
    won: int
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class Turns(Sequence[Turn]):
    """The turns of one input in the order in which they were taken: a sequence of ``Turn``, kept as arrays.

    A participant that has decided, or that can ask nobody, takes no turns.

    Parameters
    ----------
    round : ndarray of int, shape (turn,)
        The round; the first is 1.
    participant : ndarray of int, shape (turn,)
        The asking participant.
    size : ndarray of int, shape (turn,)
        Peers asked: k, or all if there are fewer.
    alpha : ndarray of int, shape (turn,)
        The tally needed to win.
    asked : ndarray of int, shape (turn, most)
        The peers that it asks: the first ``size`` entries of a row.
    answers : ndarray of int, shape (turn, most)
        Their answers, -1 for none.
    tally : ndarray of float, shape (turn, class)
        Answers by class, or their weight, rescaled to ``size``.
    won : ndarray of int, shape (turn,)
        The class that won the query, -1 for none.
    before : ndarray of int, shape (turn,)
        The class that the asker held.
    after : ndarray of int, shape (turn,)
        The class that it then holds.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> turns = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2)).turns(0)
    >>> len(turns), turns.participant, turns.after
    (1, array([3]), array([0]))
    >>> [change.participant for change in turns.changes]
    [3]
    """

    round: Ints
    participant: Ints
    size: Ints
    alpha: Ints
    asked: Ints
    answers: Classes
    tally: Floats
    won: Ints
    before: Ints
    after: Ints

    @classmethod
    def none(cls, classes: int) -> Turns:
        """No turns: nobody could ask anybody."""
        each, pairs = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int64)
        return cls(
            each, each, each, each, pairs, pairs.astype(np.int8),
            np.empty((0, classes)), each, each, each,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.round)

    @overload
    def __getitem__(self, index: int) -> Turn: ...

    @overload
    def __getitem__(self, index: slice) -> list[Turn]: ...

    def __getitem__(self, index: int | slice) -> Turn | list[Turn]:
        if isinstance(index, slice):
            return [self._turn(each) for each in range(*index.indices(len(self)))]
        return self._turn(range(len(self))[index])

    def _turn(self, row: int) -> Turn:
        size = int(self.size[row])
        return Turn(
            round=int(self.round[row]),
            participant=int(self.participant[row]),
            asked=tuple(self.asked[row, :size].tolist()),
            answers=tuple(self.answers[row, :size].tolist()),
            tally=tuple(self.tally[row].tolist()),
            alpha=int(self.alpha[row]),
            won=int(self.won[row]),
            before=int(self.before[row]),
            after=int(self.after[row]),
        )

    @property
    def changes(self) -> list[Change]:
        """The turns with a change of class."""
        return [
            Change(turn.round, turn.participant, turn.before, turn.after, turn.tally)
            for turn in map(self._turn, np.flatnonzero(self.before != self.after).tolist())
        ]

    def renumbered(self, numbers: npt.ArrayLike) -> Turns:
        """Call participant i ``numbers[i]``.

        Parameters
        ----------
        numbers : array-like of int, shape (participant,)
            The new number of each.

        Returns
        -------
        Turns
            The same turns.
        """
        new = np.asarray(numbers, dtype=np.int64)
        return replace(self, participant=new[self.participant], asked=new[self.asked])


Schedule: TypeAlias = Literal["one", "lockstep"]
Batch: TypeAlias = Literal["independent", "shared"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The end of a deliberation over a batch of inputs, as ``deliberate`` returns it.

    With ``repeats=1`` arrays have the shapes below. With more, all but ``honest`` and ``present`` have a
    first axis for the repetition.

    Parameters
    ----------
    decisions : ndarray of int, shape (participant, input)
        The class that each participant holds at the end; -1 for none, and for an adversary.
    honest : ndarray of bool, shape (participant,)
        Whether it follows the protocol.
    classes : int
        The number of classes.
    converged : ndarray of bool, shape (input,)
        Whether all honest participants agree for good, or have all decided.
    rounds : ndarray of int, shape (input,)
        The rounds that were played; in a round each honest participant asks once, on average.
    queries : ndarray of int, shape ()
        The requests to single peers in all.
    history : ndarray of int, shape (input, round, class), optional
        How many honest participants held each class at the start and after each round. Only with
        ``record=True``.
    labels : sequence, optional
        Names of the classes. Estimators and ``compare(..., labels=)`` fill it in.
    names : sequence of str, optional
        Names of the participants.
    present : ndarray of bool, shape (participant, input), optional
        Participation by input, the same in all repetitions; None if everybody took part everywhere. Only
        participants count in decisions and agreement.
    run : SnowRun, optional
        How it was run: protocol, schedule, seed, adversaries, first votes. ``turns`` and ``explain``
        use it. Default: unknown.
    faults : mapping of int to str, optional
        Participants that could not answer at all, and why.

    Raises
    ------
    ValueError
        If there is not one label for each class, or not one name for each participant.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(15, p=0.7, inputs=200)
    >>> outcome = deliberate(votes, Slush(k=5, alpha=3))
    >>> outcome.decision[:5], outcome.agreement[:5]
    (array([1, 0, 0, 0, 1]), array([1., 1., 1., 1., 1.]))
    >>> outcome.undecided, outcome.accuracy(truth)
    (0, 0.865)
    """

    decisions: Classes
    honest: Bools
    classes: int
    converged: Bools
    rounds: Ints
    queries: Ints
    history: npt.NDArray[np.int32] | None = None
    labels: Sequence[Any] | Array | None = None
    names: Sequence[str] | None = None
    present: Bools | None = None
    run: Any = field(default=None, repr=False)
    faults: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, each, given, many in (
            ("labels", "class", self.labels, self.classes),
            ("names", "participant", self.names, len(self.honest)),
        ):
            if given is not None and len(given) != many:
                raise ValueError(f"{what} must hold one per {each} ({many}): got {len(given)}")

    def _repr_html_(self) -> str:
        """A summary in a notebook, with means over repetitions."""
        many, inputs = len(self.honest), self.decisions.shape[-1]
        malicious = many - int(self.honest.sum()) - len(self.faults)
        rows = [
            ("decided", f"{1 - np.mean(self.decision == NO_VOTE):.3f} of the inputs"),
            ("agreement", f"{self.agreement.mean():.3f} on average; it says nothing about who is right"),
            ("converged", f"{np.mean(self.converged):.3f}"),
            ("rounds", f"{np.mean(self.rounds):.1f} on average, {np.max(self.rounds, initial=0)} at most"),
            ("queries", f"{np.mean(self.queries):,.0f}"),
            *([("malicious", f"{malicious}, not counted above")] if malicious else []),
            *([("could not answer", str(len(self.faults)))] if self.faults else []),
        ]
        protocol = f"; {self.protocol}" if self.protocol is not None else ""
        then = [] if self.run is None else ["folkmoot.explain(outcome, i) and play(outcome) show how"]
        title = f"{many} participants, {inputs:,} inputs, {self.classes} classes{protocol}"
        return titled(title, ["deliberation", ""], rows, then)

    # ---- how it was run ----------------------------------------------------------------------

    @cached_property
    def votes(self) -> Votes | None:
        """(participant, input): the first votes as handed in, those of adversaries as they chose."""
        return None if self.run is None else self.run.votes

    @property
    def malicious(self) -> dict[int, str]:
        """The malicious participants by number, with their behaviour."""
        return (
            {} if self.run is None else {i: repr(adversary) for i, adversary in self.run.adversaries.items()}
        )

    @property
    def protocol(self) -> Any:
        """The protocol; None if it is not known."""
        return None if self.run is None else self.run.protocol

    @property
    def schedule(self) -> Schedule | None:
        """Whether they asked one at a time or in lockstep."""
        return None if self.run is None else self.run.schedule

    @property
    def seed(self) -> int | None:
        """The seed of the randomness."""
        return None if self.run is None else self.run.seed

    def query(self, i: int) -> tuple[Ints, Ints]:
        """Give the query size and threshold of each participant on one input.

        Parameters
        ----------
        i : int
            The input: its column in the votes.

        Returns
        -------
        k, alpha : ndarray of int, shape (participant,)
            Both are 0 for a participant that asks nobody.

        Raises
        ------
        ValueError
            If there is no such input, or the run of the outcome is unknown.
        """
        size, alpha = self._known_run("query").query(self._input(i))
        return size, alpha

    def turns(self, i: int) -> Turns:
        """Give the queries on one input, turn by turn, with every answer.

        The run is run again on this input alone, with a notebook; it needs no record.

        Parameters
        ----------
        i : int
            The input: its column in the votes.

        Returns
        -------
        Turns
            A sequence of ``Turn`` in the order in which they were taken, kept as arrays; with several
            repetitions, those of the first. Its ``changes`` are those with a change of class. A participant's
            last turn, or else its first vote, is its decision.

        Raises
        ------
        ValueError
            If the run of the outcome is unknown, or there is no such input.

        Examples
        --------
        >>> from folkmoot import Slush, deliberate
        >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
        >>> for turn in outcome.turns(0):
        ...     print(turn.participant, "asked", turn.asked, "who said", turn.answers)
        3 asked (0, 1) who said (0, 0)
        """
        turns: Turns = self._known_run("turns").turns(self._input(i), 0)
        return turns

    def _known_run(self, what: str) -> Any:
        """The run; ValueError if it is unknown, or has no queries."""
        if self.run is None:
            raise ValueError(
                f"{what} needs an outcome of Slush, Snowflake or Snowball, in which participants take turns"
            )
        return self.run

    def _input(self, i: int) -> int:
        inputs = self.decisions.shape[-1]
        if not 0 <= checks.integer("i", i) < inputs:
            raise ValueError(f"i must satisfy 0 <= i < {inputs}, the number of inputs: got i={i}")
        return int(i)

    # ---- decisions ----- ---------------------------------------------------------------------

    @cached_property
    def voters(self) -> Ints:
        """(input,): how many honest participants took part."""
        if self.present is None:
            return np.full(self.decisions.shape[-1], self.honest.sum())
        return np.asarray(self.present[self.honest].sum(axis=0))

    @cached_property
    def counts(self) -> Ints:
        """(input, class): how many honest participants hold each class."""
        held = self.decisions[..., self.honest, :]
        return np.stack([(held == c).sum(axis=-2) for c in range(self.classes)], axis=-1)

    @cached_property
    def _answer(self) -> Decided:
        return majority_class(self.counts, self.voters)

    @property
    def decision(self) -> Ints:
        """(input,): the class that more than half of the honest participants there hold, else -1."""
        return self._answer.decision

    @property
    def tied(self) -> Bools:
        """(input, class): the most common classes where several are tied, none elsewhere.

        Only where more than half of the honest participants hold one of them. Such an input is undecided, and
        counts in ``accuracy`` as the share of right ones among them.
        """
        return np.asarray(self._answer.tied)

    @cached_property
    def answers(self) -> Array:
        """(input,): the label of the decision, None where undecided; an array of objects.

        An undecided input is class -1, which as an index into labels would be the last of them.
        """
        if self.labels is None:
            raise ValueError(
                "answers needs the names of the classes, which outcomes of estimators have: "
                "compare(..., labels=), or dataclasses.replace(outcome, labels=)"
            )
        labels = self.labels.tolist() if isinstance(self.labels, np.ndarray) else self.labels
        called = np.full(self.classes + 1, None, dtype=object)  # the last, which -1 names, stays None
        for c, label in enumerate(labels):
            called[c] = label
        return np.asarray(called[self.decision])

    @cached_property
    def agreement(self) -> Floats:
        """(input,): the share of honest participants that hold the most common class; 0 if none is there."""
        return np.asarray(self.counts.max(axis=-1) / np.maximum(self.voters, 1), dtype=np.float64)

    @property
    def probabilities(self) -> Floats:
        """(input, class): the share of honest participants that hold each class, over all repetitions.

        Classes are equally likely where nobody holds any.
        """
        held = self.counts.reshape(-1, *self.counts.shape[-2:]).sum(axis=0)
        return shares_of(held)

    @property
    def undecided(self) -> int:
        """Inputs (over all repetitions) without an honest majority; ties are among them."""
        return int((self.decision == NO_VOTE).sum())

    def accuracy(self, truth: npt.ArrayLike) -> float:
        """Measure the share of inputs with a known truth that are decided right.

        Parameters
        ----------
        truth : array-like of int, shape (input,)
            The right class of each input, -1 where it is not known: those inputs are not counted.

        Returns
        -------
        float
            The share, the mean over repetitions. An undecided input is not right. Tied labels count as the
            share of right ones among them: a tie of two, one of them right, as one half.
        """
        return float(self.accuracies(truth).mean())

    def accuracies(self, truth: npt.ArrayLike) -> Floats:
        """Measure the accuracy of each repetition.

        Parameters
        ----------
        truth : array-like of int, shape (input,)
            The right class of each input, -1 where it is not known.

        Returns
        -------
        ndarray of float, shape (repetition,)
            What ``accuracy`` is the mean of; one number if there was one repetition.
        """
        return np.atleast_1d(share_right(self.decision, truth, self.tied))


@runtime_checkable
class RunsItself(Protocol):
    """A protocol that ``deliberate`` hands everything over to (``folkmoot.outlook``)."""

    def run(self, votes: Any, **options: Any) -> Outcome:
        """Deliberate about the votes; the options are those of ``deliberate``."""


def check_batch(batch: Batch) -> Batch:
    """The kind of batch, or ValueError if it is none."""
    checks.one_of("batch", batch, get_args(Batch))
    return batch


def check_schedule(schedule: Schedule) -> Schedule:
    """The schedule, or ValueError if it is none."""
    checks.one_of("schedule", schedule, get_args(Schedule))
    return schedule


# How often answers are right, over the inputs whose truth is known (not -1), and what a vote is then worth.


def share_right(decision: npt.ArrayLike, truth: npt.ArrayLike, tied: npt.ArrayLike | None = None) -> Floats:
    """Measure the share of the inputs with a known truth that are decided right.

    ``decision`` (..., input): The class decided for each input, -1 where undecided. ``truth`` (input,): The
    right class of each input, -1 where it is not known: those inputs are not counted. ``tied`` (..., input,
    class): The classes that are tied, where there are several. Such an input counts as the share of right
    ones among them. Default: there are no ties.
    """
    return np.asarray(right_by_input(decision, truth, tied).mean(axis=-1), dtype=np.float64)


def right_by_input(
    decision: npt.ArrayLike, truth: npt.ArrayLike, tied: npt.ArrayLike | None = None
) -> Floats:
    """Tell for each input with a known truth whether it is decided right: 1, 0, or a share on a tie.

    ``decision`` (..., input): The class decided for each input, -1 where undecided. ``truth`` (input,): The
    right class of each input, -1 where it is not known: those inputs are left out. ``tied`` (..., input,
    class): The classes that are tied, where there are several. Default: there are no ties.
    """
    given = np.asarray(decision)
    right = check_truth(truth, given.shape[-1], complete=False)
    return shares_right(given, right, None if tied is None else np.asarray(tied, dtype=np.bool_))


def shares_right(given: Array, right: Ints, tied: Bools | None, choices: Ints | None = None) -> Floats:
    """(..., known input): ``right_by_input`` of a truth that is checked.

    ``choices`` (input, choice): the class that each column of ``tied`` stands for; without, its number.
    """
    known = known_inputs(right)
    hits: Floats = (given[..., known] == right[known]).astype(np.float64)
    if tied is None:
        return hits
    tied = tied[..., known, :]
    many = tied.sum(axis=-1)
    named = right[known][:, None] == (np.arange(tied.shape[-1]) if choices is None else choices[known])
    shares = (tied & named).sum(axis=-1) / np.maximum(many, 1)
    return np.asarray(np.where(many > 1, shares, hits), dtype=np.float64)


def participant_accuracies(votes: Votes, truth: npt.ArrayLike) -> Floats:
    """Measure the share of each participant's cast votes that are right.

    ``votes`` (participant, input): Classes, -1 for no vote: inputs on which a participant did not vote are
    not held against it. ``truth`` (input,): The right class of each input, -1 where it is not known.
    """
    right = np.asarray(truth)
    cast = (votes != NO_VOTE) & (right != NO_VOTE)
    total = cast.sum(axis=1)
    hits = ((votes == right) & cast).sum(axis=1)
    return np.asarray(np.where(total > 0, hits / np.maximum(total, 1), np.nan), dtype=np.float64)


def laplace_accuracy(right: npt.ArrayLike, total: npt.ArrayLike, classes: int = 2) -> Floats:
    """Estimate an accuracy by Laplace's rule of succession, (right + 1) / (total + C).

    The estimate is never 0 or 1, and 1/C where nothing is known. It is the posterior mean if every accuracy
    is as likely as another beforehand. With more than two classes the prior is Beta(1, C - 1), whose mean is
    that of a guess.
    """
    return np.asarray((np.asarray(right) + 1) / (np.asarray(total) + classes), dtype=np.float64)


def log_odds(p: npt.ArrayLike, classes: int = 2, *, doubt: float = LEAST_DOUBT) -> Floats:
    """Weigh a vote by its voter's accuracy p: log((C-1) p / (1-p)).

    No weights are better if participants err independently, no class is likelier than another beforehand, and
    all C-1 wrong classes are equally likely.
    """
    classes = checks.integer("classes", classes, least=2)
    try:
        values = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"p must be a number or a sequence of numbers: got {p!r}") from None
    bad = np.flatnonzero((values < 0) | (values > 1))
    if bad.size:
        raise ValueError(f"p must satisfy 0 <= p <= 1: got {values.flat[bad[0]]} at place {bad[0]}")
    kept = np.clip(values, doubt, 1 - doubt)
    return np.asarray(np.log((classes - 1) * kept / (1 - kept)), dtype=np.float64)


def standard_error(values: npt.ArrayLike) -> float | None:
    """The standard error of the mean, as ``scipy.stats.sem``, but None (not NaN) for a single value."""
    each = np.asarray(values, dtype=np.float64)
    return float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else None


def wilson_bound(right: npt.ArrayLike, total: npt.ArrayLike, deviations: float) -> Floats:
    """Bound many shares, also of fractions, by what was counted: Wilson's interval, which scipy has for one.

    The bound is the share p at which ``right`` of ``total`` is ``deviations`` standard deviations above the
    ``total * p`` expected. Negative ``deviations`` give an upper bound. Unlike the share itself it says
    little where little was counted: within (0, 1), and further out than the share.
    """
    good, all_of_them = np.broadcast_arrays(
        np.asarray(right, dtype=np.float64), np.asarray(total, dtype=np.float64)
    )
    square = deviations * deviations
    some = np.maximum(all_of_them, 1e-300)
    spread = np.sqrt(np.maximum(good * (all_of_them - good) / some, 0.0) + square / 4)
    bound = (good + square / 2 - deviations * spread) / (all_of_them + square)
    return np.asarray(np.clip(bound, 0.0, 1.0), dtype=np.float64)
