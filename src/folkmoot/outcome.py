"""What a deliberation came to: decisions, how firmly they are held, and what it cost.

Ties and inputs without a majority are -1, never broken silently; ``level`` tells the ties from the others.
Agreement is not correctness: an ``Outcome`` knows nothing of the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.accuracy import share_right
from folkmoot.answers import Answer, held_by_most
from folkmoot.arrays import Array, Bools, Colours, Floats, Ints
from folkmoot.convergence import draw_convergence
from folkmoot.notebook import titled
from folkmoot.pictures import canvas
from folkmoot.played import Played, Schedule
from folkmoot.turns import Change, Turns, no_turns
from folkmoot.votes import UNCOLOURED, Votes

__all__ = ["Outcome"]

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from folkmoot import Explanation
    from folkmoot.player import Player


class Replay(Protocol):
    """Plays an input once more, with a notebook."""

    def __call__(self, i: int, repetition: int = 0) -> Turns:
        """The turns of input i in one repetition."""


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
    replay : callable, optional
        What ``turns`` and ``explain`` call. Only with ``record=True``.
    labels : sequence, optional
        What the colours are called, one for each. Estimators and ``compare(..., labels=)`` fill it in.
    names : sequence of str, optional
        What the participants are called, one for each.
    present : ndarray of bool, shape (participant, input), optional
        Who took part in which input, the same in all repetitions; None if everybody did. Only those count in
        what follows.
    played : Played, optional
        How it was played: protocol, schedule, seed, who lies and how, first votes.
    opened : ndarray of int, shape (participant, input), optional
        With trust or peer review: what each participant took into the talk after it had listened to the first
        votes, -1 for nothing.
    trust : ndarray of float, shape (participant, participant), optional
        With trust or peer review: what each one's vote counts for each participant (a row each).
    trust_by : {"trust", "peer review"}, optional
        How that was learnt.
    restored : ndarray of bool, shape (participant, input), optional
        With trust or peer review: who took back what it had opened with once the talk was over, because the
        talk may change few of its decisions.
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
    replay: Replay | None = field(default=None, repr=False)
    labels: Sequence[Any] | Array | None = None
    names: Sequence[str] | None = None
    present: Bools | None = None
    played: Played | None = field(default=None, repr=False)
    opened: Votes | None = field(default=None, repr=False)
    trust: Floats | None = field(default=None, repr=False)
    trust_by: Literal["trust", "peer review"] | None = None
    restored: Bools | None = field(default=None, repr=False)
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
        then = [] if self.replay is None else ["plot(), play() and why(i) show how it came about"]
        title = f"{many} participants, {inputs:,} inputs, {self.classes} classes{talk}"
        return titled(title, ["the talk", ""], rows, then)

    # ---- how it was played -------------------------------------------------------------------

    @cached_property
    def votes(self) -> Votes | None:
        """(participant, input): the first votes as they were handed in, those of liars as they chose them."""
        return None if self.played is None else self.played.first()

    @property
    def liars(self) -> dict[int, str]:
        """Who does not follow the protocol, and what it does instead."""
        return {} if self.played is None else {i: repr(liar) for i, liar in self.played.adversaries.items()}

    @property
    def protocol(self) -> Any:
        """The protocol that was played; None if it is not known."""
        return None if self.played is None else self.played.protocol

    @property
    def schedule(self) -> Schedule | None:
        """Whether they asked one at a time or in lockstep."""
        return None if self.played is None else self.played.schedule

    @property
    def seed(self) -> int | None:
        """What seeded the randomness."""
        return None if self.played is None else self.played.seed

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
            If there is no such input, or it is not known how the outcome was played.
        """
        if self.played is None:
            raise ValueError("query needs an outcome of deliberate(...), which knows how it was played")
        return self.played.query(self._input(i))

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

    def explain(self, i: int) -> list[Change]:
        """Tell who changed its colour on one input, when, and after which answers.

        Parameters
        ----------
        i : int
            The input: its column in the votes.

        Returns
        -------
        list of Change
            Every change of an honest participant's colour, in the order in which they happened; with several
            repetitions, those of the first.

        Raises
        ------
        ValueError
            If the deliberation was not recorded with ``record=True``, or there is no such input.
        """
        return self._turns("explain", i).changes

    def turns(self, i: int) -> Turns:
        """Tell who asked whom on one input, turn by turn, with every answer.

        Parameters
        ----------
        i : int
            The input: its column in the votes.

        Returns
        -------
        Turns
            A sequence of ``Turn`` in the order in which they were taken, kept as arrays; with several
            repetitions, those of the first. ``explain(i)`` is those in which somebody changed its colour. A
            participant's last turn, or else its first vote (with trust: ``opened``), is what it held when
            the talk was over: its decision, unless ``restored``.

        Raises
        ------
        ValueError
            If the deliberation was not recorded with ``record=True``, or there is no such input.

        Examples
        --------
        >>> from folkmoot import Slush, deliberate
        >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2), record=True)
        >>> for turn in outcome.turns(0):
        ...     print(turn.participant, "asked", turn.asked, "who said", turn.answers)
        1 asked (3, 2) who said (1, 0)
        1 asked (2, 0) who said (0, 0)
        3 asked (0, 2) who said (0, 0)
        """
        return self._turns("turns", i)

    def why(self, i: int) -> Explanation:
        """Explain the answer to one input, by names and labels; with several repetitions, that of the first.

        Parameters
        ----------
        i : int
            The input: its column in the votes.

        Returns
        -------
        Explanation
            Everybody's first vote and what it counted for, who changed its mind after whose answers, how
            close it was, and all of it in one sentence. Without ``record=True`` it says what is not known.

        Raises
        ------
        ValueError
            If there is no such input, or the outcome does not know its first votes.

        Examples
        --------
        >>> from folkmoot import Slush, deliberate
        >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2), record=True)
        >>> why = outcome.why(0)
        >>> why.answer, why.changes[0].name, why.closeness.votes
        ('colour 0', 'participant 3', 2)
        """
        # What explains stands above theory and simulation, which stand above this: it is asked for by its
        # public name, which the package loads on first use.
        import folkmoot

        return folkmoot.explanation.why(self, i)

    def _turns(self, what: str, i: int) -> Turns:
        return self._recorded_turns(what)(self._input(i))

    def _recorded_turns(self, what: str) -> Replay:
        """What ``turns`` calls; ValueError where nothing was recorded, or there are no turns."""
        if self.replay is None:
            raise no_turns(what, recorded=self.history is not None)
        return self.replay

    def plot(self, ax: Any = None) -> Figure:
        """Draw how fast the participants came to agree.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: in a figure of its own.

        Returns
        -------
        matplotlib.figure.Figure
            A line for each input (60 at the most): the share of honest participants on the colour that wins,
            round by round. Undecided inputs are red.

        Raises
        ------
        ValueError
            If the deliberation was not recorded with ``record=True``.
        """
        figure, axes = canvas(ax, (6.4, 4.0))
        draw_convergence(self, axes)
        return figure

    @overload
    def play(self, path: None = None, **options: Any) -> Player: ...

    @overload
    def play(self, path: str | PathLike[str], **options: Any) -> Path: ...

    def play(self, path: str | PathLike[str] | None = None, **options: Any) -> Player | Path:
        """Make a page that plays the talk turn by turn, in one HTML file that works offline.

        Parameters
        ----------
        path : str or path, optional
            The file to write, such as ``"talk.html"``. Default: none; the page is returned, and shows itself
            in a notebook.
        **options : dict
            ``truth``, ``images``, ``rows``, ``inputs``, ``input_names``, ``title`` and ``about``, as
            ``folkmoot.play`` takes them.

        Returns
        -------
        Player or Path
            The page; with ``path`` the file that was written.

        Raises
        ------
        ValueError
            If the deliberation was not recorded with ``record=True``, or the options do not fit it.
        """
        from folkmoot.watching import play

        return play(self, path, **options)


@runtime_checkable
class RunsItself(Protocol):
    """A protocol that ``deliberate`` hands everything over to (``folkmoot.outlook``)."""

    def run(self, votes: Any, **options: Any) -> Outcome:
        """Deliberate about the votes; the options are those of ``deliberate``."""
