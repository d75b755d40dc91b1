"""The report of a moot that agrees on numbers: errors of consensus, participants and centralised rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.comparison.bars import draw_bars
from folkmoot.comparison.printing import Table, size, who_is_not_honest
from folkmoot.comparison.report import CONSENSUS
from folkmoot.comparison.rules import NEEDS
from folkmoot.simulation import Agreement

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class NumberLine:
    """One way to answer: root mean squared error and share of the variance explained."""

    name: str
    error: float | None
    r2: float | None
    needs: str = ""


@dataclass(frozen=True)
class NumberReport(Table[NumberLine]):
    """What ``ConsensusRegressor.report(X, y)`` found. Print it, ``plot()`` it, or take ``to_dict()``."""

    header: ClassVar = ("who decides", "error", "R2", "needs")

    lines: tuple[NumberLine, ...]
    participants: int
    inputs: int
    outputs: int
    byzantine: tuple[str, ...]  # names
    faulty: dict[str, str]  # name and what went wrong
    rule: str
    settled: float  # share of inputs on which the honest numbers came close enough
    spread: float  # the mean of what is left between them
    rounds: float  # mean
    queries: int  # requests to single peers: one carries all inputs
    bytes: int  # of numbers in the answers to them

    def error(self, name: str = CONSENSUS) -> float | None:
        """The root mean squared error of a line by its name."""
        return self.line(name).error

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return asdict(self)

    @property
    def title(self) -> str:
        """Who talked about what."""
        outputs = f" of {self.outputs} numbers" if self.outputs > 1 else ""
        return f"{self.participants} participants, {self.inputs:,} inputs{outputs}; {self.rule}"

    @property
    def notes(self) -> list[str]:
        """What else is to be known: cost, liars, faulty participants."""
        cost = (
            f"settled {self.settled:.3f}, {self.rounds:.1f} rounds, {self.queries:,} queries, "
            f"{size(self.bytes)} of numbers on the wire"
        )
        return [cost, *who_is_not_honest(self.byzantine, self.faulty)]

    def _cells(self, line: NumberLine) -> tuple[str, ...]:
        error = "-" if line.error is None else f"{line.error:.4g}"
        return line.name, error, "-" if line.r2 is None else f"{line.r2:.4f}", line.needs

    def plot(self) -> Figure:
        """The errors as bars, the consensus in blue; a logarithmic scale where one dwarfs the others."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        axes = figure.subplots()
        errors = {line.name: line.error for line in self.lines if line.error is not None}
        draw_bars(axes, errors, label="root mean squared error", talks=[CONSENSUS], digits=".3g")
        each = list(errors.values())
        if min(each) > 0 and max(each) > 20 * float(np.median(each)):
            axes.set_xscale("log")
        axes.margins(x=0.15)
        return figure


def compare_numbers(
    agreement: Agreement,
    values: Floats,
    sent: Floats,
    truth: Floats,
    *,
    rule: str,
    faulty: dict[str, str],
    byzantine: Sequence[str],
    stacking: bool,
    seed: int,
) -> NumberReport:
    """A report from an agreement, everybody's first numbers, and those that a centre would be sent."""
    honest = values[agreement.honest]
    each = [_error(numbers, truth) for numbers in honest]
    lines = [
        NumberLine("mean participant", float(np.mean(each)), None),
        _line("best participant", honest[int(np.argmin(each))], truth, NEEDS["best participant"]),
        _line("mean", np.nanmean(sent, axis=0), truth, "a server"),
        _line("median", np.nanmedian(sent, axis=0), truth, "a server"),
    ]
    if stacking:
        from folkmoot.comparison.stacking import stacked_numbers  # scikit-learn, for those who want it

        numbers = stacked_numbers(sent, truth, seed)
        needs = NEEDS["stacking"]
        lines.append(
            NumberLine("stacking", None, None, needs)
            if numbers is None
            else _line("stacking", numbers, truth, needs)
        )
    lines.append(_line(CONSENSUS, agreement.decision, truth, ""))
    return NumberReport(
        lines=tuple(lines),
        participants=len(values) + len(faulty),
        inputs=values.shape[1],
        outputs=values.shape[2],
        byzantine=tuple(byzantine),
        faulty=faulty,
        rule=rule,
        settled=float(agreement.settled.mean()),
        spread=float(agreement.spread.mean()),
        rounds=float(agreement.rounds.mean()),
        queries=agreement.queries,
        bytes=agreement.queries * values.shape[1] * values.shape[2] * 8,
    )


def _line(name: str, numbers: Floats, truth: Floats, needs: str) -> NumberLine:
    around = float(((truth - truth.mean(axis=0)) ** 2).sum())
    left = float(((truth - numbers) ** 2).sum())
    return NumberLine(name, _error(numbers, truth), None if around == 0 else 1 - left / around, needs)


def _error(numbers: Floats, truth: Floats) -> float:
    return float(np.sqrt(((truth - numbers) ** 2).mean()))
