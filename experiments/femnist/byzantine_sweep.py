"""Accuracies of an ensemble as one member after another turns perfectly malicious (section 5.1).

The paper describes the first ten that turn, so its claims are judged up to ten; beyond, it says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from experiments.counting import MAJORITY
from experiments.experiment import Cell, Finding
from experiments.femnist.ensemble import (
    LOCAL,
    LOCAL_TEST,
    PAPER,
    SLUSH,
    Lead,
    Members,
    Method,
    TalkSettings,
    answers,
    lead,
    methods,
)
from experiments.femnist.test_sets import DRAWN, counted, members_of, on_writers
from experiments.femnist.writer_votes import MemberVotes
from folkmoot.arrays import Bools, Floats
from folkmoot.comparing.printing import times

SAMPLE: Final = 10  # members whose accuracies the paper's tables describe
_PRINTED_FOR: Final = (1, 10, 100)  # writers of the paper's test sets
# On many letters chance averages out by itself (the paper repeats the talk on its small test sets only).
MANY_LETTERS: Final = 1000
_REPEATS_ON_MANY: Final = 2
FEW, SOME, MOST = "1 <= f < alpha", f"alpha <= f <= {SAMPLE}", f"f > {SAMPLE}"


@dataclass(frozen=True)
class SweepCurve:
    """One method: its accuracy for each number of liars, and its mean leads over the majority."""

    name: str
    accuracy: list[float]
    error: list[float | None]  # standard error over repetitions
    leads: dict[str, Lead]  # by FEW, SOME and MOST; left out where no such f was tried


@dataclass(frozen=True)
class Sweep:
    """The curves of one order of turning on one test set."""

    turned: str  # which members turn
    writers: int  # of the test set
    letters: int
    byzantine: list[int]
    curves: list[SweepCurve]

    def curve(self, name: str) -> SweepCurve:
        """The curve of a method."""
        return next(curve for curve in self.curves if curve.name == name)

    def lost(self, name: str) -> float | None:
        """How much accuracy the first ten liars cost; None if not tried."""
        if not {0, SAMPLE} <= set(self.byzantine):
            return None
        accuracy = self.curve(name).accuracy
        return accuracy[self.byzantine.index(0)] - accuracy[self.byzantine.index(SAMPLE)]

    def falls_behind(self, name: str) -> int | None:
        """The least f from which on a method is below the majority, or None if it is not at the end."""
        ours, theirs = self.curve(name).accuracy, self.curve(MAJORITY).accuracy
        behind = [a < b for a, b in zip(ours, theirs, strict=True)]
        if not behind[-1]:
            return None
        first = len(behind) - next((i for i, b in enumerate(reversed(behind)) if not b), len(behind))
        return self.byzantine[first]


@dataclass(frozen=True)
class Statistics:
    """Of the accuracies of some members; the standard deviation is that of a sample (n - 1)."""

    mean: float
    median: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.3f}, {self.median:.3f}, {self.deviation:.3f}"


def statistics(accuracies: Floats) -> Statistics:
    """Mean, median and standard deviation."""
    return Statistics(
        float(accuracies.mean()),
        float(np.median(accuracies)),
        float(accuracies.std(ddof=1)) if len(accuracies) > 1 else 0.0,
    )


def sweep(
    members: Members,
    talk: TalkSettings,
    seed: int,
    order: Sequence[int],
    counts: Sequence[int],
    *,
    turned: str,
    writers: int,
) -> Sweep:
    """Turn the first f of ``order``, for each f in ``counts``: more liars include the fewer."""
    if len(members.truth) >= MANY_LETTERS:
        talk = replace(talk, repeats=min(talk.repeats, _REPEATS_ON_MANY))
    byzantine = [f for f in counts if f <= len(order) and f < len(members.votes)]
    lines: dict[str, list[Method]] = {name: [] for name in (MAJORITY, *PAPER)}
    ahead: dict[str, list[Floats]] = {name: [] for name in lines}
    for f in byzantine:
        found = answers(members, talk, seed, PAPER, order[:f])
        base = found[MAJORITY].right(members.truth).mean(axis=0)
        for method in methods(found, members.truth):
            lines[method.name].append(method)
            ahead[method.name].append(found[method.name].right(members.truth).mean(axis=0) - base)
    tried = np.array(byzantine)
    ranges = {
        FEW: (tried >= 1) & (tried < talk.alpha),
        SOME: (tried >= talk.alpha) & (tried <= SAMPLE),
        MOST: tried > SAMPLE,
    }
    return Sweep(
        turned=turned,
        writers=writers,
        letters=len(members.truth),
        byzantine=byzantine,
        curves=[
            SweepCurve(
                name=name,
                accuracy=[method.accuracy for method in line],
                error=[method.error for method in line],
                leads={
                    which: _mean_lead(ahead[name], where) for which, where in ranges.items() if where.any()
                },
            )
            for name, line in lines.items()
        ],
    )


def sweep_cell(
    votes: MemberVotes,
    writers: int,
    talk: TalkSettings,
    order: Sequence[int],
    counts: Sequence[int],
    turned: str,
) -> Cell:
    """A sweep on the test set of so many writers, as a cell."""
    return partial(
        sweep_votes,
        votes=votes,
        writers=writers,
        talk=talk,
        order=list(order),
        counts=list(counts),
        turned=turned,
    )


def sweep_votes(
    votes: MemberVotes, writers: int, talk: TalkSettings, order: list[int], counts: list[int], turned: str
) -> Sweep:
    """A sweep from the votes of an ensemble."""
    members = members_of(votes, writers)
    return sweep(members, talk, votes.seed, order, counts, turned=turned, writers=writers)


def _mean_lead(ahead: list[Floats], where: Bools) -> Lead:
    """The lead averaged over numbers of liars, letter by letter: the same letters are in all of them."""
    return lead(np.mean([each for each, taken in zip(ahead, where, strict=True) if taken], axis=0))


def leads(sweeps: Sequence[Sweep], name: str, which: str) -> list[Lead]:
    """The leads of a method over the majority for FEW, SOME or MOST liars, one for each sweep that has it."""
    return [each.curve(name).leads[which] for each in sweeps if which in each.curve(name).leads]


def lead_findings(
    sweeps: Sequence[Sweep], names: Sequence[str], which: str, claim: str, whose: str = ""
) -> list[Finding]:
    """Whether methods are ahead for FEW, SOME or MOST liars; judged if there is a claim."""
    findings = []
    for name in names:
        if found := leads(sweeps, name, which):
            more = sum(each.sign for each in found) > 0
            findings.append(
                Finding(
                    f"{whose}{which}: {name} against the majority",
                    claim or "not in the paper",
                    f"{counted(found)}; mean leads {', '.join(map(str, found))}",
                    holds=more if claim else None,
                )
            )
    return findings


def loss_finding(each: Sweep) -> list[Finding]:
    """What the first ten liars cost the majority and each consensus."""
    lost = {name: each.lost(name) for name in (MAJORITY, SLUSH, LOCAL, LOCAL_TEST)}
    if any(value is None for value in lost.values()):
        return []
    return [
        Finding(
            f"{each.turned} turned, {on_writers(each.writers)}: accuracy lost from f = 0 to {SAMPLE}, "
            "majority / Slush / local Slush by validation / by test",
            DRAWN,
            " / ".join(f"{value:.3f}" for value in lost.values()),
        )
    ]


def statistics_finding(
    whose: str, printed: Sequence[Statistics], writers: int, accuracies: Floats
) -> Finding:
    """A column of the paper's tables, if it has one for so many writers, beside ours."""
    ours = statistics(accuracies)
    paper = dict(zip(_PRINTED_FOR, printed, strict=True)).get(writers)
    return Finding(
        f"first {len(accuracies)} {whose}, {on_writers(writers)}: mean, median, std of accuracy",
        "printed for 1, 10 and 100 writers" if paper is None else str(paper),
        str(ours),
        difference="" if paper is None else f"{ours.mean - paper.mean:+.3f} in the mean",
        reason="" if paper is None else "other writers, another random sample",
    )


def notes_on_sweeps(talk: TalkSettings, sweeps: Sequence[Sweep]) -> tuple[str, ...]:
    """How sweeps were played."""
    fewer = (
        f", but {times(min(talk.repeats, _REPEATS_ON_MANY))} on test sets of {MANY_LETTERS:,} letters or more"
        if any(each.letters >= MANY_LETTERS for each in sweeps)
        else ""
    )
    return (
        "The standard deviations of our samples are those of n - 1; the paper does not say which it prints.",
        f"The talk was played {times(talk.repeats)}{fewer}. Leads over the majority have a standard error "
        "over letters, taken as independent; ahead and behind mean by more than three of them.",
        f"Whoever has turned stays turned. The paper describes samples of {SAMPLE}, so its claims are judged "
        f"up to f = {SAMPLE}. From f = {talk.alpha} on, liars alone can win a query: no agreement is final.",
    )
