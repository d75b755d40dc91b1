"""The report of a moot: consensus beside single participants and every rule of a centre, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from folkmoot.arrays import Bools, Ints
from folkmoot.comparison.bars import draw_agreement, draw_bars
from folkmoot.comparison.printing import Table, size, who_is_not_honest
from folkmoot.outcome import Outcome
from folkmoot.simulation.self_anchored import Listeners

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONSENSUS: Final = "consensus"  # the line that all others are compared with
WITHOUT_TRUST: Final = "talk without trust"  # the same, with everybody asked alike


@dataclass(frozen=True)
class Line:
    """One way to answer: accuracy is None where it is not known; undecided only for rules and talks."""

    name: str
    accuracy: float | None
    standard_error: float | None = None
    undecided: float | None = None
    needs: str = ""
    decisions: Ints | None = field(default=None, compare=False, repr=False)
    """(repetition, input): the answers, -1 where undecided; a rule of a centre has one repetition."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON; without the decisions."""
        return {name: getattr(self, name) for name in _IN_A_LINE}


_IN_A_LINE: Final = ("name", "accuracy", "standard_error", "undecided", "needs")


@dataclass(frozen=True)
class Report(Table[Line]):
    """What ``compare`` found. Print it, ``plot()`` it, or take ``to_dict()``.

    Where several protocols were tried, what follows the lines is of the first one.
    """

    header: ClassVar = ("who decides", "accuracy", "undecided", "needs")

    lines: tuple[Line, ...]
    participants: int
    inputs: int
    classes: int
    byzantine: tuple[str, ...]  # names
    faulty: dict[str, str]  # name and what went wrong
    protocol: str
    repeats: int
    agreement: float  # mean share of honest participants on the most common colour
    settled: float  # share of inputs on which all honest participants agreed for good
    undecided: float  # inputs without an honest majority, per deliberation
    rounds: float  # per participant and input, mean
    queries: int  # requests to single peers: one carries all inputs
    bytes: int  # of votes in the answers to them
    # Honest participants with a trust of their own; they alone talk. None: nobody was to learn trust.
    anchored: int | None = None

    # What JSON does not hold.
    honest: Bools | None = field(default=None, compare=False, repr=False)
    """(participant,): who follows the protocol and can answer."""
    outcomes: dict[str, Outcome] = field(default_factory=dict, compare=False, repr=False)
    """What the talk by each protocol came to, by the name of its line."""
    without_trust: dict[str, Outcome] = field(default_factory=dict, compare=False, repr=False)
    """The same with everybody asked alike, if trust was learnt."""
    listeners: Listeners | None = field(default=None, compare=False, repr=False)
    """Those who learnt whom to trust; None without anchors, or where trust could not be learnt."""
    recorded: Outcome | None = field(default=None, compare=False, repr=False)
    """The talk of the first protocol once more, with its record."""
    seconds: float = field(default=0.0, compare=False, repr=False)
    """What listening and talking took."""
    advice: str = field(default="", compare=False, repr=False)
    """What whoever asked does about undecided inputs."""

    @property
    def outcome(self) -> Outcome:
        """What the talk came to: by trust, if there is one."""
        return next(iter(self.outcomes.values()))

    @property
    def talk(self) -> str:
        """The name of its line."""
        return next(iter(self.outcomes))

    def accuracy(self, name: str | None = None) -> float | None:
        """The accuracy of a line by its name; without one, that of the talk."""
        return self.line(self.talk if name is None else name).accuracy

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        lines = {"lines": [line.to_dict() for line in self.lines]}
        return lines | {name: getattr(self, name) for name in _IN_JSON}

    @property
    def title(self) -> str:
        """Who talked about what."""
        what = f"{self.participants} participants, {self.inputs:,} inputs, {self.classes} classes"
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
            honest = self.participants - len(self.byzantine) - len(self.faulty)
            then = (
                "they alone decide, and the agreement is theirs" if self.anchored else "so trust is left out"
            )
            lines.append(
                f"trust: {self.anchored} of {honest} honest participants anchor by their holdout; {then}"
            )
        if self.settled < 1 and self.byzantine:
            lines.append("settled: nothing can undo it any more, which alpha or more liars always can")
        judged = any(line.accuracy is not None for line in self.lines)
        if judged and (self.undecided or any(line.undecided for line in self.lines)):
            lines.append("undecided inputs count as wrong here" + (f"; {self.advice}" if self.advice else ""))
        return lines + who_is_not_honest(self.byzantine, self.faulty)

    def _cells(self, line: Line) -> tuple[str, ...]:
        if line.accuracy is None:
            right = "-"
        else:
            error = "" if line.standard_error is None else f" ± {line.standard_error:.4f}"
            right = f"{line.accuracy:.4f}{error}"
        return line.name, right, "-" if line.undecided is None else f"{line.undecided:g}", line.needs

    def plot(self) -> Figure:
        """The accuracies as bars, the talks in blue; without truth, how firmly inputs are held."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        draw_report(self, figure.subplots())
        return figure


_IN_JSON: Final = (
    "participants", "inputs", "classes", "byzantine", "faulty", "protocol", "repeats", "agreement", "settled",
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
