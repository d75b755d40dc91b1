"""What trust must reach, judged point by point: the goals, what is beyond them, and what is out of reach.

Nobody lying: Dawid-Skene's accuracy less half a point, agreement above .99. Always-wrong liars and cliques up
to 60 of 101: every participant that anchors at the level of the majority without liars less three points,
and agreement above .97. 40 stealthy liars: no worse than the majority.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from experiments.experiment import Finding
from experiments.femnist.ensemble import MAJORITY
from experiments.femnist.writer_votes import CASE, DIGITS, KIND
from experiments.trust.attacks import (
    CLIQUE,
    CONSTANT,
    COPIES,
    NOBODY,
    NOISY,
    RANDOM,
    SLEEPERS,
    STEALTHY,
    WRONG,
)
from experiments.trust.curves import TrustCurve, find
from experiments.trust.points import ALONE, DAWID_SKENE, PER_CLASS, TALKED, UNEVEN, UNGUARDED

BELOW_DAWID_SKENE: Final = 0.005
BELOW_MAJORITY: Final = 0.03
BY_TALKING: Final = 0.01
AGREEMENT, AGREEMENT_ATTACKED = 0.99, 0.97
MOST_LIARS, MOST_STEALTHY = 60, 40
NAMES: Final = {
    CASE: "case",
    UNEVEN: "case, classes 86:14",
    KIND: "digit, upper or lower",
    DIGITS: "ten digits",
}
_WHY_NOT: Final = {
    UNEVEN: "out of reach: who learns accuracies from votes alone moves the boundary towards even classes",
    DIGITS: "with ten classes and so few inputs camps are guesses",
}
_BEYOND: Final = "no goal; not in the paper"
_SLY: Final = ("equivocating", "stalling", SLEEPERS)


def findings(curves: Sequence[TrustCurve], task: str) -> list[Finding]:
    """The goals on one task. Where votes were also weighed per class, that is put beside, not judged."""
    attacks = [each for each in (WRONG, CLIQUE, NOISY) if find(curves, task, each, TALKED).marks]
    return [
        *_nobody(curves, task),
        *(each for attack in attacks for each in _attacked(curves, task, attack)),
        *_stealthy(curves, task),
    ]


def beyond(curves: Sequence[TrustCurve]) -> list[Finding]:
    """Attacks that no goal names, and what is out of reach, in numbers."""
    found = []
    for attack in (CONSTANT, RANDOM, COPIES):
        marks = find(curves, CASE, attack, TALKED).up_to(MOST_LIARS)
        if marks:
            worst = min(each.worst for each in marks if each.worst is not None)
            found.append(
                Finding(
                    f"{attack}, up to {marks[-1].liars} liars: worst participant that anchors, from the "
                    "no-liar majority",
                    _BEYOND,
                    f"{worst:+.3f}; mean {marks[-1]} with {marks[-1].liars}",
                )
            )
    for mark in find(curves, CASE, STEALTHY, TALKED).marks:
        centre = find(curves, CASE, STEALTHY, MAJORITY).at(mark.liars)
        if mark.liars > MOST_STEALTHY and mark.accuracy is not None and centre is not None:
            found.append(
                Finding(
                    f"out of reach: {mark.liars} stealthy liars",
                    _BEYOND,
                    f"{mark}; majority {centre}",
                    difference=_points(mark.worst) + " worst, from the no-liar majority",
                    reason="on the inputs they strike, they are most of those who sound honest",
                )
            )
    for attack in _SLY:
        before, after = (find(curves, CASE, attack, each) for each in (ALONE, TALKED))
        for mark, first in zip(after.marks, before.marks, strict=True):
            if mark.liars == MOST_STEALTHY and mark.accuracy is not None and first.accuracy is not None:
                free = find(curves, CASE, attack, UNGUARDED).at(mark.liars)
                lost = first.accuracy - mark.accuracy
                found.append(
                    Finding(
                        f"{mark.liars} {attack}, who vote honestly and lie in the talk",
                        f"not in the paper; goal: at most {BY_TALKING} below the decisions before the talk",
                        f"{mark} after the talk, {first} before it"
                        + (f"; {free} without guards" if free else ""),
                        difference=f"agreement {mark.agreement:.3f}",
                        holds=lost <= BY_TALKING,
                    )
                )
    return found


def _nobody(curves: Sequence[TrustCurve], task: str) -> list[Finding]:
    where = f"{NAMES[task]}, nobody lies"
    ours, theirs = (find(curves, task, NOBODY, each).at(0) for each in (TALKED, DAWID_SKENE))
    if ours is None or theirs is None or ours.accuracy is None or theirs.accuracy is None:
        return [Finding(where, "goals for those who anchor", "nobody anchored")]
    ahead = ours.accuracy - theirs.accuracy
    plain = find(curves, task, NOBODY, MAJORITY).at(0)
    return [
        Finding(
            f"{where}: accuracy",
            f"not in the paper; goal: Dawid-Skene's less {BELOW_DAWID_SKENE}",
            f"{ours}; Dawid-Skene {theirs}, majority {plain}{_per_class(curves, task, NOBODY, 0)}",
            difference=f"{ahead:+.4f} to Dawid-Skene",
            reason="" if ahead >= -BELOW_DAWID_SKENE else _WHY_NOT.get(task, ""),
            holds=ahead >= -BELOW_DAWID_SKENE,
        ),
        _agreement(where, ours.least_agreement, AGREEMENT),
    ]


def _attacked(curves: Sequence[TrustCurve], task: str, attack: str) -> list[Finding]:
    marks = find(curves, task, attack, TALKED).up_to(MOST_LIARS)
    gaps = [(each.worst, each.liars) for each in marks if each.worst is not None]
    if not gaps:
        return []
    (worst, where), last = min(gaps), marks[-1]
    name = f"{NAMES[task]}, {attack}, up to {last.liars} liars"
    return [
        Finding(
            f"{name}: worst participant that anchors",
            f"not in the paper; goal: the no-liar majority less {BELOW_MAJORITY}",
            f"{worst:+.4f} (at {where} liars); all of them {last} with {last.liars}"
            + _per_class(curves, task, attack, last.liars),
            reason="" if worst >= -BELOW_MAJORITY else _WHY_NOT.get(task, ""),
            holds=worst >= -BELOW_MAJORITY,
        ),
        _agreement(name, min(each.least_agreement or 0.0 for each in marks), AGREEMENT_ATTACKED),
    ]


def _stealthy(curves: Sequence[TrustCurve], task: str) -> list[Finding]:
    ours, theirs = (find(curves, task, STEALTHY, each).at(MOST_STEALTHY) for each in (TALKED, MAJORITY))
    if ours is None or theirs is None or ours.accuracy is None or theirs.accuracy is None:
        return []
    return [
        Finding(
            f"{NAMES[task]}, {MOST_STEALTHY} stealthy liars: accuracy",
            "not in the paper; goal: no worse than the majority",
            f"{ours}; majority {theirs}{_per_class(curves, task, STEALTHY, MOST_STEALTHY)}",
            difference=f"{ours.accuracy - theirs.accuracy:+.4f} to the majority",
            reason="" if ours.accuracy >= theirs.accuracy else _WHY_NOT.get(task, ""),
            holds=ours.accuracy >= theirs.accuracy,
        )
    ]


def _per_class(curves: Sequence[TrustCurve], task: str, attack: str, liars: int) -> str:
    mark = find(curves, task, attack, PER_CLASS).at(liars)
    return f"; per class {mark}" if mark else ""


def _agreement(where: str, least: float | None, goal: float) -> Finding:
    return Finding(
        f"{where}: agreement, least of all seeds",
        f"not in the paper; goal: above {goal}",
        "none" if least is None else f"{least:.4f}",
        holds=least is not None and least > goal,
    )


def _points(value: float | None) -> str:
    return "none" if value is None else f"{value:+.3f}"
