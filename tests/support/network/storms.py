"""Storms on the memory transport, all of it from a seed, and the promises that must hold in each.

    PYTHONPATH=tests python -m support.network.storms SEED NODES [KIND...]

plays one storm again, with hostile members of any kind or of these. In two of three storms some members are
hostile. Such a storm is played a second time with these members switched off, which is to say that their
processes do not run: they must not keep the others from deciding, or make them wait. Both times the same
frames of the others are lost, as far as these still say the same.

Whether an input is decided can hang on one participant, whatever it is like: labels may be level but for one,
or a round may be lost with one answer that differs. So inputs are counted apart that are **carried** by the
honest: a quorum of them voted alike at first, and their answers are enough to win a round, whoever is asked
and if none is lost.
"""

from __future__ import annotations

import random
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries import ATTACKS
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.policy import Policy
from folkmoot.network.storage.account import outcome_in
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.network.wire.statements import proves
from folkmoot.network.wire.verdict import Verdict
from folkmoot.node.membership.roster import faults, quorum
from folkmoot.node.transports.memory import Weather
from folkmoot.testing.liars import PLAYABLE
from support.network.hostile_members import KINDS, WITH_TRUST, made_hostile
from support.network.moot_in_memory import Listened, Moot
from support.network.signatures import checked_once

SECONDS = 8.0
REQUIRED: Final = 0.95  # of the inputs decided with the hostile switched off
LIES: Final = tuple(f"lies: {name}" for name in PLAYABLE)
TWO_CLOSES: Final = "two closes"
DRAWN: Final = (*LIES, TWO_CLOSES, *KINDS)
SURE: Final = Holdout([("a", "a")] * 20 + [("b", "b")] * 20 + [("a", "b")])


