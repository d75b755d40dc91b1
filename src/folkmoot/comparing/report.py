"""``Report``: an answer beside single participants and every rule that sees all votes; to print and draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np

from folkmoot.aggregation import Pool
from folkmoot.arrays import Array, Floats
from folkmoot.comparing.certainty import Certainty
from folkmoot.comparing.independence import Independence
from folkmoot.comparing.joining import Joining
from folkmoot.comparing.metric import Metric
from folkmoot.comparing.participants import ParticipantTable
from folkmoot.comparing.printing import PlainTable, Printed, plus_minus
from folkmoot.outcome import Outcome
from folkmoot.pictures.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE: Final = "#1f5fa8"
_PALE: Final = "#9aa5b1"
CONSENSUS: Final = "consensus"  # the name of the line of what the participants agree on
_TITLES: Final = {"balanced_accuracy": "balanced", "r2": "R2"}
_LESS: Final = 0.005  # accuracy that a pool may lose beside the labels before a report says so
_APART: Final = 0.1  # a balanced accuracy that is further below the accuracy tells another story


@dataclass(frozen=True)
class Line:
    """One way to answer, and how well it does.

    Parameters
    ----------
    name : str
        The rule, such as "majority" or "consensus".
    score : float or None
        The accuracy, or of numbers the error, over all inputs whose truth is known. No answer is not right;
        tied classes share. None where no truth is known.
    standard_error : float or None
        Its standard error over the inputs.
    coverage : float or None
        The share of the inputs that is answered; a tie is no answer.
    ties : float, default 0
        On how many inputs several classes are tied.
    scores : mapping of str to float
        Further scores, such as "balanced_accuracy" or "r2".
    note : str, default ""
        A remark, such as what it needs.
    answers : ndarray, shape ([repetition, ]input[, output]), optional
        The answers: classes, -1 for none; or numbers, NaN for none.

    Examples
    --------
    >>> from folkmoot import compare
    >>> report = compare([[0, 1], [0, 1], [0, 0]], truth=[0, 0])
    >>> report.line("majority").score, report.line("majority").answers
    (0.5, array([0, 1]))
    """

    name: str
    score: float | None
    standard_error: float | None = None
    coverage: float | None = None
    ties: float = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    answers: Array | None = field(default=None, compare=False, repr=False)

    def to_dict(self, metric: Metric) -> dict[str, Any]:
        """Plain numbers and strings, for JSON; the score has the name of the metric."""
        return {
            "name": self.name, metric.name: self.score, "standard_error": self.standard_error,
            "coverage": self.coverage, "ties": self.ties, "scores": dict(self.scores), "note": self.note,
        }  # fmt: skip


@dataclass(frozen=True)
class Report(Printed):
    """The consensus beside other rules on the same votes.

    ``print`` it, show it in a notebook, ``plot()`` it, or take ``to_dict()``.

    Parameters
    ----------
    metric : Metric
        The metric of the lines: accuracy or error.
    lines : tuple of Line
        The ways to answer: single participants, rules that see all votes, the consensus.
    participants : ParticipantTable
        A row for each participant.
    independence : Independence
        The number of independent votes.
    inputs : int
        The number of inputs.
    scored : int
        Inputs with a known truth that were not given as known.
    classes : int
        The number of classes; 0 for numbers.
    protocol : str
        The protocol in words.
    agreement : float or None
        The share of the votes that the answer has, on average; of numbers None.
    rounds : float
        By Slush, Snowflake and Snowball the rounds per participant; 0 in a council.
    queries : float
        The questions that were asked; 0 in a council.
    converged : float
        The share of inputs on which all honest participants hold the same in the end.
    fell_back : mapping of str to str
        With an own aggregation participants that fell back to the plurality, and why.
    told : str, default ""
        How ``Auto`` chose the aggregation, and for whom it is better not to join.
    faulty : mapping of str to str
        Participants that could not answer, and why.
    filled : str, default ""
        The treatment of ties, if they were answered.
    outcomes : mapping of str to Outcome
        Outcomes by the name of their line.
    labels : sequence, optional
        Names of the classes.
    certainty : Certainty, optional
        Class probabilities, where the truth is known.
    joining : Joining, optional
        Each group alone and together on its own inputs.

    Examples
    --------
    >>> from folkmoot import compare
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(15, p=0.7, inputs=200)
    >>> print(compare(votes, truth=truth))
    15 participants, 200 inputs, 2 classes; Council, Plurality
    <BLANKLINE>
    who answers              accuracy  coverage  balanced  ties  note
    ---------------------------------------------------------------------------------------------------
    mean participant  0.7043 ± 0.0080     1.000    0.7043     -
    best participant  0.7650 ± 0.0301     1.000    0.7650     -  participant 8: known by the truth only
    majority          0.9600 ± 0.0139     1.000    0.9600     0
    Dawid-Skene       0.9650 ± 0.0130     1.000    0.9650     0  aggregation=DawidSkene()
    consensus         0.9600 ± 0.0139     1.000    0.9600     0
    <BLANKLINE>
    15 participants, worth about 15.0 independent votes
    """

    metric: Metric
    lines: tuple[Line, ...]
    participants: ParticipantTable
    independence: Independence
    inputs: int
    scored: int
    classes: int
    protocol: str
    agreement: float | None
    rounds: float = 0.0
    queries: float = 0.0
    converged: float = 1.0
    fell_back: Mapping[str, str] = field(default_factory=dict)
    told: str = ""
    faulty: Mapping[str, str] = field(default_factory=dict)
    filled: str = ""
    outcomes: Mapping[str, Outcome] = field(default_factory=dict, compare=False, repr=False)
    labels: Any = field(default=None, compare=False, repr=False)
    certainty: Certainty | None = field(default=None, compare=False, repr=False)
    joining: Joining | None = field(default=None, compare=False, repr=False)

    header: ClassVar = "who answers"

    @property
    def n_participants(self) -> int:
        """The number of participants."""
        return len(self.participants.rows)

    @property
    def malicious(self) -> tuple[str, ...]:
        """The names of those who lie."""
        return tuple(row.name for row in self.participants.rows if row.role == "malicious")

    @property
    def outcome(self) -> Outcome:
        """The outcome of the consensus."""
        return next(iter(self.outcomes.values()))

    @property
    def main(self) -> Line:
        """The line of the consensus."""
        return self.line(next(iter(self.outcomes), CONSENSUS))

    def line(self, name: str) -> Line:
        """Look up a line.

        Parameters
        ----------
        name : str
            Its name, such as "majority".

        Returns
        -------
        Line
            The line.

        Raises
        ------
        ValueError
            If there is none of this name; the message says which there are.
        """
        found = next((line for line in self.lines if line.name == name), None)
        if found is None:
            names = ", ".join(line.name for line in self.lines)
            raise ValueError(f"name must be one of {names}: got {name!r}")
        return found

    def score(self, name: str | None = None) -> float | None:
        """Look up the score of a line.

        Parameters
        ----------
        name : str, optional
            The name of the line. Default: that of the consensus.

        Returns
        -------
        float or None
            The accuracy or error; None where no truth is known.
        """
        return (self.main if name is None else self.line(name)).score

    def to_dict(self) -> dict[str, Any]:
        """Make plain numbers and strings of the report, for JSON.

        Returns
        -------
        dict
            The lines, the participants and all figures, without arrays and outcomes.
        """
        independent = self.independence
        return {
            "metric": self.metric.name,
            "participants": self.n_participants,
            "inputs": self.inputs,
            "scored": self.scored,
            "classes": self.classes,
            "protocol": self.protocol,
            "lines": [line.to_dict(self.metric) for line in self.lines],
            "agreement": self.agreement,
            "rounds": self.rounds,
            "queries": self.queries,
            "converged": self.converged,
            "effective_votes": independent.votes,
            "effective_votes_by_truth": independent.truth_known,
            "correlation": independent.correlation,
            "correlated_groups": [list(group) for group in independent.groups],
            "malicious": list(self.malicious),
            "faulty": dict(self.faulty),
            "fell_back": dict(self.fell_back),
            "told": self.told,
            "participant_table": self.participants.to_list(),
            "joining": None if self.joining is None else self.joining.to_list(),
        }

    # ---- for people --------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The votes, the protocol and the aggregation in words."""
        what = f", {self.classes} classes" if self.classes else ""
        return f"{self.n_participants} participants, {self.inputs:,} inputs{what}; {self.protocol}"

    @property
    def notes(self) -> list[str]:
        """Further notes."""
        return [*self.independence.in_words(), *self._about_answers(), *self._about_participants()]

    def _about_answers(self) -> list[str]:
        lines = []
        if self.scored and any(line.coverage is not None and line.coverage < 1 for line in self.lines):
            how = "is not right" if self.metric.higher_is_better else "counts as the mean of the truth"
            lines.append(f"{self.metric.name} is over all {self.scored:,} scored inputs: no answer {how}")
        ties = self.main.ties
        if ties:
            then = self.filled or "left undecided; they count as the share of right classes among the tied"
            lines.append(f"{self.main.name}: {ties:g} ties, {then}")
        labels = next((line.score for line in self.lines if line.name == "majority"), None)
        pooled = isinstance(getattr(self.outcome, "aggregation", None), Pool)
        score = self.main.score
        if pooled and labels is not None and score is not None and labels - score >= _LESS:
            lines.append(
                f"{self.main.name}: a majority of the labels is right on {labels:.3f}, more often than these "
                "pooled probabilities"
            )
        if self.agreement is not None and self.main.score is None:
            lines.append(f"agreement {self.agreement:.3f}; it says nothing about who is right")
        if self.queries:
            lines.append(
                f"agreement {self.agreement:.3f}, converged on {self.converged:.3f} of the inputs, "
                f"{self.rounds:.1f} rounds per participant, {self.queries:,.0f} queries"
            )
        balanced = self.main.scores.get("balanced_accuracy")
        if balanced is not None and self.main.score is not None and self.main.score - balanced >= _APART:
            lines.append(
                f"accuracy {self.main.score:.3f} but balanced accuracy {balanced:.3f}: some classes are "
                "answered much worse than others"
            )
        return lines

    def _about_participants(self) -> list[str]:
        lines = [f"faulty: {name}: {why}" for name, why in self.faulty.items()]
        if self.malicious:
            many = len(self.malicious)
            who = "1 participant is" if many == 1 else f"{many} participants are"
            lines.append(f"{who} malicious; mean and best are of the honest ones")
        if self.told:
            lines.append(self.told)
        if self.fell_back:
            name, why = next(iter(self.fell_back.items()))
            honest = self.n_participants - len(self.malicious) - len(self.faulty)
            lines.append(f"{len(self.fell_back)} of {honest} took the plurality instead: {name}: {why}")
        grouped = {name for group in self.independence.groups for name in group}
        odd = {
            row.name: row.finding
            for row in self.participants.rows
            if row.finding
            and row.role == "honest"
            and not (row.name in grouped and "same wrong" in row.finding)
        }
        if odd:
            some = "; ".join(f"{name}: {what}" for name, what in [*odd.items()][:3])
            more = f"; and {len(odd) - 3} more" if len(odd) > 3 else ""
            lines.append(f"odd: {some}{more} (participants)")
        return [*lines, *([] if self.joining is None else [self.joining.summary])]

    @property
    def columns(self) -> tuple[str, ...]:
        """The title above the lines."""
        scored = (self.metric.name,) if self.scored else ()
        ties = ("ties",) if self.metric.higher_is_better else ()
        return (self.header, *scored, "coverage", *(_TITLES.get(s, s) for s in self._further), *ties, "note")

    @property
    def _further(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for line in self.lines for name in line.scores))

    def cells(self, line: Line) -> tuple[str, ...]:
        """Print the cells of a line.

        Parameters
        ----------
        line : Line
            The line.

        Returns
        -------
        tuple of str
            A cell for each of ``columns``.
        """
        scored = () if not self.scored else (self._scored(line),)
        cover = "-" if line.coverage is None else f"{line.coverage:.3f}"
        each = (line.scores.get(name) for name in self._further)
        further = ["-" if score is None else f"{score:.4f}" for score in each]
        single = line.name.endswith("participant")
        ties = () if not self.metric.higher_is_better else ("-" if single else f"{line.ties:g}",)
        return (line.name, *scored, cover, *further, *ties, line.note)

    def _scored(self, line: Line) -> str:
        if line.score is None:
            return "-"
        if self.metric.higher_is_better or line.standard_error is None:
            return self.metric.show(line.score) + plus_minus(line.standard_error)
        return f"{self.metric.show(line.score)} ± {line.standard_error:.2g}"

    def _as_table(self) -> PlainTable:
        return self.title, self.columns, [self.cells(line) for line in self.lines], self.notes

    # ---- pictures ----------------------------------------------------------------------------

    def plot(self, ax: Any = None) -> Figure:
        """Draw the scores as bars, the consensus in blue.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw in. Default: a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The bars; without truth, how many inputs have which share of the votes for their answer.
        """
        figure, axes = canvas(ax, (6.4, 3.6))
        axes.spines[["top", "right"]].set_visible(False)
        scored = [line for line in self.lines if line.score is not None]
        if not scored:
            axes.hist(self.outcome.agreement.ravel(), bins=np.linspace(0, 1, 21), color=_BLUE)
            axes.set(xlabel="share of honest participants that agree", ylabel="inputs")
            return figure
        higher, values = self.metric.higher_is_better, [line.score or 0.0 for line in scored]
        bars = axes.barh(
            [line.name for line in scored],
            values,
            color=[_BLUE if line.name in self.outcomes else _PALE for line in scored],
            xerr=[line.standard_error or 0.0 for line in scored],
        )
        digits = ".3f" if higher else ".3g"
        axes.bar_label(bars, labels=[f"{value:{digits}}" for value in values], padding=3)
        axes.invert_yaxis()
        axes.set_xlabel(self.metric.name if higher else "root mean squared error")
        if higher:
            axes.set_xlim(0, 1.12)
            return figure
        each = sorted(values)
        if each[0] > 0 and each[-1] > 20 * each[len(each) // 2]:
            axes.set_xscale("log")
        axes.margins(x=0.15)
        return figure

    def plot_confusion(
        self, ax: Any = None, *, normalize: Literal["true", "pred", "all"] | None = None
    ) -> Figure:
        """Draw which classes are taken for which, with scikit-learn's ``ConfusionMatrixDisplay``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw in. Default: a new figure.
        normalize : {"true", "pred", "all"}, optional
            Shares of each row, of each column or of all, as in scikit-learn. Default: counts.

        Returns
        -------
        matplotlib.figure.Figure
            The matrix of the answers.

        Raises
        ------
        ValueError
            If the answers are numbers, or no truth is known.
        """
        return self._sure("a confusion matrix").draw_confusion(ax, normalize=normalize)

    def plot_reliability(self, ax: Any = None, *, n_bins: int = 10) -> Figure:
        """Draw how often answers of a probability are right, with scikit-learn's ``CalibrationDisplay``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw in. Default: a new figure.
        n_bins : int, default 10
            Into how many bins probabilities are put.

        Returns
        -------
        matplotlib.figure.Figure
            With two classes, how often the second is right by its probability; with more, the answer.

        Raises
        ------
        ValueError
            If the answers are numbers, or no truth is known.
        """
        return self._sure("a reliability plot").draw_reliability(ax, n_bins=n_bins)

    def plot_coverage(self, ax: Any = None) -> Figure:
        """Draw what abstaining buys: the accuracy of the surest answers, by how many they are.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw in. Default: a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The curve of ``certainty.curve()``.

        Raises
        ------
        ValueError
            If the answers are numbers, or no truth is known.
        """
        return self._sure("an accuracy-coverage curve").draw_coverage(ax)

    def _sure(self, what: str) -> Certainty:
        if self.certainty is None:
            raise ValueError(f"{what} needs classes, and their truth: compare(votes, truth=...)")
        return self.certainty


def mean_agreement(agreement: Floats) -> float:
    """The mean over inputs (and repetitions)."""
    return float(agreement.mean())
