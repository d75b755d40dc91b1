"""``ablation``: what each mechanism of the own aggregations buys, and with which attack.

On the frozen votes of ``experiments/frozen_0_2``, of the seeds that constants are chosen by (0 to 2): each
mechanism is left out alone, and the mean over honest participants' final votes stands beside that of the
whole rule. A mechanism stays if it buys more than .005 somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np

from experiments.experiment import Experiment, Finding, Plan, Result
from experiments.mechanism.frozen import Setting, index, measured, settings
from folkmoot.aggregation import (
    Rows,
    gold,
    holdout_trust,
    listening,
    numbers,
    panel,
    peer_review,
    refinement,
    workers,
)
from folkmoot.aggregation.correlated import groups
from folkmoot.aggregation.ridge import fit
from folkmoot.aggregation.workers import MODELS, Model, by_accuracy, by_habit
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.machine import one_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHOLE: Final = "the whole rule"
BUYS: Final = 0.005  # of accuracy, or of the error itself
_SMALL: Final = ("digits", "cancer", "wine", "iris", "heart", "crowd", "diabetes")
# Of eighty writers: one setting for each kind of attack, since every one takes seconds.
_LIES: Final = (
    "nobody",
    "always-wrong-48",
    "clique-48",
    "stealthy-48",
    "rows-both-48",
    "rows-clique-48",
    "rows-colluding-48",
    "rows-labels-48",
    "rows-random-labels-48",
    "rows-sparing-100-48",
    "rows-stealthy-48",
    "rows-stealthy-backed-48",
)

Patch = Callable[[], AbstractContextManager[Any]]


def _instead(where: Any, name: str, what: Any) -> Patch:
    return lambda: patch.object(where, name, what)


def _all_believed(self: panel.Panel, scores: Floats) -> Bools:  # noqa: ARG001
    return np.array([len(rows) > 1 for rows in self._rows_of])


def _nobody_believed(self: panel.Panel, scores: Floats) -> Bools:  # noqa: ARG001
    return np.zeros(len(self._rows_of), dtype=np.bool_)


def _each_its_own(named: Ints, _: float = 0) -> Ints:
    return np.arange(len(named))


def _none(*_: Any) -> None:
    return None


def _without_pull(features: Array, bases: Array, *rest: Any) -> Any:
    return fit(features, bases * 0, *rest)


def _only_copies(_: Array, copies: Ints, *__: Any) -> tuple[Ints, Floats]:
    return copies, 1 / np.bincount(copies)[copies]


def _one_side(one_hot: Array, copies: Ints, alike: Floats, score: Floats, side: Ints) -> tuple[Ints, Floats]:
    return groups(one_hot, copies, alike, score, np.zeros_like(side))


def _without_model(model: Model) -> Patch:
    return _instead(gold, "MODELS", tuple(each for each in MODELS if each is not model))


def _nobody_contradicts(own: int, shares: Floats, alike: Floats, inputs: int) -> Floats:  # noqa: ARG001
    return np.zeros(len(shares))


def _no_trim(rows: Rows, *where: Any) -> Any:
    return replace(_panel_of(rows, *where), trim=0)


_panel_of = numbers.NumberPanel.of

# By the kind of rule, then by what is left out or set otherwise.
MECHANISMS: Final[Mapping[str, Mapping[str, Patch]]] = {
    "peer review": {
        "vetting: all labels are believed": _instead(panel.Panel, "_believed", _all_believed),
        "labels of others: own rows alone": _instead(panel.Panel, "_believed", _nobody_believed),
        "sides of owners": _instead(panel, "sides", _none),
        "shift test": _instead(peer_review, "changed", _none),
        "copies share a voice": _instead(panel, "copies", _each_its_own),
        "a weight per pair of classes": _instead(panel, "_MOST", 0),
        "owners are not heard on their own rows": _instead(panel, "_FEW", 10**6),
        "the pull towards the mean vote": _instead(panel, "fit", _without_pull),
    },
    "gold": {
        "confusion by accuracy": _without_model(by_accuracy),
        "confusion by habit": _without_model(by_habit),
        "how far workers are shrunk": _instead(workers, "_STRENGTHS", (0.5, 0.5)),
        "a start by skills on gold": _instead(gold, "_SKILLS", 10**9),
        "ridge": _instead(gold, "_RIDGE_GOLD", 10**9),
        "factors of log-odds": _instead(gold, "_FACTORS", np.ones(1)),
        "copies share a voice": _instead(gold, "copies", _each_its_own),
    },
    "holdout trust": {
        "the answer of all groups: agreement alone": _instead(listening, "_REFINED_FROM", 10**9),
        "correlated groups: copies alone": _instead(refinement, "groups", _only_copies),
        "groups do not mix sides": _instead(refinement, "groups", _one_side),
        "degrees of unanimity": _instead(refinement, "_LEVELS", 1),
        "groups by the answer": _instead(refinement, "_STEPS", (20,)),
        "shrinking by two errors": _instead(refinement, "SHRINK", 0.0),
        "few inputs: all alike as well": _instead(listening, "_ALIKE", 0.0),
        "rows of other classes": _instead(holdout_trust, "unlike_rows", _none),
        "rows of another region": _instead(holdout_trust, "unlike_inputs", _none),
        "unlike rows: nobody who contradicts": _instead(listening, "own_correlation", _nobody_contradicts),
        "surely better than chance": _instead(listening, "SURE", 0.5),
    },
    "numbers": {
        "what a third can widen is cut off": _instead(numbers.NumberPanel, "of", _no_trim),
        "unlike on rows: not heard": _instead(numbers, "_UNLIKE", 1e9),
        "typical errors seen beforehand": _instead(numbers, "_PRIOR", 1e-9),
        "weights by errors": _instead(numbers, "_POWER", 0.0),
    },
}


@dataclass(frozen=True)
class Config:
    """Moots by how their names begin, and how many judges of large ones."""

    moots: tuple[str, ...] = (*_SMALL, "femnist")
    judges: int = 3


@dataclass(frozen=True)
class Bought:
    """What a mechanism buys in one kind of setting: accuracy, or a share of the error."""

    kind: str
    mechanism: str
    moot: str
    rule: str
    lie: str
    whole: float
    without: float

    @property
    def gain(self) -> float:
        """How much better the whole rule is."""
        if self.kind == "numbers":
            return self.without / self.whole - 1
        return self.whole - self.without


@dataclass(frozen=True)
class AblationResult(Result):
    """All of them."""

    bought: tuple[Bought, ...]


def kind_of(setting: Setting) -> str:
    """Which rule answers a setting."""
    if setting.votes.dtype.kind == "f" and setting.truth.dtype.kind == "f":
        return "numbers"
    if setting.rule.startswith("gold"):
        return "gold"
    return "holdout trust" if setting.rule == "trust" else "peer review"


def of_moot(moot: str, judges: int) -> list[tuple[str, str, str, str, float]]:
    """Of every setting of a moot: kind, mechanism, rule, lie, and its figure without the mechanism."""
    found = []
    large = moot.startswith("femnist")
    for setting in settings(moots=moot):
        if large and (setting.lie not in _LIES or "eps" in setting.rule):
            continue
        kind = kind_of(setting)
        fewer = setting
        if large:
            few = setting.judges[:judges]
            fewer = replace(
                setting, known=replace(setting.known, judges=few), anchored=setting.anchored[:judges]
            )
        for name, leave_out in ((WHOLE, nullcontext), *MECHANISMS[kind].items()):
            with leave_out(), one_thread():
                figures = measured(fewer)
            found.append(
                (kind, name, setting.rule, setting.lie, figures.get("error", figures.get("all", 0.0)))
            )
    return found


def cells(config: Config, seed: int) -> Plan:  # noqa: ARG001
    """A cell for each moot. The seed draws nothing: votes and their seeds are those of the files."""
    chosen = [
        name
        for name, each in index()["moots"].items()
        if each["use"] == "chosen" and name.startswith(config.moots)
    ]
    return {"moots": {name: partial(of_moot, moot=name, judges=config.judges) for name in chosen}}


def result(config: Config, found: Any) -> AblationResult:  # noqa: ARG001
    """A line for each mechanism: where it buys most, and where it costs most."""
    by: dict[tuple[str, str, str, str, str], list[float]] = {}
    for moot, rows in found["moots"].items():
        for kind, name, rule, lie, figure in rows:
            by.setdefault((kind, name, moot.rpartition("-s")[0], rule, lie), []).append(figure)
    mean = {key: float(np.mean(values)) for key, values in by.items()}
    bought = tuple(
        Bought(kind, name, moot, rule, lie, mean[kind, WHOLE, moot, rule, lie], figure)
        for (kind, name, moot, rule, lie), figure in mean.items()
        if name != WHOLE
    )
    lines = tuple(_lines(bought))
    kept = sum(bool(line.holds) for line in lines)
    verdict = f"{kept} of {len(lines)} mechanisms buy more than {BUYS} somewhere"
    notes = (
        "seeds that constants are chosen by, means over them; FEMNIST: three judges and one lie of each kind",
        "accuracy of the mean honest final vote; of numbers the share of the error",
    )
    return AblationResult(verdict, lines, notes, bought)


def _lines(bought: tuple[Bought, ...]) -> Iterator[Finding]:
    for kind, name in dict.fromkeys((each.kind, each.mechanism) for each in bought):
        some = [each for each in bought if (each.kind, each.mechanism) == (kind, name)]
        best, worst = max(some, key=lambda each: each.gain), min(some, key=lambda each: each.gain)
        costs = f"; costs {-worst.gain:.3f} ({_where(worst)})" if worst.gain < -BUYS else ""
        average = np.mean([each.gain for each in some])
        yield Finding(
            f"{kind}: {name}",
            f"goal: more than {BUYS} somewhere",
            f"buys {best.gain:.3f} ({_where(best)}), {average:+.4f} on average{costs}",
            holds=best.gain > BUYS,
        )


def _where(each: Bought) -> str:
    return f"{each.moot}, {each.rule}, {each.lie}"


def figures(found: AblationResult) -> dict[str, Figure]:
    """The most and the mean that each mechanism buys."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys((each.kind, each.mechanism) for each in found.bought))
    gains = [[each.gain for each in found.bought if (each.kind, each.mechanism) == name] for name in names]
    figure = Figure(figsize=(7.5, 0.3 * len(names) + 1), layout="constrained")
    axes = figure.subplots()
    axes.barh(range(len(names)), [max(some) for some in gains], color="#9db8d9", label="most")
    axes.plot([np.mean(some) for some in gains], range(len(names)), "k.", label="mean")
    axes.set_yticks(range(len(names)), [f"{kind}: {name}" for kind, name in names], fontsize=7)
    axes.set(xlabel="accuracy, or share of the error, lost without it")
    axes.invert_yaxis()
    axes.legend()
    return {"ablation": figure}


EXPERIMENT: Final = Experiment(
    name="ablation",
    about="what each mechanism of peer review and holdout trust buys, and with which attack",
    claim="beyond the paper: every mechanism that stands buys more than .005 somewhere",
    full=Config(),
    quick=Config(moots=("iris", "cancer-5", "heart-4-logistic-s0", "crowd-hard-s0", "diabetes-s5-ridge")),
    cells=cells,
    result=result,
    figures=figures,
)
