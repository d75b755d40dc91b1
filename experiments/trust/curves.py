"""The points of the experiment ``trust`` over seeds: a curve for each attack and method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.trust.attacks import NOBODY
from experiments.trust.points import Point
from folkmoot.comparing.printing import plus_minus


@dataclass(frozen=True)
class Mark:
    """One method at one number of liars, over seeds; None where nobody anchored or where there is no such."""

    liars: int
    accuracy: float | None
    spread: float | None  # standard deviation over seeds (n - 1)
    least_accuracy: float | None
    agreement: float | None
    least_agreement: float | None
    worst: float | None  # of all participants in all seeds, less the majority without liars there

    def __str__(self) -> str:
        if self.accuracy is None:
            return "nobody anchored"
        return f"{self.accuracy:.3f}{plus_minus(self.spread, 3)}"


@dataclass(frozen=True)
class TrustCurve:
    """A method under an attack, from no liars to the most tried."""

    task: str
    attack: str
    method: str
    marks: list[Mark]

    def at(self, liars: int) -> Mark | None:
        """The mark at so many liars, if that was tried."""
        return next((each for each in self.marks if each.liars == liars), None)

    def up_to(self, liars: int) -> list[Mark]:
        """The marks with at least one and at most so many liars, where somebody anchored."""
        return [each for each in self.marks if 0 < each.liars <= liars and each.accuracy is not None]


def curves_of(points: Sequence[Point]) -> list[TrustCurve]:
    """All curves, in the order of the points; each begins where nobody lies."""
    curves = []
    for task in dict.fromkeys(each.task for each in points):
        here = [each for each in points if each.task == task]
        none = [each for each in here if each.attack == NOBODY]
        for attack in dict.fromkeys(each.attack for each in here):
            lying = [each for each in here if each.attack == attack and each.liars]
            tried = [*none, *lying]
            for method in dict.fromkeys(said.method for each in [*lying, *none] for said in each.methods):
                counts = sorted({each.liars for each in tried})
                marks = [_mark(method, [each for each in tried if each.liars == f]) for f in counts]
                curves.append(TrustCurve(task, attack, method, marks))
    return curves


def find(curves: Sequence[TrustCurve], task: str, attack: str, method: str) -> TrustCurve:
    """The curve of this task, attack and method; without marks if there is none."""
    for each in curves:
        if (each.task, each.attack, each.method) == (task, attack, method):
            return each
    return TrustCurve(task, attack, method, [])


def _mark(method: str, points: Sequence[Point]) -> Mark:
    found = [(each.said(method), each.base) for each in points]
    accuracies = [said.accuracy for said, _ in found if said.accuracy is not None]
    agreements = [said.agreement for said, _ in found if said.agreement is not None]
    gaps = [said.worst - base for said, base in found if said.worst is not None]
    return Mark(
        liars=points[0].liars,
        accuracy=float(np.mean(accuracies)) if accuracies else None,
        spread=float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else None,
        least_accuracy=min(accuracies, default=None),
        agreement=float(np.mean(agreements)) if agreements else None,
        least_agreement=min(agreements, default=None),
        worst=min(gaps, default=None),
    )
