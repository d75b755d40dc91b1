"""``mechanism``: what folkmoot answers on the votes that 0.2 was given, beside what 0.2 answered.

A council, an aggregation and, where the aggregation is own, final votes stand beside the talks, trust and
peer review of 0.2. Nothing is fitted: ``experiments/frozen_0_2`` has the votes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.experiment import Experiment, Finding, Plan, Result
from experiments.mechanism.frozen import (
    Setting,
    as_sure,
    final_error,
    heard,
    index,
    measured,
    numbers_heard,
    settings,
    shared_right,
)
from experiments.mechanism.frozen import arrays as arrays_of
from folkmoot.aggregation import PeerReview, Plurality, Pool
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.aggregation.interface import Aggregation
from folkmoot.aggregation.naming import RULES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEAR: Final = 0.005  # of accuracy, or of the error itself, that the new may be worse
ACCURACY: Final = "accuracy"
ERROR: Final = "error"
# What is compared, by the first words of a moot's name, and how findings call it.
KINDS: Final = {
    "femnist-case": "FEMNIST, case of letters",
    "femnist-digits": "FEMNIST, digits",
    "digits-20": "digits of scikit-learn, 20 participants",
    "digits-60": "digits of scikit-learn, 60 trees",
    "cancer-5": "breast cancer, 5 hospitals",
    "cancer-12": "breast cancer, 12 trees",
    "wine-3": "wine, 3 participants",
    "iris-7": "iris, 7 participants",
    "heart-4": "heart disease, 4 hospitals",
    "crowd": "crowds with gold",
    "diabetes": "diabetes by groups",
    "numbers-10": "simulated numbers",
    "plain": "simulated votes",
}
_TALKS: Final = ("plain", "slush")
_SMALL: Final = ("digits", "cancer", "wine", "iris", "heart", "crowd", "diabetes", "numbers", "plain")


@dataclass(frozen=True)
class Config:
    """Moots by how their names begin, of the seeds that nothing was chosen by (``use``)."""

    moots: tuple[str, ...] = (*_SMALL, "femnist")
    use: str = "judge"


@dataclass(frozen=True)
class Compared:
    """One setting of 0.2, and what comes out now."""

    moot: str
    rule: str
    lie: str
    what: str  # "accuracy", or "error" (root mean squared)
    old: float
    new: float
    undecided: float = 0.0  # of 0.2, share of the inputs
    fell_back: int = 0  # judges that took the plurality
    judges: int = 0
    everybody: float | None = None  # of these judges those too that decided nothing in 0.2

    @property
    def liars(self) -> int:
        """How many lie; 0 if they lie in the talk of 0.2 alone."""
        last = self.lie.rpartition("-")[2]
        return int(last) if last.isdigit() else 60 if last.endswith("%") else 0

    @property
    def worse(self) -> float:
        """By how much the new is worse: accuracy, or a share of the error."""
        return self.old - self.new if self.what == ACCURACY else self.new / self.old - 1


@dataclass(frozen=True)
class MechanismResult(Result):
    """All settings."""

    compared: tuple[Compared, ...]


def compare_moot(moot: str) -> list[Compared]:
    """All settings of a moot that an aggregation can answer."""
    own = [each for setting in settings(moots=moot) for each in (_by_own(setting), _own_site(setting))]
    public = [each for setting in index()["settings"] if setting["moot"] == moot for each in _public(setting)]
    return [*public, *(each for each in own if each is not None)]


def _by_own(setting: Setting) -> Compared | None:
    """Mean over the honest final votes; of judges that decided something in 0.2, as the mean of 0.2 is."""
    old = setting.old
    found = measured(setting)
    rest: dict[str, Any] = {"fell_back": int(found["fell_back"]), "judges": len(setting.judges)}
    start = (setting.moot, setting.rule, setting.lie)
    if "error" in found:
        before = old.get("rmse/final")
        if before is None:
            return Compared(*start, ERROR, old["rmse/decision"], final_error(setting), **rest)
        return Compared(*start, ERROR, before, found["error"], **rest)
    if "mean/final" in old:
        new = found.get("anchored", found["all"])
        return Compared(*start, ACCURACY, old["mean/final"], new, everybody=found["all"], **rest)
    if "right/decision" in old and setting.rule.startswith("gold"):
        return Compared(*start, ACCURACY, old["right/decision"], found["all"], **rest)
    return None


def _own_site(setting: Setting) -> Compared | None:
    """What each hospital finds likeliest for its own patients."""
    old, owner = setting.old.get("right/own_likely"), arrays_of(setting.moot).get("owner")
    if old is None or owner is None:
        return None
    if not isinstance(setting.aggregation, PeerReview):
        return None
    found = np.zeros(len(owner), dtype=np.int64)
    for site in np.unique(owner).tolist():
        likely = setting.aggregation.likely_of_own(setting.votes, setting.known, int(site))
        found[owner == site] = likely[owner == site].argmax(axis=1)
    new = float((found == setting.truth).mean())
    return Compared(setting.moot, f"{setting.rule}, own site", setting.lie, ACCURACY, old, new)


def _public(setting: dict[str, Any]) -> Iterator[Compared]:
    """A talk of 0.2 beside the plurality, pools beside pools, rules for numbers beside the same rules."""
    arrays, old = arrays_of(setting["moot"]), setting["figures"]
    name = setting["name"].partition("/")[2]
    rule, lie = name.partition(".")[0], setting["lie"]
    start = (setting["moot"], rule, lie)
    if "partitions" in arrays:
        return
    if rule in RULES and "values" in arrays:
        values, honest = numbers_heard(arrays, lie), arrays["target"].astype(np.float64)
        numbers = aggregate(values if values.shape[2] > 1 else values[:, :, 0], RULES[rule]()).decision
        apart = numbers.reshape(honest.shape) - honest
        yield Compared(*start, ERROR, old["rmse/decision"], float(np.sqrt((apart**2).mean())))
    elif rule.startswith("pool") and "sure" in arrays:
        yield from _pooled(setting, arrays, start)
    elif rule in _TALKS and "right/decision" in old:
        truth = arrays["truth"].astype(np.int64)
        now = float(shared_right(aggregate(heard(arrays, lie), Plurality()), truth).mean())
        open_then = old["undecided/decision"] / len(truth)
        yield Compared(*start, ACCURACY, old["right/decision"], now, undecided=open_then)


def _pooled(setting: dict[str, Any], arrays: Any, start: tuple[str, str, str]) -> Iterator[Compared]:
    """By the default, which drops nothing, and without as many as 0.2 dropped: a third."""
    lie, truth = setting["lie"], arrays["truth"].astype(np.int64)
    levels, votes = arrays["sure"] + 0.5, arrays["votes"].astype(np.int64)
    table = as_sure(levels, votes, heard(arrays, lie))
    moot, rule, _ = start
    kind: Any = "log" if rule == "pool-log" else "mean"
    third = 0 if rule == "pool-all" else (len(table) - 1) // 3
    ways: list[tuple[str, Aggregation]] = [(rule, Pool(kind))]
    if third:
        ways.append((f"{rule}, a third dropped", Pool(kind, trim=third)))
    for called, pool in ways:
        now = float(shared_right(pool.aggregate(table), truth).mean())
        before, share = setting["figures"]["right/predict"], setting["figures"]["undecided/decision"]
        yield Compared(moot, called, lie, ACCURACY, before, now, undecided=share / len(truth))


def cells(config: Config, seed: int) -> Plan:  # noqa: ARG001
    """A cell for each moot. The seed draws nothing: votes and their seeds are those of the files."""
    chosen = [
        name
        for name, each in index()["moots"].items()
        if each["use"] == config.use and name.startswith(config.moots)
    ]
    return {"compared": {name: partial(compare_moot, moot=name) for name in chosen}}


def result(config: Config, found: Any) -> MechanismResult:
    """All settings, and a line for each kind of moot, way to answer and number of liars."""
    rows = [each for some in found["compared"].values() for each in some]
    lines = [*_beside(rows), *_majorities(rows)]
    worse = [each for each in rows if each.worse > NEAR]
    verdict = (
        f"{len(rows)} settings of seeds {config.use!r}: worse than 0.2 by more than {NEAR} in {len(worse)}, "
        f"better by more than that in {sum(each.worse < -NEAR for each in rows)}"
    )
    notes = (
        "accuracy of own aggregations: the mean over honest participants' final votes, of those that decided "
        "something in 0.2; before any talk, which 0.2 let change one in a hundred decisions",
        "errors: root mean squared; where 0.2 kept no final numbers, that of the decision",
        "who lies in the talk of 0.2 alone hands in honest first votes: in a council that is nobody",
    )
    return MechanismResult(verdict, tuple(lines), notes, tuple(rows))


def _beside(rows: Sequence[Compared]) -> Iterator[Finding]:
    for start, called in KINDS.items():
        here = [each for each in rows if each.moot.startswith(start)]
        for rule in dict.fromkeys(each.rule for each in here):
            some = [each for each in here if each.rule == rule]
            for liars in sorted({each.liars for each in some}):
                yield _finding(f"{called}: {rule}", [each for each in some if each.liars == liars], liars)


def _finding(what: str, some: Sequence[Compared], liars: int) -> Finding:
    old, new = (float(np.mean([getattr(each, which) for each in some])) for which in ("old", "new"))
    worst = max(some, key=lambda each: each.worse)
    digits = ".3f" if some[0].what == ACCURACY else ".4g"
    lying = "nobody lies" if not liars else f"{liars}{'%' if worst.lie.endswith('%') else ''} lie"
    unit = "" if some[0].what == ACCURACY else " of the error"
    where = f"{worst.moot}, {worst.lie}: {worst.old:{digits}}, now {worst.new:{digits}}"
    said = f"{new:{digits}}" + (f"; worse by {worst.worse:.3f}{unit} ({where})" if worst.worse > NEAR else "")
    lost = float(np.mean([each.undecided for each in some]))
    then = f"0.2: {old:{digits}}" + (f", {lost:.1%} undecided" if lost > 0 else "")
    return Finding(
        f"{what}, {lying} ({len(some)} settings)",
        then,
        said,
        difference=f"{new - old:+{digits}}",
        reason="" if worst.worse <= NEAR else _reason(worst),
        holds=None if worst.rule in _TALKS else worst.worse <= NEAR,
    )


def _reason(worst: Compared) -> str:
    if worst.rule in _TALKS:
        return (
            "ties count as shares and liars' first votes are counted; in 0.2 chance settled ties, among the "
            "honest alone, and a faulty participant was silent in the talk"
        )
    if worst.rule in ("pool-log", "pool-mean", "pool-all") and worst.liars:
        return "liars are sure of their labels: weights by distance take most of that back, and not all"
    if worst.what == ERROR and worst.liars:
        return (
            "a liar hands in one number that all use; in 0.2 it said another to each in each round, so that "
            "random lies cancelled"
        )
    return "not known: few judges, or a few inputs"


def _majorities(rows: Sequence[Compared]) -> Iterator[Finding]:
    """Plain consensus is the majority, ties shared: held against the figures that 0.2 wrote down."""
    figures = {each["name"]: each["figures"] for each in index()["settings"]}
    off = [
        abs(each.new - figures[f"{each.moot}/{each.rule}.{each.lie}"]["majority"])
        for each in rows
        if each.rule in _TALKS and "majority" in figures[f"{each.moot}/{each.rule}.{each.lie}"]
    ]
    if off:
        yield Finding(
            f"plain consensus is the majority, ties shared ({len(off)} settings)",
            "0.2's figure of the majority",
            f"at most {max(off):.1e} apart",
            holds=max(off) < 1e-5,
        )


def figures(found: MechanismResult) -> dict[str, Figure]:
    """Every setting of classes as a point, old against new."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.subplots()
    for name, start in (("plain", ("plain", "slush", "pool")), ("own", ("trust", "peer", "gold"))):
        some = [each for each in found.compared if each.what == ACCURACY and each.rule.startswith(start)]
        axes.scatter([each.old for each in some], [each.new for each in some], s=9, label=name)
    axes.axline((0, 0), slope=1, color="grey", linewidth=0.8)
    axes.set(xlabel="accuracy of 0.2", ylabel="accuracy now", xlim=(0, 1.02), ylim=(0, 1.02))
    axes.legend()
    return {"mechanism": figure}


EXPERIMENT: Final = Experiment(
    name="mechanism",
    about="one table of votes and an aggregation beside the talks, trust and peer review of 0.2",
    claim="beyond the paper: on the same votes, no worse than 0.2",
    full=Config(),
    quick=replace(Config(), moots=_SMALL),
    cells=cells,
    result=result,
    figures=figures,
)
