"""A point of the experiment ``trust``: listening to first votes, deciding, talking; and other rules.

Those who anchor talk, and liars with them; who does not says so, decides nothing and is not asked. Accuracy
and agreement of trust are therefore those of the participants that anchor. They conduct themselves as
``folkmoot.trust.conduct`` says; where liars vote honestly first, the talk is also played without its guards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from experiments.compared import compared
from experiments.femnist.ensemble import SLUSH, TalkSettings
from experiments.femnist.writer_votes import CASE, COLOURS, MemberVotes
from experiments.trust.attacks import (
    HONEST,
    NOBODY,
    Attack,
    attacks_of,
    first_votes,
    liars_order,
)
from folkmoot.accuracy import share_right
from folkmoot.adversaries import Adversary
from folkmoot.arrays import Bools
from folkmoot.baselines.majority import majority_answer
from folkmoot.comparison import RuleName
from folkmoot.outcome import held_by_most
from folkmoot.protocols import Slush
from folkmoot.sampling import Trusting
from folkmoot.simulation import deliberate
from folkmoot.trust import (
    LEAST_LIKENESS,
    Anchor,
    Trust,
    held_after,
    listen_all,
    margins,
    opening,
    sampling_weights,
)
from folkmoot.votes import UNCOLOURED, Votes

UNEVEN: Final = "uneven case"  # the letters of CASE, with few in upper case
_KEPT: Final = 0.15  # of the upper case
DAWID_SKENE, ALONE, TALKED = "Dawid-Skene", "trust, alone", "trust, then Slush"
_CENTRAL: Final[tuple[RuleName, ...]] = ("majority", "Dawid-Skene")
PER_CLASS_ALONE, PER_CLASS = "trust per class, alone", "trust per class, then Slush"
UNGUARDED: Final = "trust, then Slush without guards"


@dataclass(frozen=True)
class Said:
    """What one method came to; None where nobody anchored, or (agreement, worst) for a centre."""

    method: str
    accuracy: float | None
    agreement: float | None = None  # share that holds the most common colour, mean over inputs
    worst: float | None = None  # accuracy of the least accurate participant


@dataclass(frozen=True)
class Point:
    """All methods under one attack by so many liars."""

    task: str
    attack: str
    seed: int
    liars: int  # of as many participants as were wanted
    turned: int  # of as many as there are
    participants: int
    anchored: int
    inputs: int
    base: float  # accuracy of the majority when nobody lies
    methods: list[Said]

    def said(self, method: str) -> Said:
        """What a method came to; nothing if it was not tried."""
        return next((each for each in self.methods if each.method == method), Said(method, None))


@dataclass(frozen=True, eq=False)
class _Scene:
    """First votes as they are heard, and what is needed to play on."""

    votes: Votes
    truth: Votes
    classes: int
    liars: Bools
    talk: TalkSettings
    seed: int

    def adversaries(self, attack: Attack | None, among: Bools) -> dict[int, Adversary]:
        """The liars by their number among some of the participants."""
        lying = np.flatnonzero(self.liars[among])
        return {} if attack is None else {int(i): attack.talk for i in lying}


def hear(
    votes: MemberVotes,
    task: str,
    story: str,
    wanted: int,
    liars: list[int],
    per_class: bool,
    talk: TalkSettings,
) -> list[Point]:
    """Cell: all attacks that tell this story, each by so many liars of the ``wanted`` participants."""
    cast, truth = inputs_of(votes, task)
    classes, n = COLOURS.get(task, COLOURS[CASE]), len(cast)
    anchors = [Anchor.of_confusion(table) for table in votes.confusion]
    order = liars_order(n, votes.seed)
    counted = majority_answer(cast, classes)
    base = float(share_right(counted.decision, truth, counted.level))
    points = []
    trusts: list[Trust] = []
    for f in liars:
        turned = round(f * n / wanted)
        scene = _Scene(
            first_votes(story, cast, truth, classes, order, turned, votes.seed),
            truth, classes, np.isin(np.arange(n), order[:turned]), talk, votes.seed,
        )  # fmt: skip
        if story != HONEST or not trusts:  # honest first votes are the same whoever lies later
            deaf = np.zeros(n, dtype=np.bool_) if story == HONEST else scene.liars
            with threadpool_limits(1):  # cells run side by side
                own = [None if deaf[i] else anchor for i, anchor in enumerate(anchors)]
                trusts = listen_all(scene.votes, own, classes=classes)
        anchored = np.array([trust.anchored for trust in trusts]) & ~scene.liars
        for attack in attacks_of(story) if f else [None]:
            found = [*_plain(scene, attack), *_trusting(scene, attack, trusts, anchored, per_class)]
            points.append(
                Point(
                    task=task,
                    attack=attack.name if attack else NOBODY,
                    seed=votes.seed,
                    liars=f,
                    turned=turned,
                    participants=n,
                    anchored=int(anchored.sum()),
                    inputs=len(truth),
                    base=base,
                    methods=found,
                )
            )
    return points


def inputs_of(votes: MemberVotes, task: str) -> tuple[Votes, Votes]:
    """Votes and truth of a task; of an uneven one, all lower case and some of the upper."""
    cast, truth = votes.test_set(len(votes.letters))
    if task == UNEVEN:
        kept = (truth == 0) | (np.random.default_rng([votes.seed, 6]).random(len(truth)) < _KEPT)
        return cast[:, kept], truth[kept]
    return cast, truth


def _plain(scene: _Scene, attack: Attack | None) -> list[Said]:
    """A centre that sees the first votes, and Slush as the paper has it: everybody asks anybody."""
    talk, everybody = scene.talk, np.ones(len(scene.votes), dtype=np.bool_)
    report = compared(
        scene.votes,
        {SLUSH: Slush(talk.k, talk.alpha).scaled(len(scene.votes))},
        truth=scene.truth,
        adversaries=scene.adversaries(attack, everybody),
        seen=scene.votes,  # they tell their story to a centre as well
        classes=scene.classes,
        rounds=talk.rounds,
        repeats=1,
        seed=scene.seed,
        threads=1,
        rules=_CENTRAL,
    )
    outcome = report.outcome
    return [
        *(Said(name, report.accuracy(name)) for name in _CENTRAL),
        _said(SLUSH, outcome.decisions[outcome.honest], scene),
    ]


def _trusting(
    scene: _Scene, attack: Attack | None, trusts: Sequence[Trust], anchored: Bools, per_class: bool
) -> list[Said]:
    """Trust before and after the talk, by accuracies or, as well, by confusion matrices."""
    found = []
    for alone, talked, by_class in (
        (ALONE, TALKED, False),
        *(((PER_CLASS_ALONE, PER_CLASS, True),) if per_class else ()),
    ):
        held = scene.votes.copy()
        held[~scene.liars] = UNCOLOURED
        for i in np.flatnonzero(anchored).tolist():
            held[i] = opening(scene.votes, trusts[i], per_class=by_class)
        found.append(_mean(alone, held[anchored], scene))
        found.append(_said(talked, _talk(scene, attack, held, trusts, anchored), scene))
        if attack is not None and attack.story == HONEST and not by_class:
            free = _talk(scene, attack, held, trusts, anchored, guarded=False)
            found.append(_said(UNGUARDED, free, scene))
    return found


def _talk(
    scene: _Scene,
    attack: Attack | None,
    held: Votes,
    trusts: Sequence[Trust],
    anchored: Bools,
    *,
    guarded: bool = True,
) -> Votes:
    """What those who anchor hold after the talk; each asks in proportion to its trust."""
    speaking = anchored | scene.liars
    if not anchored.any() or speaking.sum() < 2:
        return held[anchored]
    talk = scene.talk
    weights = sampling_weights(trusts, speaking)
    weights[~anchored] = 0.0
    outcome = deliberate(
        held[speaking],
        Slush(talk.k, talk.alpha).scaled(int(speaking.sum())),
        adversaries=scene.adversaries(attack, speaking),
        truth=scene.truth,
        sampling=Trusting(weights[np.ix_(speaking, speaking)]),
        batch="shared",
        rounds=talk.rounds,
        seed=scene.seed,
        threads=1,
        classes=scene.classes,
        least_likeness=LEAST_LIKENESS if guarded else 0.0,
    )
    talked = np.asarray(outcome.decisions[outcome.honest], dtype=np.int64)
    if not guarded:
        return talked
    return np.stack(
        [
            held_after(held[i], row, margins(scene.votes, trusts[i]))
            for i, row in zip(np.flatnonzero(anchored).tolist(), talked, strict=True)
        ]
    )


def _said(method: str, held: npt.NDArray[np.signedinteger], scene: _Scene) -> Said:
    """Of what participants hold, (participant, input): what most hold, level labels shared, and how many."""
    if not len(held):
        return Said(method, None)
    counts = np.stack([(held == colour).sum(axis=0) for colour in range(scene.classes)], axis=-1)
    answer = held_by_most(counts, np.full(held.shape[1], len(held)))
    return Said(
        method,
        accuracy=float(share_right(answer.decision, scene.truth, answer.level)),
        agreement=float(counts.max(axis=-1).mean() / len(held)),
        worst=float(share_right(held, scene.truth).min()),
    )


def _mean(method: str, held: Votes, scene: _Scene) -> Said:
    """The same before any talk: there is no common decision, so the accuracy is the mean participant's."""
    said = _said(method, held, scene)
    mean = float(share_right(held, scene.truth).mean()) if len(held) else None
    return Said(method, mean, said.agreement, said.worst)
