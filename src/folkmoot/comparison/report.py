"""The report of a moot: consensus beside single participants and every rule of a centre, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from folkmoot.arrays import Bools
from folkmoot.comparing.bars import draw_agreement, draw_bars
from folkmoot.comparing.how_sure.certainty import Certainty
from folkmoot.comparing.how_sure.scores import TITLES, different_stories
from folkmoot.comparing.printing import ReportTable, plus_minus, size, who_is_not_honest
from folkmoot.comparison.ground import Ground
from folkmoot.comparison.line import Line
from folkmoot.comparison.who.joining import JoiningTable
from folkmoot.comparison.who.table import ParticipantTable
from folkmoot.outcome import Outcome
from folkmoot.pictures.canvas import canvas
from folkmoot.simulation.self_anchored import Listeners
from folkmoot.trust.conduct import Opinion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONSENSUS: Final = "consensus"  # the line that all others are compared with
WITHOUT_TRUST: Final = "talk without trust"  # the same, with everybody asked alike
TIES_SHARE: Final = "level labels share: a tie of two counts as one half"


@dataclass(frozen=True)
class Report(ReportTable[Line]):
    """What ``compare`` found: print it, ``plot()`` it, or take ``to_dict()``.

    Where several protocols were tried, all that is not said of a line is of the first one.

    Parameters
    ----------
    lines : tuple of Line
        The ways to answer: single participants, rules of a centre, talks.
    n_participants : int
        The number of participants.
    inputs : int
        The number of inputs.
    classes : int
        The number of colours.
    byzantine : tuple of str
        The names of the Byzantine participants.
    faulty : dict of str to str
        The names of participants that could not answer, and what went wrong.
    protocol : str
        The protocol in words, such as "Slush, k=10, alpha=6".
    repeats : int
        How many times the talk was played.
    agreement : float
        The share of honest participants on the most common colour, on average.
    settled : float
        The share of inputs on which all honest participants agreed for good.
    undecided : float
        The number of inputs without an honest majority, per talk; ties are among them.
    rounds : float
        The rounds played on an input, on average.
    queries : int
        The requests to single peers: each carries all inputs, or one where some participants were absent.
    bytes : int
        The size of the votes in the answers to them.
    anchored : int, optional
        The number of honest participants with a trust of their own; they alone talk. None if nobody was to
        learn trust.
    honest : ndarray of bool, shape (participant,), optional
        Who follows the protocol and can answer.
    outcomes : dict of str to Outcome, default {}
        What the talk by each protocol came to, by the name of its line.
    without_trust : dict of str to Outcome, default {}
        The same with everybody asked alike, if trust was learnt.
    anchored_by : str, default "their holdout"
        What they anchor by, in words.
    listeners : Listeners, optional
        Those who learnt whom to trust. None without anchors, or where trust could not be learnt.
    recorded : Outcome, optional
        The talk of the first protocol once more, with its record.
    seconds : float, default 0.0
        How long listening and talking took.
    advice : str, default ""
        What the caller does about undecided inputs, for the notes below the table.
    ground : Ground, optional
        The votes, the truth and the names that all of it rests on.
    certainty : Certainty, optional
        The answers and how likely each class was found, where the truth is known.
    joining : JoiningTable, optional
        Each group alone and together on its own rows, if it was asked for with ``groups``.

    Examples
    --------
    >>> from folkmoot import Slush, compare
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(15, p=0.7, inputs=200)
    >>> print(compare(votes, Slush(k=5, alpha=3), truth=truth, rules=["majority"]))
    15 participants, 200 inputs, 2 classes; Slush, k=5, alpha=3
    <BLANKLINE>
    who decides              accuracy  balanced  macro F1  undecided  needs
    ----------------------------------------------------------------------------------------------
    mean participant           0.7043    0.7043    0.7042          -
    best participant           0.7650    0.7650    0.7650          -  the truth, to know who it is
    majority                   0.9600    0.9600    0.9600          0  a server
    consensus         0.8860 ± 0.0065    0.8860    0.8859          0
    <BLANKLINE>
    agreement 1.000, settled 1.000, 2.8 rounds a participant, 645 queries, 16.1 kB of votes on the wire
    """

    header: ClassVar = ("who decides", "accuracy", "undecided", "needs")

    lines: tuple[Line, ...]
    n_participants: int
    inputs: int
    classes: int
    byzantine: tuple[str, ...]
    faulty: dict[str, str]
    protocol: str
    repeats: int
    agreement: float
    settled: float
    undecided: float
    rounds: float
    queries: int
    bytes: int
    anchored: int | None = None

    # What JSON does not hold.
    honest: Bools | None = field(default=None, compare=False, repr=False)
    outcomes: dict[str, Outcome] = field(default_factory=dict, compare=False, repr=False)
    without_trust: dict[str, Outcome] = field(default_factory=dict, compare=False, repr=False)
    anchored_by: str = field(default="their holdout", compare=False, repr=False)
    listeners: Listeners[Opinion] | None = field(default=None, compare=False, repr=False)
    recorded: Outcome | None = field(default=None, compare=False, repr=False)
    seconds: float = field(default=0.0, compare=False, repr=False)
    advice: str = field(default="", compare=False, repr=False)
    ground: Ground | None = field(default=None, compare=False, repr=False)
    certainty: Certainty | None = field(default=None, compare=False, repr=False)
    joining: JoiningTable | None = field(default=None, compare=False, repr=False)

    @property
    def coverage(self) -> float | None:
        """The share of the inputs that is answered, 1 unless ``abstain_below`` is set; None without truth."""
        return None if self.certainty is None else self.certainty.coverage

    @property
    def accuracy_answered(self) -> float | None:
        """The share of right answers among those given, of the first talk; None without any."""
        return None if self.certainty is None else self.certainty.accuracy_answered

    @cached_property
    def participant_table(self) -> ParticipantTable:
        """A row for each participant: how good it is, and what is odd about it; to print or to write."""
        if self.ground is None:
            return ParticipantTable(())
        return self.ground.table(self.outcome, self.listeners, self.byzantine, self.faulty)

    @property
    def participants(self) -> Any:
        """The rows of ``participant_table`` as a pandas ``DataFrame``; as a structured array without pandas.

        ``n_participants`` is their number.
        """
        return self.participant_table.frame()

    @property
    def outcome(self) -> Outcome:
        """What the talk came to: by trust, if there is one."""
        return next(iter(self.outcomes.values()))

    @property
    def talk(self) -> str:
        """The name of its line."""
        return next(iter(self.outcomes))

    def accuracy(self, name: str | None = None) -> float | None:
        """Look up the accuracy of a line.

        Parameters
        ----------
        name : str, optional
            The name of the line, such as "majority". Default: that of the talk.

        Returns
        -------
        float or None
            The accuracy; None where it is not known.

        Raises
        ------
        ValueError
            If there is no such line.
        """
        return self.line(self.talk if name is None else name).accuracy

    def to_dict(self) -> dict[str, Any]:
        """Make plain numbers and strings of the report, for JSON.

        Returns
        -------
        dict
            The lines and all fields up to ``anchored``, without arrays and outcomes. ``participants`` is
            their number, ``participant_table`` a row for each, ``joining`` one for each group, ``coverage``
            and ``accuracy_answered`` what is answered if answers may be withheld.
        """
        return {
            "lines": [line.to_dict() for line in self.lines],
            "participants": self.n_participants,
            **{name: getattr(self, name) for name in _IN_JSON},
            "participant_table": self.participant_table.to_list(),
            "joining": None if self.joining is None else self.joining.to_list(),
            "coverage": self.coverage,
            "accuracy_answered": self.accuracy_answered,
        }

    @property
    def title(self) -> str:
        """Who talked about what."""
        what = f"{self.n_participants} participants, {self.inputs:,} inputs, {self.classes} classes"
        return f"{what}; {self.protocol}"

    @property
    def notes(self) -> list[str]:
        """What else is to be known: cost, liars, faulty participants."""
        whose = f"{self.talk}: " if self.talk != CONSENSUS else ""
        lines = [
            f"{whose}agreement {self.agreement:.3f}, settled {self.settled:.3f}, {self.rounds:.1f} rounds a "
            f"participant, {self.queries:,} queries, {size(self.bytes)} of votes on the wire"
        ]
        if self.anchored is not None:
            honest = self.n_participants - len(self.byzantine) - len(self.faulty)
            then = (
                "they alone decide, and the agreement is theirs" if self.anchored else "so trust is left out"
            )
            lines.append(
                f"trust: {self.anchored} of {honest} honest participants anchor by {self.anchored_by}; {then}"
            )
        if self.settled < 1 and self.byzantine:
            lines.append("settled: no more talk can change it; alpha or more liars always could")
        lines += [*self.about_undecided, *self.about_scores]
        return [*lines, *who_is_not_honest(self.byzantine, self.faulty), *self.about_participants]

    @property
    def about_participants(self) -> list[str]:
        """One line on who is odd, and one on who gains by joining; nothing where there is nothing to say."""
        lines = self.participant_table.about([*self.byzantine, *self.faulty])
        if self.joining is not None:
            lines.append(self.joining.summary)
        return lines

    @property
    def about_undecided(self) -> list[str]:
        """How inputs without an answer count; nothing if there are none, or no accuracies."""
        judged = [line for line in self.lines if line.accuracy is not None]
        if not any(line.undecided for line in judged):
            return []
        tied = any(line.tied for line in judged)
        ties = f", and {TIES_SHARE}" if tied else ""
        return [f"undecided inputs count as wrong here{ties}" + (f"; {self.advice}" if self.advice else "")]

    @property
    def about_scores(self) -> list[str]:
        """What abstaining comes to, and a line if accuracy and the scores by class tell different stories."""
        lines, sure = [], self.certainty
        if sure is not None and sure.abstain_below is not None:
            right = sure.accuracy_answered
            told = "" if right is None else f", and is right on {right:.3f} of these"
            lines.append(
                f"abstaining: answers {sure.coverage:.3f} of the inputs, those with a probability of "
                f"{sure.abstain_below:g} or more{told}; the lines above answer all"
            )
        return [*lines, *self._stories()]

    def _stories(self) -> list[str]:
        line = self.line(self.talk)
        if line.accuracy is None or self.ground is None or self.ground.truth is None:
            return []
        return different_stories(line.accuracy, line.scores, self.ground.truth, self.outcome.labels)

    @property
    def columns(self) -> tuple[str, ...]:
        """What stands above the lines."""
        first, right, *others = self.header
        return (first, right, *(_title(name) for name in self._scored), *others)

    @property
    def _scored(self) -> tuple[str, ...]:
        """The scores that any line has."""
        return tuple(dict.fromkeys(name for line in self.lines for name in line.scores))

    def _cells(self, line: Line) -> tuple[str, ...]:
        right = "-" if line.accuracy is None else f"{line.accuracy:.4f}{plus_minus(line.standard_error)}"
        each = (line.scores.get(name) for name in self._scored)
        scores = ["-" if score is None else f"{score:.4f}" for score in each]
        open_ = "-" if line.undecided is None else f"{line.undecided:g}"
        return (line.name, right, *scores, open_, line.needs)

    def plot(self, ax: Any = None) -> Figure:
        """Draw the accuracies as bars, the talks in blue.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: in a figure of its own.

        Returns
        -------
        matplotlib.figure.Figure
            The bars; without truth, how many inputs are held by which share of the honest participants.
        """
        figure, axes = canvas(ax, (6.4, 3.6))
        draw_report(self, axes)
        return figure

    def plot_confusion(
        self, ax: Any = None, *, normalize: Literal["true", "pred", "all"] | None = None
    ) -> Figure:
        """Draw which classes are taken for which, with scikit-learn's ``ConfusionMatrixDisplay``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: in a figure of its own.
        normalize : {"true", "pred", "all"}, optional
            Shares of each row, of each column or of all, as in scikit-learn. Default: counts.

        Returns
        -------
        matplotlib.figure.Figure
            The matrix of what ``predict`` answers, or of the first talk; answers that are withheld have a
            column of their own.

        Raises
        ------
        ValueError
            If the truth is not known.
        """
        return self._sure("a confusion matrix").draw_confusion(ax, normalize=normalize)

    def plot_reliability(self, ax: Any = None, *, n_bins: int = 10) -> Figure:
        """Draw how often answers of a probability are right, with scikit-learn's ``CalibrationDisplay``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: in a figure of its own.
        n_bins : int, default 10
            Into how many bins probabilities are put.

        Returns
        -------
        matplotlib.figure.Figure
            With two classes, how often the second is right by its probability; with more, how often the
            answer is, by the probability of the answer.

        Raises
        ------
        ValueError
            If the truth, or how likely each class is, is not known.
        """
        return self._sure("a reliability plot").draw_reliability(ax, n_bins=n_bins)

    def plot_coverage(self, ax: Any = None) -> Figure:
        """Draw what abstaining buys: the accuracy of the surest answers, by how many they are.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: in a figure of its own.

        Returns
        -------
        matplotlib.figure.Figure
            The curve of ``certainty.curve()``; with ``abstain_below`` set, where on it that is.

        Raises
        ------
        ValueError
            If the truth, or how likely each class is, is not known.
        """
        return self._sure("an accuracy-coverage curve").draw_coverage(ax)

    def _sure(self, what: str) -> Certainty:
        if self.certainty is None:
            why = "probabilities" if self.listeners is not None else "the truth"
            raise ValueError(
                f"{what} needs {why}: ConsensusClassifier.report(X, y) knows both, compare(..., truth=) does "
                "without anchors"
            )
        return self.certainty


_IN_JSON: Final = (
    "inputs", "classes", "byzantine", "faulty", "protocol", "repeats", "agreement", "settled",
    "undecided", "rounds", "queries", "bytes", "anchored",
)  # fmt: skip


def _title(score: str) -> str:
    """The name of a score in the table; accuracy by scikit-learn is that of what ``predict`` answers."""
    return "accuracy (predict)" if score == "accuracy" else TITLES.get(score, score)


def draw_report(report: Report, axes: Any) -> None:
    """What ``Report.plot`` shows, in matplotlib axes."""
    shown = [(line, line.accuracy) for line in report.lines if line.accuracy is not None]
    if not shown:
        draw_agreement(axes, report.outcome.agreement)
        return
    draw_bars(
        axes,
        {line.name: accuracy for line, accuracy in shown},
        label="accuracy",
        talks=report.outcomes,
        errors=[line.standard_error or 0.0 for line, _ in shown],
    )
    axes.set_xlim(0, 1.12)
