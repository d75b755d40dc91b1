"""The report of a moot: consensus beside single participants and every centralised rule, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.baselines import centralised
from folkmoot.comparison.printing import CONSENSUS, WITHOUT_TRUST, as_html, as_text, size, who_is_not_honest
from folkmoot.comparison.stacking import stacked
from folkmoot.outcome import Outcome, share_right
from folkmoot.protocols import SnowProtocol
from folkmoot.sampling import Everyone, Neighbours, Others, Sampling, Trusting
from folkmoot.votes import UNCOLOURED, Votes, packed_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEADER = ("who decides", "accuracy", "undecided", "needs")
# What each rule needs that a moot does without.
NEEDS = {
    "best participant": "the truth, to know who it is",
    "majority": "a server",
    "supermajority": "a server",
    "weighted majority": "a server that is told accuracies",
    "Dawid-Skene": "a server",
    "stacking": "a server with labelled inputs",
}

# How the sampling law is said.
_LAWS: Final[dict[type, str]] = {
    Others: "",
    Everyone: ", asking themselves too",
    Neighbours: ", on a graph",
    Trusting: ", by trust",
}


@dataclass(frozen=True)
class Line:
    """One way to answer: accuracy is None where it could not be tried; undecided only for rules."""

    name: str
    accuracy: float | None
    standard_error: float | None = None
    undecided: float | None = None
    needs: str = ""


@dataclass(frozen=True)
class Report:
    """What ``report(X, y)`` found. Print it, ``plot()`` it, or take ``to_dict()``."""

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
    anchored: int | None = (
        None  # honest participants with a trust of their own; they alone talk. None: no trust
    )

    def accuracy(self, name: str = CONSENSUS) -> float | None:
        """The accuracy of a line by its name."""
        found = next((line for line in self.lines if line.name == name), None)
        if found is None:
            raise ValueError(
                f"name must be one of {', '.join(line.name for line in self.lines)}: got {name!r}"
            )
        return found.accuracy

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return asdict(self) | {"lines": [asdict(line) for line in self.lines]}

    def __str__(self) -> str:
        return as_text(self.title, _HEADER, [_cells(line) for line in self.lines], self.notes)

    @property
    def title(self) -> str:
        """Who talked about what."""
        what = f"{self.participants} participants, {self.inputs:,} inputs, {self.classes} classes"
        return f"{what}; {self.protocol}"

    @property
    def notes(self) -> list[str]:
        """What else is to be known: cost, liars, faulty participants."""
        lines = [
            f"agreement {self.agreement:.3f}, settled {self.settled:.3f}, {self.rounds:.1f} rounds a "
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
        if self.undecided or any(line.undecided for line in self.lines):
            lines.append("undecided inputs count as wrong here; predict gives the most common label instead")
        return lines + who_is_not_honest(self.byzantine, self.faulty)

    def _repr_html_(self) -> str:
        return as_html(self.title, _HEADER, [_cells(line) for line in self.lines], self.notes)

    def plot(self) -> Figure:
        """The accuracies as bars, the consensus in blue."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        draw_bars(self, figure.subplots())
        return figure


def draw_bars(report: Report, axes: Any) -> None:
    """The accuracies of a report as horizontal bars."""
    shown = [line for line in report.lines if line.accuracy is not None]
    values = [line.accuracy for line in shown]
    bars = axes.barh(
        [line.name for line in shown],
        values,
        color=["#1f5fa8" if line.name == CONSENSUS else "#9aa5b1" for line in shown],
        xerr=[line.standard_error or 0.0 for line in shown],
    )
    axes.bar_label(bars, labels=[f"{value:.3f}" for value in values], padding=3)
    axes.set_xlim(0, 1.12)
    axes.invert_yaxis()
    axes.set_xlabel("accuracy")
    axes.spines[["top", "right"]].set_visible(False)


def compare(
    outcome: Outcome,
    votes: Votes,
    truth: Votes,
    *,
    protocol: SnowProtocol[Any],
    sampling: Sampling | None = None,
    skills: Floats | None,
    faulty: dict[str, str],
    byzantine: Sequence[str],
    stacking: bool,
    seed: int,
    plain: Outcome,
    anchored: int | None = None,
) -> Report:
    """A report from an outcome and the votes that were handed in (which the centralised rules see).

    ``plain`` is the outcome without trust; the same if there is none.
    """
    classes = outcome.classes
    lines = [
        Line(verdict.name, verdict.accuracy, None, verdict.undecided, NEEDS.get(verdict.name, ""))
        for verdict in centralised(votes, classes, truth, plain.honest, skills)
    ]
    if skills is None:  # nobody knows how good it is
        lines = [
            replace(line, accuracy=None, undecided=None) if line.name == "weighted majority" else line
            for line in lines
        ]
    if stacking:
        labels = stacked(votes, truth, classes, seed)
        right = None if labels is None else float(share_right(labels, truth))
        open_ = None if labels is None else int((labels == UNCOLOURED).sum())
        lines.append(Line("stacking", right, None, open_, NEEDS["stacking"]))
    if plain is not outcome:
        lines.append(_talked(WITHOUT_TRUST, plain, truth))
    lines.append(_talked(CONSENSUS, outcome, truth))
    repeats = len(np.atleast_2d(outcome.decision))
    # A real query carries the votes on all inputs, so a batch asks until its longest talk is over.
    longest = float(np.mean(outcome.rounds.max(axis=-1)))
    queries = round(longest * int(outcome.honest.sum()) * protocol.k)
    return Report(
        lines=tuple(lines),
        participants=len(votes),
        inputs=votes.shape[1],
        classes=classes,
        byzantine=tuple(byzantine),
        faulty=faulty,
        protocol=describe(protocol, sampling) + (", self-anchored trust" if anchored else ""),
        repeats=repeats,
        agreement=float(outcome.agreement.mean()),
        settled=float(outcome.settled.mean()),
        undecided=outcome.undecided / repeats,
        rounds=float(outcome.rounds.mean()),
        queries=queries,
        bytes=queries * packed_bytes(votes.shape[1], classes),
        anchored=anchored,
    )


def _talked(name: str, outcome: Outcome, truth: Votes) -> Line:
    """What talks came to, with the standard error over repetitions."""
    accuracies = np.atleast_1d(outcome.accuracy(truth))
    repeats = len(accuracies)
    error = float(accuracies.std(ddof=1) / np.sqrt(repeats)) if repeats > 1 else None
    return Line(name, float(accuracies.mean()), error, outcome.undecided / repeats)


def describe(protocol: SnowProtocol[Any], sampling: Sampling | None = None) -> str:
    """A protocol in a few words: Slush, k=10, alpha=6."""
    alpha = f"alpha={protocol.alpha}" if isinstance(protocol.alpha, int) else "local alpha"
    beta = f", beta={protocol.beta}" if hasattr(protocol, "beta") else ""
    weighted = ", weighted" if protocol.weights is not None else ""
    law = "" if sampling is None else _LAWS[type(sampling)]
    return f"{type(protocol).__name__}, k={protocol.k}, {alpha}{beta}{weighted}{law}"


def _cells(line: Line) -> tuple[str, str, str, str]:
    if line.accuracy is None:
        right = "-"
    else:
        error = "" if line.standard_error is None else f" ± {line.standard_error:.4f}"
        right = f"{line.accuracy:.4f}{error}"
    return line.name, right, "-" if line.undecided is None else f"{line.undecided:g}", line.needs
