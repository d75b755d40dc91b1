"""Federated agreement, simulated: everybody's messages in rounds, in lockstep or late, with liars among
them.

In a round each participant hears what has arrived, draws its conclusions by the rules of
``federated/ballots.py``, and sends what it says, if that is new, to all others: one message for all inputs.
A message takes one round, or in a storm 1 to ``delay`` rounds, each drawn by itself.

Byzantine participants are those of the other protocols. What one would answer to a query it says here of
every ballot and in all phases at once, to whom it would answer it; one that repeats somebody repeats its
statements. Each shows the quorum set that helps it most, which it satisfies by itself. So a liar is two-
faced if its answers are, and its first vote with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries import Adversary, Sees, handed_in
from folkmoot.arrays import Array, Bools, Colours, Ints, Progress
from folkmoot.federated import Federated, QuorumSet
from folkmoot.federated.agreement import Members
from folkmoot.federated.ballots import NONE, Ballots, only, patience
from folkmoot.federated.evidence import Heard, Listening
from folkmoot.outcome import Outcome
from folkmoot.played import Played
from folkmoot.simulation.kernels.liars import Liars, tabulated
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
    scene = _Scene(
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
        missing=missing,
    )
    times = checks.integer("repeats", repeats, least=1)
    drawn = protocol.delay > 1 or any(liar.sees is Sees.DIE for liar in liars.values())
    talks = []
    for repetition in range(times if drawn else 1):
        talks.append(_Talk(scene, np.random.default_rng([seed, repetition])).played())
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
        present=None if scene.present[honest].all() else scene.present,
        played=_played(scene, seed),
    )


@dataclass(frozen=True, eq=False)
class _Scene:
    """Who talks about what."""

    protocol: Federated
    listening: Listening
    votes: Votes
    classes: int
    honest: Bools
    present: Bools  # (participant, input): who takes part
    liars: dict[int, Adversary]
    truth: Array | None
    leaning: Votes
    rounds: int
    missing: Missing

    @property
    def first(self) -> Votes:
        """(participant, input): first votes as they are handed in, of those who take part."""
        seen = handed_in(self.votes, self.liars, self.truth, self.classes, missing=self.missing)
        seen[~self.present & self.honest[:, None]] = UNCOLOURED
        return seen


@dataclass(frozen=True, eq=False)
class _Ended:
    """What came of one talk."""

    decisions: Colours
    settled: Bools
    rounds: Ints
    messages: int


class _Talk:
    """One talk, round by round."""

    def __init__(self, scene: _Scene, rng: np.random.Generator) -> None:
        self.scene, self.rng = scene, rng
        n, inputs = scene.votes.shape
        self.inputs = np.arange(inputs)  # those that are still talked about
        self.counters = _counters(scene.rounds)
        self.state = Ballots.none(self.counters, n, inputs)  # what each has said by the last round
        self.waited = np.zeros((n, inputs), dtype=np.int64)
        self.first = scene.first.astype(np.int8)
        self.told = _Told(scene, rng)
        late = scene.protocol.delay > 1
        self.circles = list(_circles(scene, self.told, self.counters, self.first, alone=late))
        self.post = _Post(scene, rng) if late else None
        self.messages = int(scene.honest.sum()) * (n - 1)

    def played(self) -> _Ended:
        scene = self.scene
        n, inputs = scene.votes.shape
        decisions = np.full((n, inputs), NONE, dtype=np.int8)
        settled = np.zeros(inputs, dtype=np.bool_)
        took = np.full(inputs, scene.rounds, dtype=np.int64)
        for now in range(1, scene.rounds + 1):
            self._round(now)
            takes_part = scene.present[:, self.inputs] & scene.honest[:, None]
            decisions[:, self.inputs] = self.state.decided
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
        return _Ended(decisions, settled, took, self.messages)

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


def _circles(scene: _Scene, told: _Told, counters: int, first: Colours, *, alone: bool) -> Iterator[_Circle]:
    honest = np.flatnonzero(scene.honest)
    groups: dict[bytes | int, list[int]] = {}
    for i in honest.tolist():
        groups.setdefault(i if alone else told.key(i), []).append(i)
    weights = scene.protocol.aggregation(scene.listening)
    for each in groups.values():
        rows = np.array(each)
        yield _Circle(
            rows,
            Members(
                rows, scene.classes, counters, weights[rows], scene.leaning[rows].astype(np.int8), first[rows]
            ),
        )


class _Told:
    """What liars say, and to whom."""

    def __init__(self, scene: _Scene, rng: np.random.Generator) -> None:
        order = np.concatenate([np.flatnonzero(_not(scene.liars, len(scene.votes))), sorted(scene.liars)])
        self.who = np.array(sorted(scene.liars), dtype=np.int64)
        table: Liars = tabulated(scene.liars, scene.votes, scene.truth, scene.classes, order.astype(np.int64))
        self.table = table
        self.followed = order[table.target].astype(np.int64) if len(self.who) else self.who
        inputs = scene.votes.shape[1]
        self.dice: Array = rng.integers(0, scene.classes, (len(self.who), inputs))
        self.runner_up = _runner_up(scene.votes[scene.honest], scene.classes)
        self.away = ~scene.present[self.who] if scene.missing == "absent" else None

    def key(self, viewer: int) -> bytes:
        """The same for those who are told the same."""
        return self._labels(viewer).tobytes()

    def _labels(self, viewer: int) -> Colours:
        """(liar, input): what each says to this one; NONE for those who repeat somebody."""
        said: Colours = np.full(self.dice.shape, NONE, dtype=np.int8)
        for liar, sees in enumerate(self.table.sees.tolist()):
            if sees == Sees.TARGET.value:
                continue
            seen: Array = np.zeros(said.shape[1], dtype=np.int64)
            if sees == Sees.ASKER.value:
                seen = seen + viewer
            elif sees == Sees.DIE.value:
                seen = self.dice[liar]
            elif sees == Sees.RUNNER_UP.value:
                seen = self.runner_up
            answers: Colours = self.table.answers[liar]
            said[liar] = answers[np.arange(said.shape[1]), seen + 1]
        if self.away is not None:
            said[self.away] = NONE
        return said

    def mixed_in(
        self, viewer: int, inputs: Ints, ballots: Ballots, first: Colours
    ) -> tuple[Ballots, Colours]:
        """What this one hears, with what the liars say to it."""
        labels = self._labels(viewer)[:, inputs]
        said, counter = ballots.said.copy(), ballots.counter.copy()
        wanted, first = ballots.wanted.copy(), first.copy()
        highest = counter.max(axis=0)
        for liar, place in enumerate(self.who.tolist()):
            sees = self.table.sees[liar]
            if sees == Sees.TARGET.value:
                answers = self.table.answers[liar, inputs]
                held = ballots.said[:, :, self.followed[liar]].astype(np.int64)
                said[:, :, place] = answers[np.arange(len(inputs)), held + 1]
                own = ballots.wanted[self.followed[liar]].astype(np.int64)
                wanted[place] = answers[np.arange(len(inputs)), own + 1]
                counter[place] = counter[self.followed[liar]]
                if self.away is not None:
                    said[:, :, place, self.away[liar, inputs]] = NONE
                continue
            said[:, :, place] = labels[liar]
            wanted[place] = labels[liar]
            counter[place] = np.where(labels[liar] == NONE, 0, highest)
            if sees == Sees.ASKER.value:
                first[place] = labels[liar]
        return Ballots(said, counter, wanted, ballots.decided), first


class _Post:
    """Messages that take 1 to ``delay`` rounds each; who has heard what by when."""

    def __init__(self, scene: _Scene, rng: np.random.Generator) -> None:
        n = len(scene.votes)
        self.rng, self.delay = rng, scene.protocol.delay
        self.newest = np.full((n, n), -1)  # (hearer, speaker): when the newest was sent that has arrived
        self.arriving: dict[int, list[tuple[int, Bools]]] = {}
        self.sent: dict[int, Ballots] = {}
        self.named = scene.listening.named
        self.talking = scene.honest | np.isin(np.arange(n), list(scene.liars))

    def send(self, when: int, ballots: Ballots) -> None:
        """Everybody sends what it says at the end of a round; first votes are sent at 0."""
        takes = self.rng.integers(1, self.delay + 1, self.newest.shape)
        np.fill_diagonal(takes, 1)  # what one says oneself one knows
        for delay in range(1, self.delay + 1):
            self.arriving.setdefault(when + delay, []).append((when, takes == delay))
        self.sent[when] = ballots
        for sent, which in self.arriving.pop(when + 1, []):
            self.newest = np.where(which, np.maximum(self.newest, sent), self.newest)
        for old in [each for each in self.sent if each < when - self.delay]:
            del self.sent[old]

    def delivered(self, now: int, viewer: int, ballots: Ballots) -> tuple[Ballots, Bools]:
        """What this one has heard by now, and (participant,) from whom anything."""
        newest = self.newest[viewer]
        said, counter = np.full_like(ballots.said, NONE), np.zeros_like(ballots.counter)
        wanted = np.full_like(ballots.wanted, NONE)
        for when, old in self.sent.items():
            rows = np.flatnonzero((newest == when) & (newest < now))
            said[:, :, rows] = old.said[:, :, rows]
            counter[rows], wanted[rows] = old.counter[rows], old.wanted[rows]
        return Ballots(said, counter, wanted, ballots.decided), newest >= 0

    def ready(self, now: int, rows: Ints) -> Bools:
        """(row,): who has the first votes of all whom it waits for, or of all that are to come."""
        heard = (self.newest[rows] >= 0) | ~self.named[rows] | ~self.talking[None]
        return np.asarray(heard.all(axis=1) | (now > self.delay))

    def go_on_with(self, inputs: Bools) -> None:
        """The other inputs are over."""
        self.sent = {when: only(each, inputs) for when, each in self.sent.items()}


def _counters(rounds: int) -> int:
    """How many counters can be reached in so many rounds."""
    counter, passed = 1, 1
    while passed < rounds:
        passed += int(patience(np.array(counter)))
        counter += 1
    return counter


def _runner_up(votes: Votes, classes: int) -> Ints:
    """(input,): the second most common first vote of the honest, -1 where the first two are level."""
    counts = np.stack([(votes == colour).sum(axis=0) for colour in range(classes)])
    order = np.argsort(-counts, axis=0, kind="stable")
    first, second = (np.take_along_axis(counts, order[i : i + 1], axis=0)[0] for i in (0, 1))
    return np.where(first == second, UNCOLOURED, order[1])


def _not(liars: Mapping[int, Any], n: int) -> Bools:
    mask = np.ones(n, dtype=np.bool_)
    mask[list(liars)] = False
    return mask


# ---- how it was played -------------------------------------------------------------------------


def _played(scene: _Scene, seed: int) -> Played:
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


def _query(scene: _Scene, i: int) -> tuple[Ints, Ints]:
    """How many the quorum set of each names, and the fewest of them that satisfy it."""
    size, least = np.zeros((2, len(scene.votes)), dtype=np.int64)
    for place, each in enumerate(scene.protocol.quorum_sets.values()):
        if each is not None and each.satisfiable and scene.present[place, i] and scene.honest[place]:
            size[place], least[place] = len(list(each.everyone())), _fewest(each)
    return size, least


def _fewest(quorum_set: QuorumSet) -> int:
    each = [1] * len(quorum_set.members) + [_fewest(part) for part in quorum_set.inner if part.satisfiable]
    return sum(sorted(each)[: quorum_set.threshold])


def _again(scene: _Scene, i: int, votes: Votes, times: int, seed: int) -> Ints:
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
    )
    found = []
    for repetition in range(times if scene.protocol.delay > 1 else 1):
        held = _Talk(alone, np.random.default_rng([seed, repetition])).played().decisions
        outcome = Outcome(
            held, scene.honest, scene.classes, np.zeros(variants, dtype=np.bool_),
            np.zeros(variants, dtype=np.int64), np.asarray(0), present=alone.present,
        )  # fmt: skip
        found.append(outcome.decision)
    return np.repeat(np.stack(found, axis=1), times // len(found), axis=1)
