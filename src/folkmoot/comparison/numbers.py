"""The report of a moot that agrees on numbers: errors of consensus, participants and centralised rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from folkmoot.arrays import Array, Floats
from folkmoot.comparing.bars import draw_bars
from folkmoot.comparing.printing import ReportTable, size, who_is_not_honest
from folkmoot.comparison.report import CONSENSUS
from folkmoot.comparison.rules import NEEDS
from folkmoot.comparison.who.number_joining import NumberJoining, compare_numbers_alone
from folkmoot.comparison.who.number_table import Measured, NumberTable, describe_numbers
from folkmoot.pictures.canvas import canvas
from folkmoot.simulation import Agreement

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class NumberLine:
    """One way to answer with numbers, and how well it does: a line of a ``NumberReport``.

    Parameters
    ----------
    name : str
        Who decides, such as "median" or "consensus".
    error : float or None
        The root mean squared error; None where the rule could not be tried.
    r2 : float or None
        The share of the variance of the truth that is explained, at most 1; None where it is not known.
    needs : str, default ""
        What it needs that a consensus does without, such as "a server".

    Examples
    --------
    >>> from folkmoot.comparison import NumberLine
    >>> NumberLine("median", error=0.5, r2=0.9, needs="a server")
    NumberLine(name='median', error=0.5, r2=0.9, needs='a server')
    """

    name: str
    error: float | None
    r2: float | None
    needs: str = ""


@dataclass(frozen=True)
class NumberReport(ReportTable[NumberLine]):
    """What ``ConsensusRegressor.report(X, y)`` found: print it, ``plot()`` it, or take ``to_dict()``.

    Parameters
    ----------
    lines : tuple of NumberLine
        The ways to answer: single participants, rules of a centre, the talk.
    n_participants : int
        The number of participants.
    inputs : int
        The number of inputs.
    outputs : int
        How many numbers are predicted for an input.
    byzantine : tuple of str
        The names of the Byzantine participants.
    faulty : dict of str to str
        The names of participants that could not answer, and what went wrong.
    rule : str
        The rule of aggregation, such as "trimmed-mean".
    settled : float
        The share of inputs on which the honest numbers came close enough.
    spread : float
        How far apart the honest numbers are at the end, on average.
    rounds : float
        The rounds played on an input, on average.
    queries : int
        The requests to single peers; each carries all inputs.
    bytes : int
        The size of the numbers in the answers to them.
    participant_table : NumberTable
        A row for each participant: how far off it is, and what is odd about it; to print or to write.
    joining : NumberJoining, optional
        Each group alone and together on its own rows, if it was asked for with ``groups``.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot import ConsensusRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> y = X @ [1.0, 2.0] + np.random.default_rng(1).normal(size=80)
    >>> moot = ConsensusRegressor([LinearRegression()] * 4, random_state=0).fit(X[:40], y[:40])
    >>> report = moot.report(X[40:], y[40:], stacking=False)
    >>> round(report.error("mean participant"), 2), round(report.error("consensus"), 2)
    (0.99, 0.83)
    """

    header: ClassVar = ("who decides", "error", "R2", "needs")

    lines: tuple[NumberLine, ...]
    n_participants: int
    inputs: int
    outputs: int
    byzantine: tuple[str, ...]
    faulty: dict[str, str]
    rule: str
    settled: float
    spread: float
    rounds: float
    queries: int
    bytes: int
    participant_table: NumberTable = field(default=NumberTable(()), compare=False, repr=False)
    joining: NumberJoining | None = field(default=None, compare=False, repr=False)

    @property
    def participants(self) -> Any:
        """The rows of ``participant_table`` as a pandas ``DataFrame``; as a structured array without pandas.

        ``n_participants`` is their number.
        """
        return self.participant_table.frame()

    def error(self, name: str = CONSENSUS) -> float | None:
        """The root mean squared error of a line by its name."""
        return self.line(name).error

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON; ``participants`` is their number."""
        plain = asdict(self)
        count = plain.pop("n_participants")
        return plain | {
            "participants": count,
            "participant_table": self.participant_table.to_list(),
            "joining": None if self.joining is None else self.joining.to_list(),
        }

    @property
    def title(self) -> str:
        """Who talked about what."""
        outputs = f" of {self.outputs} numbers" if self.outputs > 1 else ""
        return f"{self.n_participants} participants, {self.inputs:,} inputs{outputs}; {self.rule}"

    @property
    def notes(self) -> list[str]:
        """What else is to be known: cost, liars, faulty participants."""
        cost = (
            f"settled {self.settled:.3f}, {self.rounds:.1f} rounds, {self.queries:,} queries, "
            f"{size(self.bytes)} of numbers on the wire"
        )
        odd = self.participant_table.about([*self.byzantine, *self.faulty])
        joining = [] if self.joining is None else [self.joining.summary]
        return [cost, *who_is_not_honest(self.byzantine, self.faulty), *odd, *joining]

    def _cells(self, line: NumberLine) -> tuple[str, ...]:
        error = "-" if line.error is None else f"{line.error:.4g}"
        return line.name, error, "-" if line.r2 is None else f"{line.r2:.4f}", line.needs

    def plot(self, ax: Any = None) -> Figure:
        """The errors as bars, the consensus in blue, in ``ax`` if given; on a log scale where one is huge."""
        figure, axes = canvas(ax, (6.4, 3.2))
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
    names: Sequence[str] | None = None,
    people: Sequence[Measured] | None = None,
    groups: Sequence[Any] | Array | None = None,
) -> NumberReport:
    """Put what a moot agreed on beside its participants' own numbers and what a centre would answer.

    Parameters
    ----------
    agreement : Agreement
        What the talk came to, on ``values``.
    values : ndarray of float, shape (participant, input, output)
        Everybody's first numbers, of those who could answer.
    sent : ndarray of float, shape (participant, input, output)
        The numbers that a centre is sent: those of the honest, and what adversaries hand in; nan for none.
    truth : ndarray of float, shape (input, output)
        The right numbers.
    rule : str
        The name of the rule by which they talked, for the report.
    faulty : dict of str to str
        The names of participants that could not answer, and what went wrong.
    byzantine : sequence of str
        The names of the Byzantine participants.
    stacking : bool
        Whether to add what a server could learn from the truth of these inputs, five-fold.
    seed : int
        Seeds the folds of stacking.
    names : sequence of str, optional
        The names of those who could answer. Default: "participant 0" and so on.
    people : sequence, optional
        What is known of the model of each of them: ``rows``, ``held_out``, ``squared_error``.
    groups : sequence, shape (input,), optional
        Whose each input is, by name: each is then compared with itself, alone and together.

    Returns
    -------
    NumberReport
        A line for each way to answer, and what the talk cost.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot import agree
    >>> from folkmoot.aggregation import Median
    >>> from folkmoot.comparison import compare_numbers
    >>> values = np.array([[[1.0], [2.0]], [[1.2], [2.1]], [[0.8], [2.6]]])
    >>> report = compare_numbers(agree(values, Median()), values, values, np.array([[1.0], [2.0]]),
    ...     rule="median", faulty={}, byzantine=[], stacking=False, seed=0)
    >>> print(*(f"{line.name}: {line.error:.2f}" for line in report.lines), sep="; ")
    mean participant: 0.20; best participant: 0.00; mean: 0.16; median: 0.07; consensus: 0.07
    """
    honest = values[agreement.honest]
    each = [_error(numbers, truth) for numbers in honest]
    lines = [
        NumberLine("mean participant", float(np.mean(each)), None),
        _line("best participant", honest[int(np.argmin(each))], truth, NEEDS["best participant"]),
        _line("mean", np.nanmean(sent, axis=0), truth, "a server"),
        _line("median", np.nanmedian(sent, axis=0), truth, "a server"),
    ]
    if stacking:
        from folkmoot.comparing.stacking import stacked_numbers  # scikit-learn, for those who want it

        numbers = stacked_numbers(sent, truth, seed)
        needs = NEEDS["stacking"]
        lines.append(
            NumberLine("stacking", None, None, needs)
            if numbers is None
            else _line("stacking", numbers, truth, needs)
        )
    lines.append(_line(CONSENSUS, agreement.decision, truth, ""))
    agreed = agreement.decision.reshape(truth.shape)
    called = [f"participant {i}" for i in range(len(values))] if names is None else names
    return NumberReport(
        lines=tuple(lines),
        n_participants=len(values) + len(faulty),
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
        participant_table=describe_numbers(
            sent, agreed, truth, names=called, people=people, byzantine=byzantine, faulty=faulty
        ),
        joining=None if groups is None else compare_numbers_alone(values, agreed, truth, groups, called),
    )


def _line(name: str, numbers: Floats, truth: Floats, needs: str) -> NumberLine:
    around = float(((truth - truth.mean(axis=0)) ** 2).sum())
    left = float(((truth - numbers) ** 2).sum())
    return NumberLine(name, _error(numbers, truth), None if around == 0 else 1 - left / around, needs)


def _error(numbers: Floats, truth: Floats) -> float:
    return float(np.sqrt(((truth - numbers) ** 2).mean()))