@dataclass
class Tally:
    """What came of the motions without trust of a storm, or of many.

    All but the first two count only in storms with hostile members: with these, and with them switched off.
    """

    inputs: int = 0
    decided: int = 0  # on some honest node
    storms: int = 0  # that have hostile members
    decided_with: int = 0
    decided_without: int = 0
    decided_both: int = 0  # the same inputs
    carried_without: int = 0  # by the honest, and decided without the hostile
    carried_both: int = 0  # and with them, too
    decided_spread: float = 0.0  # the square of what is decided beyond the share required, summed over storms
    carried_spread: float = 0.0
    seconds_with: float = 0.0  # of honest nodes, from hearing of a motion to its end
    seconds_without: float = 0.0

    def add(self, other: Tally) -> None:
        """Count that in."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def compare(self, moot: Moot, found: Found | None, without: Found | None) -> None:
        """Count a motion in that was played with and without the hostile members."""
        nothing = Found(np.zeros(moot.votes.shape[1], dtype=bool), 0.0, 0)
        one, other = found or nothing, without or nothing
        carried = other.decided & carried_by_the_honest(moot, other)
        self.decided_with += int(one.decided.sum())
        self.decided_without += int(other.decided.sum())
        self.decided_both += int((one.decided & other.decided).sum())
        self.carried_without += int(carried.sum())
        self.carried_both += int((one.decided & carried).sum())
        self.seconds_with += one.seconds
        self.seconds_without += other.seconds


@dataclass(frozen=True, eq=False)
class Found:
    """What came of a motion without trust that an honest member had put."""

    decided: npt.NDArray[np.bool_]  # on some honest node
    seconds: float  # of honest nodes, from hearing of it to its end
    to_spare: int  # answers of a round that need not be alike


def carried_by_the_honest(moot: Moot, found: Found) -> npt.NDArray[np.bool_]:
    """On which inputs a quorum of the honest voted alike at first, and their answers can win every round."""
    bad = hostile_in(moot)
    votes = np.delete(moot.votes, sorted(bad), axis=0)
    most = np.maximum((votes == 0).sum(axis=0), (votes == 1).sum(axis=0))
    carried: npt.NDArray[np.bool_] = (most >= quorum(moot.n)) & (found.to_spare >= len(bad))
    return carried


@checked_once()
def play(seed: int, n: int, kinds: Sequence[str] = DRAWN, *, compare: bool = True) -> Tally:
    """One storm, and its promises; beside the same one without its hostile members, if it has any.

    Without ``compare`` it is played once, for the promises alone.
    """
    try:
        moot = stormy(seed, n, kinds)
        run_through(moot)
        found = assert_promises_hold(moot)
        inputs, decided = (
            moot.votes.shape[1] * len(found),
            sum(int(each.decided.sum()) for each in found.values()),
        )
        if not compare or not hostile_in(moot):
            return Tally(inputs, decided)
        quiet = stormy(seed, n, kinds, switched_off=True)
        run_through(quiet)
        told = Tally(inputs, decided, storms=1)
        without = assert_promises_hold(quiet)
        for name in found.keys() | without.keys():
            told.compare(moot, found.get(name), without.get(name))
        told.decided_spread = (told.decided_with - REQUIRED * told.decided_without) ** 2
        told.carried_spread = (told.carried_both - REQUIRED * told.carried_without) ** 2
        return told
    except Exception as error:
        line = again("storms", seed, n, *(() if kinds is DRAWN else kinds))
        error.add_note(f"storm of seed {seed} among {n} nodes: {line}")
        raise


def again(module: str, *arguments: object) -> str:
    """The line that plays a storm again."""
    return " ".join(
        [f"PYTHONPATH=tests python -m support.network.{module}", *map(shlex.quote, map(str, arguments))]
    )


def stormy(seed: int, n: int, kinds: Sequence[str] = DRAWN, *, switched_off: bool = False) -> Moot:
    """Hostile members, losses, delays, crashes, restarts, a partition, and two motions: all from the seed."""
    rng = random.Random(f"storm {seed}")
    votes = (np.random.default_rng(seed).random((n, 6)) < rng.choice([0.3, 0.5, 0.7, 0.9])).astype(np.int8)
    votes[rng.randrange(n), :] = -1  # somebody has no model for this
    weather = Weather(delay=rng.choice([0.0, 0.002, 0.02, 0.1]), drop=rng.choice([0.0, 0.0, 0.03, 0.15]))
    drawn = hostile_kinds(seed, n, kinds)
    honest = [place for place in range(n) if place not in drawn]
    hostile = made_hostile(drawn, rng, SECONDS, honest)
    # What is promised holds for every k and alpha, those too that a node would not play by default.
    anything = dict.fromkeys(range(n), Policy(least_alpha=1, least_k=1))
    moot = Moot(
        votes, seed, weather=weather, hostile=hostile, policies=anything,
        holdouts=dict.fromkeys(range(n), SURE),
        adversaries={p: ATTACKS[kind.removeprefix("lies: ")]() for p, kind in drawn.items() if kind in LIES},
        two_faced=[place for place, kind in drawn.items() if kind == TWO_CLOSES],
    )  # fmt: skip
    if switched_off:
        for place in drawn:
            moot.crash(place)
    protocol = rng.choice(["slush", "slush", "snowball", "snowflake"])
    k = min(n - 1, rng.choice([3, 5, 10]))
    trust = rng.random() < 0.1 or any(kind in WITH_TRUST for kind in drawn.values())
    for number in range(2):
        moot.put(
            rng.choice(honest),
            at=number * rng.uniform(0, 4),
            seconds=SECONDS,
            protocol=protocol,
            beta=4,
            k=k,
            alpha=rng.randint(k // 2 + 1, k),
            rounds=10,
            pace=rng.choice([0.0, 0.02]),
            created=1e9 + number,
            trust=trust and number == 0,
        )
    make_trouble(moot, rng, honest)
    return moot


def make_trouble(moot: Moot, rng: random.Random, honest: Sequence[int]) -> None:
    """Crashes and restarts of some of the honest, and a partition."""
    n = moot.n
    for place in rng.sample(honest, rng.randint(0, n // 4)):
        when = rng.uniform(0, SECONDS)
        moot.at(when, lambda p=place: moot.crash(p))  # type: ignore[misc]
        if rng.random() < 0.8:
            moot.at(when + rng.uniform(0.01, SECONDS), lambda p=place: moot.start(p))  # type: ignore[misc]
    if rng.random() < 0.5:
        side = rng.sample(range(n), rng.randint(1, n // 2))
        moot.at(rng.uniform(0, 4), lambda: moot.network.divide(side))
        moot.at(rng.uniform(4, 8), lambda: moot.network.divide())


def hostile_kinds(seed: int, n: int, kinds: Sequence[str] = DRAWN) -> dict[int, str]:
    """Who is hostile in a storm, and how."""
    rng = random.Random(f"hostile {seed}")
    bad = rng.sample(range(n), rng.randint(1, faults(n))) if seed % 3 else []
    return {place: rng.choice(kinds) for place in bad}


def hostile_in(moot: Moot) -> set[int]:
    """The places of the members that are not honest."""
    return {*moot.adversaries, *moot.two_faced, *moot.hostile}


def assert_promises_hold(moot: Moot) -> dict[bytes, Found]:
    """All that is promised with f < n/5; returns what the honest's motions without trust came to, by name."""
    honest = [place for place in range(moot.n) if place not in hostile_in(moot)]
    frames: dict[tuple[bytes, int], bytes] = {}
    verdicts: dict[bytes, list[list[int]]] = {}
    seconds: dict[bytes, list[float]] = {}
    to_spare: dict[bytes, int] = {}
    for place in honest:
        storage = moot.storages[place]
        for stored in storage.motions():
            motion, held = stored.motion, storage.held(stored.name)
            if not motion.trust:
                decisions = outcome_in(stored, held).decisions.tolist()
                for i, colour in enumerate(decisions):
                    assert colour in (-1, *moot.votes[honest, i]), "no honest participant voted so at first"
                verdicts.setdefault(stored.name, []).append(decisions)
                if "seconds" in stored.summary and motion.asker in honest:
                    seconds.setdefault(stored.name, []).append(stored.summary["seconds"])
                    to_spare[stored.name] = motion.k - motion.alpha
            for signer, close in held.closes.items():
                if signer in honest:  # wherever it is kept, it is the same close
                    assert frames.setdefault((stored.name, signer), m.encode(close)) == m.encode(close)
            for accused, proof in held.evidence:
                assert accused not in honest
                participant = moot.roster[accused]
                assert proves(proof, participant.public_key, bytes.fromhex(participant.fingerprint))
            if stored.closed is None and moot.nodes[place] is not None:
                # A hostile member may tell a node of a motion that it has missed at any time, and say that
                # all of its seconds are left. It ends when these are over.
                assert stored.ends > 1e9 + moot.network.time
    assert_heard_the_same([each for each in moot.listened if each.place in honest])
    found = {}
    for name, claims in verdicts.items():
        for one, other in combinations(claims, 2):
            assert all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=True))
        if name in seconds:
            decided = np.array([max(column) >= 0 for column in zip(*claims, strict=True)])
            found[name] = Found(decided, sum(seconds[name]) / len(seconds[name]), to_spare[name])
    return found


