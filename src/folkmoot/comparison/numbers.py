"""The report of a moot that agrees on numbers: errors of consensus, participants and centralised rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from threadpoolctl import threadpool_limits

from folkmoot.arrays import Floats
from folkmoot.comparison.printing import CONSENSUS, as_html, as_text, size, who_is_not_honest
from folkmoot.simulation import Agreement

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEADER = ("who decides", "error", "R2", "needs")


@dataclass(frozen=True)
class NumberLine:
    """One way to answer: root mean squared error and share of the variance explained."""

    name: str
    error: float | None
    r2: float | None
    needs: str = ""


@dataclass(frozen=True)
class NumberReport:
    """What ``ConsensusRegressor.report(X, y)`` found. Print it, ``plot()`` it, or take ``to_dict()``."""

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
        found = next((line for line in self.lines if line.name == name), None)
        if found is None:
            raise ValueError(
                f"name must be one of {', '.join(line.name for line in self.lines)}: got {name!r}"
            )
        return found.error

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

    def __str__(self) -> str:
        return as_text(self.title, _HEADER, [_cells(line) for line in self.lines], self.notes)

    def _repr_html_(self) -> str:
        return as_html(self.title, _HEADER, [_cells(line) for line in self.lines], self.notes)

    def plot(self) -> Figure:
        """The errors as bars, the consensus in blue; a logarithmic scale where one dwarfs the others."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        axes = figure.subplots()
        shown = [(line.name, line.error) for line in self.lines if line.error is not None]
        names, errors = [name for name, _ in shown], [error for _, error in shown]
        bars = axes.barh(names, errors, color=["#1f5fa8" if n == CONSENSUS else "#9aa5b1" for n in names])
        axes.bar_label(bars, labels=[f"{error:.3g}" for error in errors], padding=3)
        if min(errors) > 0 and max(errors) > 20 * float(np.median(errors)):
            axes.set_xscale("log")
        axes.margins(x=0.15)
        axes.invert_yaxis()
        axes.set_xlabel("root mean squared error")
        axes.spines[["top", "right"]].set_visible(False)
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
        _line("best participant", honest[int(np.argmin(each))], truth, "the truth, to know who it is"),
        _line("mean", np.nanmean(sent, axis=0), truth, "a server"),
        _line("median", np.nanmedian(sent, axis=0), truth, "a server"),
    ]
    if stacking:
        labels = _stacked(sent, truth, seed)
        needs = "a server with labelled inputs"
        lines.append(
            NumberLine("stacking", None, None, needs)
            if labels is None
            else _line("stacking", labels, truth, needs)
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


def _stacked(sent: Floats, truth: Floats, seed: int, folds: int = 5) -> Floats | None:
    """Ridge regression on everybody's numbers, out of fold; None where there are too few inputs."""
    inputs = sent.shape[1]
    if inputs < 10:
        return None
    columns = np.nan_to_num(sent.transpose(1, 0, 2).reshape(inputs, -1)).clip(-1e9, 1e9)
    parts = KFold(min(folds, inputs), shuffle=True, random_state=seed)
    with threadpool_limits(1):  # the matrices are small: threads would only wait for each other
        labels: Floats = cross_val_predict(RidgeCV(np.logspace(-3, 6, 10)), columns, truth, cv=parts)
    return labels.reshape(truth.shape)


def _line(name: str, numbers: Floats, truth: Floats, needs: str) -> NumberLine:
    around = float(((truth - truth.mean(axis=0)) ** 2).sum())
    left = float(((truth - numbers) ** 2).sum())
    return NumberLine(name, _error(numbers, truth), None if around == 0 else 1 - left / around, needs)


def _error(numbers: Floats, truth: Floats) -> float:
    return float(np.sqrt(((truth - numbers) ** 2).mean()))


def _cells(line: NumberLine) -> tuple[str, str, str, str]:
    error = "-" if line.error is None else f"{line.error:.4g}"
    return line.name, error, "-" if line.r2 is None else f"{line.r2:.4f}", line.needs
