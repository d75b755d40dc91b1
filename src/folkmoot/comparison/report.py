"""The report of a moot: consensus beside single participants and every rule of a centre, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from folkmoot.arrays import Bools, Ints
from folkmoot.comparison.bars import draw_agreement, draw_bars
from folkmoot.comparison.ground import Ground
from folkmoot.comparison.printing import ReportTable, plus_minus, size, who_is_not_honest
from folkmoot.comparison.who.joining import JoiningTable
from folkmoot.comparison.who.table import ParticipantTable
from folkmoot.outcome import Outcome
from folkmoot.simulation.self_anchored import Listeners
from folkmoot.trust.conduct import Opinion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONSENSUS: Final = "consensus"  # the line that all others are compared with
WITHOUT_TRUST: Final = "talk without trust"  # the same, with everybody asked alike
_FINDINGS: Final = 3  # that are named below the table
TIES_SHARE: Final = "level labels share: a tie of two counts as one half"


@dataclass(frozen=True)
class Line:
    """One way to answer, and how well it does: a line of a ``Report``.

    Parameters
    ----------
    name : str
        Who decides, such as "majority" or "consensus".
    accuracy : float or None
        The share of inputs with a known truth that are answered right; None where nothing is known. An input
        with level labels counts as the share of right ones among them.
    standard_error : float, optional
        The standard error of the accuracy over repetitions; only for talks.
    undecided : float, optional
        The number of inputs without an answer, ties included, per repetition; only for talks and rules of a
        centre.
    needs : str, default ""
        What it needs that a consensus does without, such as "a server".
    decisions : ndarray of int, shape (repetition, input), optional
        The answers, -1 where undecided; a rule of a centre has one repetition.
    level : ndarray of bool, shape (repetition, input, colour), optional
        The labels that are level, where there are several. None for a line that has no ties.

    Examples
    --------
    >>> from folkmoot import Slush, compare
    >>> report = compare([[0, 1], [0, 1], [0, 0]], Slush(k=2, alpha=2), truth=[0, 0])
    >>> report.line("majority")
    Line(name='majority', accuracy=0.5, standard_error=None, undecided=0, needs='a server')
    >>> report.line("majority").decisions
    array([[0, 1]])
    """

    name: str
    accuracy: float | None
    standard_error: float | None = None
    undecided: float | None = None
    needs: str = ""
    decisions: Ints | None = field(default=None, compare=False, repr=False)
    level: Bools | None = field(default=None, compare=False, repr=False)

    @property
    def tied(self) -> float | None:
        """How many of the undecided inputs have level labels, per repetition."""
        if self.undecided is None:
            return None
        return 0.0 if self.level is None else float(self.level.any(axis=-1).sum() / len(self.level))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON; without the decisions."""
        return {name: getattr(self, name) for name in _IN_A_LINE}


_IN_A_LINE: Final = ("name", "accuracy", "standard_error", "undecided", "tied", "needs")


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
    who decides              accuracy  undecided  needs
    --------------------------------------------------------------------------
    mean participant           0.7043          -
    best participant           0.7650          -  the truth, to know who it is
    majority                   0.9600          0  a server
    consensus         0.8860 ± 0.0065          0
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
    joining: JoiningTable | None = field(default=None, compare=False, repr=False)

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
            their number, ``participant_table`` a row for each, ``joining`` one for each group.
        """
        return {
            "lines": [line.to_dict() for line in self.lines],
            "participants": self.n_participants,
            **{name: getattr(self, name) for name in _IN_JSON},
            "participant_table": self.participant_table.to_list(),
            "joining": None if self.joining is None else self.joining.to_list(),
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
            lines.append("settled: nothing can undo it any more, which alpha or more liars always can")
        lines += self.about_undecided
        return [*lines, *who_is_not_honest(self.byzantine, self.faulty), *self.about_participants]

    @property
    def about_participants(self) -> list[str]:
        """One line on who is odd, and one on who gains by joining; nothing where there is nothing to say."""
        byzantine = {*self.byzantine, *self.faulty}
        found = {
            name: what for name, what in self.participant_table.findings.items() if name not in byzantine
        }
        lines = []
        if found:
            some = "; ".join(f"{name!r}: {what}" for name, what in [*found.items()][:_FINDINGS])
            more = f"; and {len(found) - _FINDINGS} more" if len(found) > _FINDINGS else ""
            lines.append(f"odd: {some}{more} (participant_table)")
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

    def _cells(self, line: Line) -> tuple[str, ...]:
        right = "-" if line.accuracy is None else f"{line.accuracy:.4f}{plus_minus(line.standard_error)}"
        return line.name, right, "-" if line.undecided is None else f"{line.undecided:g}", line.needs

    def plot(self) -> Figure:
        """Draw the accuracies as bars, the talks in blue.

        Returns
        -------
        matplotlib.figure.Figure
            The bars; without truth, how many inputs are held by which share of the honest participants.
        """
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        draw_report(self, figure.subplots())
        return figure


_IN_JSON: Final = (
    "inputs", "classes", "byzantine", "faulty", "protocol", "repeats", "agreement", "settled",
    "undecided", "rounds", "queries", "bytes", "anchored",
)  # fmt: skip


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
