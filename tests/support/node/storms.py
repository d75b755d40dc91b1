"""Storms: one motion with liars, losses, crashes and partitions, all from a seed, and what must hold in each.

    PYTHONPATH=tests python -m support.node.storms SEED N [KIND...]
    PYTHONPATH=tests python -m support.node.storms FIRST-LAST PROCESSES [KIND...]

plays one storm again, or many on all sizes and prints each that breaks a promise. With
f = floor((n-1)/3) liars: no split, all decide, nobody honest is accused, and no honest vote is left out
while frames arrive in time.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

from folkmoot.aggregation.texts import Choice
from folkmoot.node.answer import answer_of
from folkmoot.node.ballots import Choices
from folkmoot.node.review import ballots_of
from folkmoot.node.session.book import contradict
from folkmoot.node.session.statement import most_faults
from folkmoot.node.session.terms import Terms
from support.node.liars import KINDS, TWISTS, Forgetful, Liar, Plan, TwoFaced
from support.node.world import Node, Weather, World, verify

SIZES: Final = (4, 5, 7, 10, 16)
LABELS: Final = ("a", "b", "c")
END: Final = 600.0  # seconds on the logical clock: with frames arriving from the 30th on, all decide before


@dataclass
class Told:
    """What came of storms."""

    storms: int = 0
    calm: int = 0  # in which all frames arrived in time
    honest_votes: int = 0  # of these
    left_out: int = 0  # of these
    rounds: int = 0  # the most of any
    seconds: list[float] = field(default_factory=list)

    def add(self, other: Told) -> None:
        """Count that in."""
        for name in ("storms", "calm", "honest_votes", "left_out"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.rounds = max(self.rounds, other.rounds)
        self.seconds += other.seconds


def storm(
    seed: int, n: int, kinds: Sequence[str] = KINDS, *, liars: int | None = None, about: str = "labels"
) -> World:
    """Terms, weather, liars, crashes and partitions of a seed; ``about`` labels, texts, or after a talk."""
    rng = random.Random(f"storm {seed} {n}")
    believe = rng.choice(["all", "all", "own"])
    terms = Terms(labels=LABELS, believe=believe, seconds=rng.choice([4.0, 8.0]), coin=rng.random() < 0.3)  # type: ignore[arg-type]
    if about == "texts":
        terms = Terms(answers="text", seconds=terms.seconds, coin=terms.coin)
    elif about == "talk":
        rule = rng.choice(["slush", "snowball"])
        terms = Terms(labels=LABELS, protocol=rule, k=3, rounds=6, beta=3, seconds=terms.seconds)
    calm = rng.random() < 0.4
    weather = Weather(
        delay=0.02 if calm else rng.choice([0.005, 0.03, 0.15]), most=0.095 if calm else 1.0,
        drop=0.0 if calm else rng.choice([0.0, 0.05, 0.2, 0.4]), until=30.0,
    )  # fmt: skip
    world = World(seed, n, terms, weather=weather)
    many = most_faults(n) if liars is None else liars
    bad = sorted(rng.sample(range(n), many if liars is not None else rng.randint(min(1, many), many)))
    plan = Plan(world, bad)
    only = rng.choice(kinds) if rng.random() < 0.5 else None
    for i in range(n):
        votes = [_ballot(world, poll, rng) for poll in range(terms.polls)]
        if i not in bad:
            crashes = [] if calm else [k for k in range(60) if rng.random() < 0.05]
            node = Node(world, i, votes, crashes)
            if not calm:
                node.delays = [rng.uniform(0, 1.5 * terms.window) for _ in votes]
            else:
                node.delays = [rng.uniform(0, terms.window - 4 * world.delta) for _ in votes]
        else:
            wrong = [_packed(world, poll, [2] * world.inputs) for poll in range(terms.polls)]
            node = _liar(world, i, only or rng.choice(kinds), plan, wrong, votes, rng)
        world.nodes.append(node)
    if not calm:
        _divide(world, rng)
    return world


def _liar(
    world: World, me: int, name: str, plan: Plan, votes: list[bytes], others: list[bytes], rng: random.Random
) -> Node:
    if name == "two-faced":
        return TwoFaced(world, me, [votes, others], plan)
    if name == "forgetful":
        return Forgetful(world, me, votes, [rng.randrange(40) for _ in range(3)])
    return Liar(world, me, votes, plan, TWISTS[name])


def _ballot(world: World, poll: int, rng: random.Random) -> bytes:
    """Mostly right: input i has label i % 2."""
    if rng.random() < 0.05:
        return b""
    said = [i % 2 if rng.random() < 0.8 else rng.randrange(3) for i in range(world.inputs)]
    return _packed(world, poll, said)


def _packed(world: World, poll: int, said: list[int]) -> bytes:
    """A ballot of these labels; about texts each is proposed, and as many candidates as there are chosen."""
    if world.header.terms.answers != "text":
        return ballots_of(world.header, poll).pack(np.array(said))
    if poll == 0:
        return ballots_of(world.header, 0).pack(np.array([f"text {each}" for each in said], dtype=object))
    return Choices(4).pack(
        [Choice(each, tuple(range(k))) for k, each in zip([2, 3, 3, 1], said, strict=True)]
    )


def _divide(world: World, rng: random.Random) -> None:
    for _ in range(rng.choice([0, 0, 1, 2])):
        begin = rng.uniform(0.0, 6.0)
        side = frozenset(rng.sample(range(world.n), rng.randint(1, world.n - 1)))
        world.partitions.append((begin, begin + rng.uniform(0.2, 8.0), side))


def play(seed: int, n: int, kinds: Sequence[str] = KINDS, *, about: str = "labels") -> Told:
    """One storm, and its promises."""
    try:
        world = storm(seed, n, kinds, about=about)
        world.run(END, world.decided)
        return check(world)
    except Exception as error:
        more = f", about {about}: storms.play(..., about={about!r})" if about != "labels" else ""
        error.add_note(f"PYTHONPATH=tests python -m support.node.storms {seed} {n}{more}")
        raise


def check(world: World) -> Told:
    """What is promised with f liars."""
    honest = world.honest
    names = {node.me for node in honest}
    answers = set().union(*(node.answers for node in honest))
    assert len(answers) <= 1, "a split"
    assert world.decided(), f"undecided after {world.time:.0f} s"
    for node in honest:
        assert node.motion is not None
        assert not names & node.motion.evidence.keys(), "an honest member is accused"
        assert not names & node.motion.alarms, "an honest member computes another answer"
        for evidence in node.motion.evidence.values():
            assert contradict(evidence.one, evidence.other), "evidence of nothing"
            for said in (evidence.one, evidence.other):
                assert verify(said.member, said.words(evidence.motion), said.signature), "forged evidence"
    motion = honest[0].motion
    assert motion is not None
    coin = motion.polls[0].agreements[0].decided
    assert coin is not None
    again = answer_of(world.header, motion.tables, coin, world.n, world.members.faults)
    assert motion.answer == again
    told = Told(storms=1, seconds=[world.time])
    told.rounds = max(stage.round for poll in motion.polls for stage in poll.agreements)
    calm = world.weather.most < world.delta
    for table in motion.tables:
        missing = names - table.keys()
        if calm:
            told.calm, told.honest_votes = 1, told.honest_votes + len(names)
            told.left_out += len(missing)
            assert not missing, f"honest votes left out: {missing}"
        for i in names - missing:
            assert table[i] in world.nodes[i].cast
    return told


def tried(seed: int, kinds: Sequence[str]) -> Told | str:
    """One storm of a size that its seed says, or how to play it again and what broke."""
    n = SIZES[seed % len(SIZES)]
    try:
        return play(seed, n, kinds)
    except Exception as error:
        return " ".join([*getattr(error, "__notes__", ()), f"{type(error).__name__}: {error}"])


def many(first: int, last: int, processes: int, kinds: Sequence[str]) -> int:
    """Play storms in processes, and print those that break a promise; how many do."""
    told, failed, began = Told(), 0, time.monotonic()
    with multiprocessing.Pool(processes) as pool:
        found = pool.imap_unordered(partial(tried, kinds=kinds), range(first, last + 1))
        for number, each in enumerate(found, 1):
            if isinstance(each, Told):
                told.add(each)
            else:
                failed += 1
                print("FAILED", each, flush=True)
            if number % 500 == 0:
                print(f"{number} played, {failed} failed, {time.monotonic() - began:.0f} s", flush=True)
    longest = max(told.seconds, default=0.0)
    print(f"{told.storms} storms held, {failed} failed; {told.calm} calm: {told.left_out} votes left out of")
    print(f"{told.honest_votes} honest ones; most rounds {told.rounds}; longest {longest:.0f} s of its clock")
    return failed


if __name__ == "__main__":
    chosen = sys.argv[3:] or KINDS
    if "-" in sys.argv[1]:
        begin, end = map(int, sys.argv[1].split("-"))
        sys.exit(bool(many(begin, end, int(sys.argv[2]), chosen)))
    print(play(int(sys.argv[1]), int(sys.argv[2]), chosen))
