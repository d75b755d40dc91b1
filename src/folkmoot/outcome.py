"""What a deliberation came to: decisions, how firmly they are held, what it cost, and the run that it was.

An ``Outcome`` is data: ``explain``, ``plot_convergence`` and ``play`` are functions of it. It knows nothing
of the truth, as agreement is not correctness.

This is also the one place where it is decided whether there is a tie (``most``, which aggregations use, too).
A tie is not broken: the decision is -1, and the tied classes share in the accuracy
(``folkmoot.accuracy.share_right``). Where no class has what it takes to win there is no answer, which is not
a tie: the decision is -1 and no classes are tied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.accuracy import share_right
from folkmoot.arrays import Array, Bools, Colours, Floats, Ints
from folkmoot.pictures.notebook import titled
from folkmoot.votes import UNCOLOURED, Votes

__all__ = ["Change", "Outcome", "PlainSlush", "Turn", "Turns"]


class Answer(NamedTuple):
    """An answer to each input; ``level`` may be left out by rules that cannot tie."""

    decision: Ints
    """(..., input): the colour that is ahead of all others; -1 if there is none."""
    level: Bools | None = None
    """(..., input, colour): the colours that are level, where there are several; none elsewhere."""


def most(scores: Array, possible: Bools, within: float = 0) -> Answer:
    """The colour with the largest of the scores (..., input, colour), or those ``within`` of the largest.

    ``possible`` says for which inputs there is an answer at all.
    """
    best = (scores >= scores.max(axis=-1, keepdims=True) - within) & possible[..., None]
    many = best.sum(axis=-1)
    return Answer(np.where(many == 1, scores.argmax(axis=-1), UNCOLOURED), best & (many > 1)[..., None])


def held_by_most(counts: Ints, participants: Ints) -> Answer:
    """The colour that more than half of the participants hold, or the most common ones if these are level.

    Level colours are a tie if together they have more than half: 5 to 5 of ten, or 3, 3 and 2 of eight. Two
    colours held by one each of ten, where the others hold none, are not: that is undecided.

    ``counts`` (..., input, colour): how many hold each colour; ``participants`` (input,): of how many.
    """
    largest = counts.max(axis=-1)
    together = largest * (counts == largest[..., None]).sum(axis=-1)
    return most(counts, 2 * together > participants)


class Change(NamedTuple):
    """One line of ``Turns.changes``: who changed its class, when, and after which answers.

    Parameters
    ----------
    round : int
        The round in which it happened; the first is 1.
    participant : int
        The participant that changed its colour.
    before : int
        The colour it held; -1 for none.
    after : int
        The colour it holds from then on.
    tally : tuple of float
        How many of the peers it asked answered each colour; with weights, the sum of theirs.

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
    """One turn of ``Outcome.turns``: a participant asks, hears the answers, and may change its colour.

    Parameters
    ----------
    round : int
        The round; the first is 1.
    participant : int
        The participant that asks.
    asked : tuple of int
        The peers it asks, in the order in which they were drawn.
    answers : tuple of int
        The colour that each of them names; -1 for none.
    tally : tuple of float
        How many of the answers name each colour; with weights, the sum of theirs, rescaled to
        ``len(asked)``.
    alpha : int
        What a tally must reach.
    won : int
        The colour whose tally reached alpha; -1 if none did.
    before : int
        The colour that the asker held; -1 for none.
    after : int
        The colour that it holds from then on; with ``schedule="lockstep"``, once the round is over.

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
        Who asks.
    size : ndarray of int, shape (turn,)
        How many it asks: k, or fewer where it can ask fewer.
    alpha : ndarray of int, shape (turn,)
        What a tally must reach.
    asked : ndarray of int, shape (turn, most)
        Whom it asks; only the first ``size`` entries of a row mean something.
    answers : ndarray of int, shape (turn, most)
        What these answer, -1 for none.
    tally : ndarray of float, shape (turn, colour)
        How many answers name each colour, or what they weigh, rescaled to ``size``.
    won : ndarray of int, shape (turn,)
        The colour that won the query, -1 for none.
    before : ndarray of int, shape (turn,)
        The colour that the asker held.
    after : ndarray of int, shape (turn,)
        The colour that it holds from then on.

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
    answers: Colours
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
        """The turns in which somebody changed its class."""
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


class PlainSlush(NamedTuple):
    """A run about one input of which ``theory.SlushChain`` is the exact law.

    Two classes, Slush with one alpha, equal weights, everybody asks everybody alike, one at a time, and
    malicious participants that all name one class, always.

    Parameters
    ----------
    n : int
        How many take part, with the malicious ones.
    k : int
        How many are asked in a query.
    alpha : int
        How many of these must agree.
    liars : int
        How many of the n always name one class.
    named : int
        Which class that is.
    sampling : Others or Everyone
        Whether an asker may draw itself.
    rounds : int
        The most rounds that are played.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> outcome.run.plain(0)
    PlainSlush(n=4, k=2, alpha=2, liars=0, named=0, sampling=Others(), rounds=50)
    """

    n: int
    k: int
    alpha: int
    liars: int
    named: int
    sampling: Any
    rounds: int


class Run(Protocol):
    """How a deliberation was run: all that is needed to run it again, to the same bits."""

    @property
    def protocol(self) -> Any:
        """The rule; None if they agreed on numbers."""

    @property
    def schedule(self) -> Schedule:
        """One participant at a time, or all at once."""

    @property
    def seed(self) -> int:
        """What seeds its randomness."""

    @property
    def adversaries(self) -> Mapping[int, Any]:
        """The malicious participants, by number."""

    @property
    def votes(self) -> Votes:
        """(participant, input): the first votes as handed in, those of adversaries as they chose them."""

    @property
    def weights(self) -> Floats | None:
        """(participant,): what each one's answer weighs, to the median asker; None if all weigh the same."""

    def query(self, i: int) -> tuple[Ints, Ints]:
        """k and alpha of each participant (participant,) on input i; 0 and 0 of one that asks nobody."""

    def turns(self, i: int, repetition: int) -> Turns:
        """Who asked whom on input i, turn by turn."""

    def decided(self, i: int, votes: Votes, times: int, seed: int) -> Ints | None:
        """(variant, time): decisions on input i by other first votes (participant, variant), run so often.

        Adversaries keep their votes. None if it cannot be run so.
        """

    def plain(self, i: int) -> PlainSlush | None:
        """The closed form of the law of input i, if it has one."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The end of a deliberation over a batch of inputs, as ``deliberate`` returns it.

    With ``repeats=1`` arrays have the shapes below. With more, all but ``honest`` and ``present`` have a
    first axis for the repetition.

    Parameters
    ----------
    decisions : ndarray of int, shape (participant, input)
        The colour that each participant holds at the end; -1 for none, and for an adversary.
    honest : ndarray of bool, shape (participant,)
        Who followed the protocol.
    classes : int
        The number of colours.
    settled : ndarray of bool, shape (input,)
        Whether all honest participants agree for good, or have all decided.
    rounds : ndarray of int, shape (input,)
        The rounds that were played; in a round each honest participant asks once, on average.
    queries : ndarray of int, shape ()
        The requests to single peers in all.
    history : ndarray of int, shape (input, round, colour), optional
        How many honest participants held each colour at the start and after each round. Only with
        ``record=True``.
    labels : sequence, optional
        What the colours are called, one for each. Estimators and ``compare(..., labels=)`` fill it in.
    names : sequence of str, optional
        What the participants are called, one for each.
    present : ndarray of bool, shape (participant, input), optional
        Who took part in which input, the same in all repetitions; None if everybody did. Only those count in
        what follows.
    run : Run, optional
        How it was run: protocol, schedule, seed, adversaries, first votes. It is what ``turns`` and
        ``explain``
        look at. Default: that is not known.
    faults : mapping of int to str, optional
        Who could not answer at all, and why.

    Raises
    ------
    ValueError
        If there is not one label for each colour, or not one name for each participant.

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

    decisions: Colours
    honest: Bools
    classes: int
    settled: Bools
    rounds: Ints
    queries: Ints
    history: npt.NDArray[np.int32] | None = None
    labels: Sequence[Any] | Array | None = None
    names: Sequence[str] | None = None
    present: Bools | None = None
    run: Run | None = field(default=None, repr=False)
    faults: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, each, given, many in (
            ("labels", "colour", self.labels, self.classes),
            ("names", "participant", self.names, len(self.honest)),
        ):
            if given is not None and len(given) != many:
                raise ValueError(f"{what} must hold one per {each} ({many}): got {len(given)}")

    def _repr_html_(self) -> str:
        """What it came to, in a notebook; with several repetitions, means over them."""
        many, inputs = len(self.honest), self.decisions.shape[-1]
        liars = many - int(self.honest.sum()) - len(self.faults)
        rows = [
            ("decided", f"{1 - np.mean(self.decision == UNCOLOURED):.3f} of the inputs"),
            ("agreement", f"{self.agreement.mean():.3f} on average; it says nothing about who is right"),
            ("settled", f"{np.mean(self.settled):.3f}"),
            ("rounds", f"{np.mean(self.rounds):.1f} on average, {np.max(self.rounds, initial=0)} at most"),
            ("queries", f"{np.mean(self.queries):,.0f}"),
            *([("liars", f"{liars}, not counted above")] if liars else []),
            *([("could not answer", str(len(self.faults)))] if self.faults else []),
        ]
        talk = f"; {self.protocol}" if self.protocol is not None else ""
        then = [] if self.run is None else ["folkmoot.explain(outcome, i) and play(outcome) show how"]
        title = f"{many} participants, {inputs:,} inputs, {self.classes} classes{talk}"
        return titled(title, ["the talk", ""], rows, then)

    # ---- how it was run ----------------------------------------------------------------------

    @cached_property
    def votes(self) -> Votes | None:
        """(participant, input): the first votes as they were handed in, those of liars as they chose."""
        return None if self.run is None else self.run.votes

    @property
    def liars(self) -> dict[int, str]:
        """Who does not follow the protocol, and what it does instead."""
        return {} if self.run is None else {i: repr(liar) for i, liar in self.run.adversaries.items()}

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
        """What seeded the randomness."""
        return None if self.run is None else self.run.seed

    def query(self, i: int) -> tuple[Ints, Ints]:
        """Tell how many peers each participant asks on one input, and how many of these must agree.

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
            If there is no such input, or it is not known how the outcome was run.
        """
        return self._known_run("query").query(self._input(i))

    def turns(self, i: int) -> Turns:
        """Tell who asked whom on one input, turn by turn, with every answer.

        The run is run again on this input alone, with a notebook; it needs no record.

        Parameters
        ----------
        i : int
            The input: its column in the votes.

        Returns
        -------
        Turns
            A sequence of ``Turn`` in the order in which they were taken, kept as arrays; with several
            repetitions, those of the first. Its ``changes`` are those in which somebody changed its class. A
            participant's last turn, or else its first vote, is its decision.

        Raises
        ------
        ValueError
            If it is not known how the outcome was run, or there is no such input.

        Examples
        --------
        >>> from folkmoot import Slush, deliberate
        >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
        >>> for turn in outcome.turns(0):
        ...     print(turn.participant, "asked", turn.asked, "who said", turn.answers)
        3 asked (0, 1) who said (0, 0)
        """
        return self._known_run("turns").turns(self._input(i), 0)

    def _known_run(self, what: str) -> Run:
        """How it was run; ValueError where that is not known, or nobody asks anybody."""
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

    # ---- what it came to ---------------------------------------------------------------------

    @cached_property
    def voters(self) -> Ints:
        """(input,): how many honest participants took part."""
        if self.present is None:
            return np.full(self.decisions.shape[-1], self.honest.sum())
        return np.asarray(self.present[self.honest].sum(axis=0))

    @cached_property
    def counts(self) -> Ints:
        """(input, colour): how many honest participants hold each colour."""
        held = self.decisions[..., self.honest, :]
        return np.stack([(held == colour).sum(axis=-2) for colour in range(self.classes)], axis=-1)

    @cached_property
    def _answer(self) -> Answer:
        return held_by_most(self.counts, self.voters)

    @property
    def decision(self) -> Ints:
        """(input,): the colour that more than half of the honest participants there hold, else -1."""
        return self._answer.decision

    @property
    def level(self) -> Bools:
        """(input, colour): the most common colours where several are level, none elsewhere.

        Only where more than half of the honest participants hold one of them. Such an input is undecided, and
        counts in ``accuracy`` as the share of right ones among them.
        """
        return np.asarray(self._answer.level)

    @cached_property
    def answers(self) -> Array:
        """(input,): the label of the decision, None where undecided; an array of objects.

        An undecided input is colour -1, which as an index into labels would be the last of them.
        """
        if self.labels is None:
            raise ValueError(
                "answers needs to know what the colours are called, as the outcome of an estimator does: "
                "compare(..., labels=), or dataclasses.replace(outcome, labels=)"
            )
        labels = self.labels.tolist() if isinstance(self.labels, np.ndarray) else self.labels
        called = np.full(self.classes + 1, None, dtype=object)  # the last, which -1 names, stays None
        for colour, label in enumerate(labels):
            called[colour] = label
        return np.asarray(called[self.decision])

    @cached_property
    def agreement(self) -> Floats:
        """(input,): the share of honest participants that hold the most common colour; 0 if none is there."""
        return np.asarray(self.counts.max(axis=-1) / np.maximum(self.voters, 1), dtype=np.float64)

    @property
    def undecided(self) -> int:
        """Inputs (over all repetitions) without an honest majority; ties are among them."""
        return int((self.decision == UNCOLOURED).sum())

    def accuracy(self, truth: npt.ArrayLike) -> float:
        """Measure the share of inputs with a known truth that are decided right.

        Parameters
        ----------
        truth : array-like of int, shape (input,)
            The right colour of each input, -1 where it is not known: those inputs are not counted.

        Returns
        -------
        float
            The share, the mean over repetitions. An undecided input is not right, but where labels are level
            it counts as the share of right ones among them: a tie of two, one of them right, as one half.
        """
        return float(self.accuracies(truth).mean())

    def accuracies(self, truth: npt.ArrayLike) -> Floats:
        """Measure the accuracy of each repetition.

        Parameters
        ----------
        truth : array-like of int, shape (input,)
            The right colour of each input, -1 where it is not known.

        Returns
        -------
        ndarray of float, shape (repetition,)
            What ``accuracy`` is the mean of; one number if there was one repetition.
        """
        return np.atleast_1d(share_right(self.decision, truth, self.level))


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
