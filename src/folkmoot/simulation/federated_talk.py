"""Federated agreement, simulated: messages of all to all in rounds, in lockstep or late, liars among them.

In a round each participant hears what has arrived, draws its conclusions by the rules of
``federated/ballots.py``, and sends what it says, if that is new, to all others: one message for all inputs.
A message takes one round, or in a storm 1 to ``delay`` rounds, each drawn by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries import Adversary, Sees
from folkmoot.arrays import Array, Bools, Colours, Ints, Progress
from folkmoot.federated import Federated, QuorumSet
from folkmoot.federated.agreement import Members
from folkmoot.federated.ballots import NONE, Ballots, only, patience
from folkmoot.federated.evidence import Heard
from folkmoot.outcome import Outcome
from folkmoot.played import Played
from folkmoot.simulation.federated_hearing import Post, Scene, Told
from folkmoot.simulation.play_options import check_keys
from folkmoot.simulation.setting import check_adversaries, check_told_truth
from folkmoot.votes import UNCOLOURED, Missing, Votes, check_votes, class_count

_FEW = 0.5  # those that are over leave the arrays once so few are still open


def deliberate_federated(
    votes: npt.ArrayLike,
    protocol: Federated,
    *,
    adversaries: Mapping[int, Adversary] | None = None,
    truth: npt.ArrayLike | None = None,
    rounds: int = 50,
    repeats: int = 1,
    seed: int = 0,
    classes: int | None = None,
    missing: Missing = "uncoloured",
    record: bool = False,
    keys: npt.ArrayLike | None = None,
    there: Bools | None = None,
    leaning: Votes | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """``deliberate`` by federated agreement.

    ``there`` (participant,) are those who can answer, by default all: the others are members of quorum sets
    that never answer, and are not honest in the outcome. ``leaning`` (participant, input) is what each
    would take before all other labels that qualify, -1 for none.
    """
    cast = check_votes(votes, classes)
    count = class_count(cast, classes)
    n, inputs = cast.shape
    protocol.check(n)
    if missing not in get_args(Missing):
        raise ValueError(f"missing must be 'uncoloured' or 'absent': got {missing!r}")
    checks.integer("seed", seed, least=0)
    liars = check_adversaries(adversaries, n, Adversary)
    right = check_told_truth(truth, inputs, count, liars)
    present = np.ones(cast.shape, dtype=np.bool_) if missing == "uncoloured" else cast != UNCOLOURED
    honest = np.ones(n, dtype=np.bool_) if there is None else there.copy()
    honest[list(liars)] = False
    if not honest.any():
        raise ValueError("at least one participant must be honest and able to answer")
    scene = Scene(
        protocol=protocol,
        listening=protocol.listening(),
        votes=cast,
        classes=count,
        honest=honest,
        present=present & (honest if there is None else there | ~honest)[:, None],
        liars=liars,
        truth=right,
        leaning=np.full(cast.shape, NONE) if leaning is None else leaning,
        rounds=checks.integer("rounds", rounds, least=0),
        counters=_counters(rounds),
        missing=missing,
        keys=None if keys is None else check_keys(keys, inputs),
    )
    times = checks.integer("repeats", repeats, least=1)
    drawn = protocol.delay > 1 or any(liar.sees is Sees.DIE for liar in liars.values())
    talks = []
    for repetition in range(times if drawn else 1):
        talks.append(_Talk(scene, seed, repetition).played())
        if progress:
            progress(repetition + 1, times if drawn else 1)
    talks *= 1 if drawn else times

    def all_of(each: list[Array]) -> Array:
        return each[0] if times == 1 else np.stack(each)

    decisions = all_of([talk.decisions for talk in talks])
    return Outcome(
        decisions=decisions,
        honest=honest,
        classes=count,
        settled=all_of([talk.settled for talk in talks]),
        rounds=all_of([talk.rounds for talk in talks]),
        queries=np.asarray(all_of([np.asarray(talk.messages) for talk in talks])),
        history=all_of([talk.history for talk in talks]) if record else None,
        present=None if scene.present[honest].all() else scene.present,
        played=_played(scene, seed),
    )


@dataclass(frozen=True, eq=False)
class _Ended:
    """What came of one talk."""

    decisions: Colours
    settled: Bools
    rounds: Ints
    messages: int
    history: Array  # (input, round, colour): how many hold each: decided, or wanted, or voted for at first


class _Talk:
    """One talk, round by round."""

    def __init__(self, scene: Scene, seed: int, repetition: int) -> None:
        rng = np.random.default_rng([seed, repetition])
        self.scene = scene
        n, inputs = scene.votes.shape
        self.inputs = np.arange(inputs)  # those that are still talked about
        self.state = Ballots.none(scene.counters, n, inputs)  # what each has said by the last round
        self.waited = np.zeros((n, inputs), dtype=np.int64)
        self.first = scene.first.astype(np.int8)
        self.told = Told(scene, rng, seed, repetition)
        late = scene.protocol.delay > 1
        self.circles = list(_circles(scene, self.told, self.first, alone=late))
        self.post = Post(scene, rng) if late else None
        self.messages = int(scene.honest.sum()) * (n - 1)

    def played(self) -> _Ended:
        scene = self.scene
        n, inputs = scene.votes.shape
        decisions = np.full((n, inputs), NONE, dtype=np.int8)
        settled = np.zeros(inputs, dtype=np.bool_)
        took = np.full(inputs, scene.rounds, dtype=np.int64)
        history = np.zeros((inputs, scene.rounds + 1, scene.classes), dtype=np.int32)
        history[:] = self._held()[:, None]
        for now in range(1, scene.rounds + 1):
            self._round(now)
            takes_part = scene.present[:, self.inputs] & scene.honest[:, None]
            decisions[:, self.inputs] = self.state.decided
            history[self.inputs, now:] = self._held()[:, None]
            over = ((self.state.decided != NONE) | ~takes_part).all(axis=0)
            fresh = self.inputs[over & ~settled[self.inputs]]
            settled[fresh] = takes_part[:, over & ~settled[self.inputs]].any(axis=0)
            took[fresh] = now
            if self.post is None:  # in lockstep all first votes are known: who wants nothing never will
                dead = (self.state.wanted[scene.honest] == NONE).all(axis=0)
                took[self.inputs[dead & ~over]] = now
                over |= dead
            going = ~over
            if not going.any():
                break
            if going.mean() < _FEW:
                self._go_on_with(going)
        return _Ended(decisions, settled, took, self.messages, history)

    def _held(self) -> Ints:
        """(input, colour): how many of the honest have decided, or else want, or else voted for each."""
        held = np.where(self.state.wanted != NONE, self.state.wanted, self.first)
        held = np.where(self.state.decided != NONE, self.state.decided, held)[self.scene.honest]
        return np.stack([(held == colour).sum(axis=0) for colour in range(self.scene.classes)], axis=1)

    def _round(self, now: int) -> None:
        before = replace(self.state, said=self.state.said.copy(), wanted=self.state.wanted.copy())
        before.counter = self.state.counter.copy()
        if self.post is not None:
            self.post.send(now - 1, before)
        for circle in self.circles:
            rows = circle.rows
            heard = self._heard(now, circle, before)
            at = before.counter[rows]
            due = (at > 0) & (self.waited[rows] >= patience(at))
            due |= (at == 0) & self._ready(now, circle)[:, None]
            due &= self.scene.present[np.ix_(rows, self.inputs)]
            circle.members.turn(heard, due)
            self._keep(circle)
        self.waited = np.where(self.state.counter != before.counter, 1, self.waited + 1)
        new = (self.state.said != before.said).any(axis=(0, 1, 3)) | (self.state.wanted != before.wanted).any(
            axis=1
        )
        self.messages += int((new & self.scene.honest).sum()) * (len(new) - 1)

    def _keep(self, circle: _Circle) -> None:
        """What the members of a circle say from now on; nothing where they take no part."""
        ballots, rows = circle.members.ballots, circle.rows
        away = ~self.scene.present[np.ix_(rows, self.inputs)]
        if away.any():
            ballots.said[:, :, away] = NONE
            ballots.wanted[away] = NONE
            ballots.counter[away] = 0
            ballots.decided[away] = NONE
        self.state.said[:, :, rows] = ballots.said
        self.state.wanted[rows] = ballots.wanted
        self.state.counter[rows] = ballots.counter
        self.state.decided[rows] = ballots.decided

    def _ready(self, now: int, circle: _Circle) -> Bools:
        """(row,): who has all first votes that it waits for, or has waited long enough."""
        if self.post is None:
            return np.ones(len(circle.rows), dtype=np.bool_)
        return self.post.ready(now, circle.rows)

    def _heard(self, now: int, circle: _Circle, before: Ballots) -> Heard:
        scene, first = self.scene, self.first
        if self.post is not None:
            before, known = self.post.delivered(now, int(circle.rows[0]), before)
            first = np.where(known[:, None], first, np.int8(NONE))
        if scene.liars:
            before, first = self.told.mixed_in(circle.rows[0], self.inputs, before, first)
        free = np.zeros(len(first), dtype=np.bool_)
        free[list(scene.liars)] = True
        return Heard(scene.listening, circle.rows, first, before, free if scene.liars else None)

    def _go_on_with(self, going: Bools) -> None:
        """The other inputs are over."""
        self.inputs = self.inputs[going]
        self.state = only(self.state, going)
        self.waited = self.waited[:, going]
        self.first = self.first[:, going]
        for circle in self.circles:
            circle.members.go_on_with(going)
        if self.post is not None:
            self.post.go_on_with(going)


@dataclass
class _Circle:
    """Participants that are told the same."""

    rows: Ints
    members: Members


def _circles(scene: Scene, told: Told, first: Colours, *, alone: bool) -> Iterator[_Circle]:
    honest = np.flatnonzero(scene.honest)
    groups: dict[bytes | int, list[int]] = {}
    for i in honest.tolist():
        groups.setdefault(i if alone else told.key(i), []).append(i)
    weights = scene.protocol.aggregation(scene.listening)
    for each in groups.values():
        rows = np.array(each)
        leaning = scene.leaning[rows].astype(np.int8)
        yield _Circle(rows, Members(rows, scene.classes, scene.counters, weights[rows], leaning, first[rows]))


def _counters(rounds: int) -> int:
    """How many counters can be reached in so many rounds."""
    counter, passed = 1, 1
    while passed < rounds:
        passed += int(patience(np.array(counter)))
        counter += 1
    return counter


# ---- how it was played -------------------------------------------------------------------------


def _played(scene: Scene, seed: int) -> Played:
    return Played(
        protocol=scene.protocol,
        schedule="lockstep",
        seed=seed,
        adversaries=scene.liars,
        first=lambda: scene.first,
        query=partial(_query, scene),
        again=partial(_again, scene),
        recorded=None,
        plain=_no_closed_form,
        weights=None if scene.protocol.weights is None else np.array(scene.protocol.weights),
    )


def _no_closed_form(i: int) -> None:
    """Federated agreement has none."""


def _query(scene: Scene, i: int) -> tuple[Ints, Ints]:
    """How many the quorum set of each names, and the fewest of them that satisfy it."""
    size, least = np.zeros((2, len(scene.votes)), dtype=np.int64)
    for place, each in enumerate(scene.protocol.quorum_sets.values()):
        if each is not None and each.satisfiable and scene.present[place, i] and scene.honest[place]:
            size[place], least[place] = len(list(each.everyone())), _fewest(each)
    return size, least


def _fewest(quorum_set: QuorumSet) -> int:
    each = [1] * len(quorum_set.members) + [_fewest(part) for part in quorum_set.inner if part.satisfiable]
    return sum(sorted(each)[: quorum_set.threshold])


def _again(scene: Scene, i: int, votes: Votes, times: int, seed: int) -> Ints:
    """(variant, time): what is decided on input i if these (participant, variant) are the first votes."""
    variants = votes.shape[1]
    cast = np.where(scene.honest[:, None], votes, scene.votes[:, [i]])
    at = np.full(variants, i)
    alone = replace(
        scene,
        votes=cast,
        present=scene.present[:, at],
        truth=None if scene.truth is None else scene.truth[at],
        leaning=scene.leaning[:, at],
        keys=None,
    )
    found = []
    for repetition in range(times if scene.protocol.delay > 1 else 1):
        held = _Talk(alone, seed, repetition).played().decisions
        outcome = Outcome(
            held, scene.honest, scene.classes, np.zeros(variants, dtype=np.bool_),
            np.zeros(variants, dtype=np.int64), np.asarray(0), present=alone.present,
        )  # fmt: skip
        found.append(outcome.decision)
    return np.repeat(np.stack(found, axis=1), times // len(found), axis=1)