def assert_agree(one: Verdict, other: Verdict) -> None:
    """Two honest nodes decide no different labels, and claim no numbers that are further apart than tol."""
    same = (one.decisions == other.decisions) | (one.decisions < 0) | (other.decisions < 0)
    assert same.all(), "two honest nodes decide different labels"
    if isinstance(one, NumberVerdict) and isinstance(other, NumberVerdict):
        apart, rounding = np.abs(one.claims - other.claims), 4e-16 * np.abs(one.claims)
        assert (np.isnan(apart) | (apart <= one.tol + rounding)).all(), "two claims are too far apart"


def assert_heard_the_same(heard: list[Listened]) -> None:
    """Two nodes of which one compared with the other listened to no different votes of one participant."""
    for one in heard:
        for other in heard:
            if one.motion == other.motion and one.compared.get(other.place) == other.salt:
                both = (one.votes >= 0).any(axis=1) & (other.votes >= 0).any(axis=1)
                assert np.array_equal(one.votes[both], other.votes[both])


def run_through(moot: Moot) -> None:
    """To the end of the last motion, at which every live node must be done with it.

    A node counts the seconds from when it hears how many are left: what the frame was on its way comes on
    top, a tenth of a second on average in the slowest weather, and again if it was told anew. One that had
    missed a motion, and is told of it late by a hostile member that says that all seconds are left, counts
    these from then.
    """
    moot.network.run(until=4.0 + SECONDS + 2.0)
    for node, storage in zip(moot.nodes, moot.storages, strict=True):
        for running in [] if node is None else node._driver.under_way():
            name = running.session.name
            opened = [each.motion(name).opened for each in moot.storages if each.knows(name)]
            late = storage.motion(name).opened > min(opened) + 2.0
            assert running.session.motion.asker in hostile_in(moot) or (late and hostile_in(moot))
    moot.network.run(until=40.0)


if __name__ == "__main__":
    print(play(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or DRAWN), "and all promises hold")
