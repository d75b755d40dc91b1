"""The real node code in every storm that a seed can brew: its promises hold, and a seed replays to the byte.

Safety is by construction (a quorum of signatures), so the bound here is zero: no two honest nodes ever claim
different decisions, no honest node ever signs twice, nobody honest is ever accused.
"""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from folkmoot.adversaries import ATTACKS
from folkmoot.network import messages as m
from folkmoot.network.account import outcome_of
from folkmoot.network.liar import PLAYABLE
from folkmoot.network.memory import Weather
from folkmoot.network.roster import faults
from folkmoot.network.session import Phase
from folkmoot.network.statements import proves
from support.moot_in_memory import Moot

SECONDS = 8.0
QUICK = [*((seed, 7) for seed in range(188)), *((seed, 25) for seed in range(188, 200))]
ALL = [*((seed, 7) for seed in range(1200)), *((seed, 25) for seed in range(1200, 2000))]


def stormy(seed: int, n: int) -> Moot:
    """Liars, losses, delays, crashes, restarts, a partition, and two motions: all from the seed."""
    rng = random.Random(f"storm {seed}")
    votes = (np.random.default_rng(seed).random((n, 6)) < rng.choice([0.3, 0.5, 0.7, 0.9])).astype(np.int8)
    votes[rng.randrange(n), :] = -1  # somebody has no model for this
    weather = Weather(delay=rng.choice([0.0, 0.002, 0.02, 0.1]), drop=rng.choice([0.0, 0.0, 0.03, 0.15]))
    bad = rng.sample(range(n), rng.randint(0, faults(n)))
    two_faced = [place for place in bad if rng.random() < 0.3]
    adversaries = {p: ATTACKS[rng.choice(PLAYABLE)]() for p in bad if p not in two_faced}
    moot = Moot(votes, seed, adversaries=adversaries, weather=weather, two_faced=two_faced)
    protocol = rng.choice(["slush", "slush", "snowball", "snowflake"])
    k = min(n - 1, rng.choice([3, 5, 10]))
    for number in range(2):
        moot.put(
            rng.randrange(n),
            at=number * rng.uniform(0, 4),
            seconds=SECONDS,
            protocol=protocol,
            beta=4,
            k=k,
            alpha=rng.randint(k // 2 + 1, k),
            rounds=10,
            pace=rng.choice([0.0, 0.02]),
            created=1e9 + number,
        )
    for place in rng.sample(range(n), rng.randint(0, n // 4)):
        when = rng.uniform(0, SECONDS)
        moot.at(when, lambda p=place: moot.crash(p))  # type: ignore[misc]
        if rng.random() < 0.8:
            moot.at(when + rng.uniform(0.01, SECONDS), lambda p=place: moot.start(p))  # type: ignore[misc]
    if rng.random() < 0.5:
        side = rng.sample(range(n), rng.randint(1, n // 2))
        moot.at(rng.uniform(0, 4), lambda: moot.network.divide(side))
        moot.at(rng.uniform(4, 8), lambda: moot.network.divide())
    return moot


def assert_promises_hold(moot: Moot) -> int:
    """All that is promised with f < n/5; returns on how many inputs some honest node claims a decision."""
    honest = [p for p in range(moot.n) if p not in moot.adversaries and p not in moot.two_faced]
    claimed = 0
    frames: dict[tuple[bytes, int], bytes] = {}
    verdicts: dict[bytes, list[list[int]]] = {}
    for place in honest:
        storage = moot.storages[place]
        for stored in storage.motions():
            decisions = outcome_of(storage, stored).decisions.tolist()
            verdicts.setdefault(stored.name, []).append(decisions)
            for signer, close in storage.closes(stored.name).items():
                if signer in honest:  # wherever it is kept, it is the same close
                    assert frames.setdefault((stored.name, signer), m.encode(close)) == m.encode(close)
            for accused, proof in storage.evidence(stored.name):
                assert accused not in honest
                participant = moot.roster[accused]
                assert proves(proof, participant.public_key, bytes.fromhex(participant.fingerprint))
            assert stored.closed is not None or moot.nodes[place] is None
    for claims in verdicts.values():
        for one, other in combinations(claims, 2):
            assert all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=True))
        claimed += sum(max(column) >= 0 for column in zip(*claims, strict=True))
    return claimed


def run_through(moot: Moot) -> None:
    """To the end of the last motion, at which every live node must be done with it.

    A node counts the seconds from when it hears how many are left: what the frame was on its way comes on
    top, a tenth of a second on average in the slowest weather, and again if it was told anew.
    """
    moot.network.run(until=4.0 + SECONDS + 2.0)
    for node in moot.nodes:
        if node is not None:
            assert node.open_motions == 0
    moot.network.run(until=40.0)


@pytest.mark.parametrize("part", range(10))
def test_the_promises_hold_in_every_storm(part: int) -> None:
    claimed = 0
    for seed, n in QUICK[part::10]:
        moot = stormy(seed, n)
        run_through(moot)
        claimed += assert_promises_hold(moot)
    assert claimed > 60  # of 240: the storms leave something to agree on


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_the_promises_hold_in_two_thousand_storms(part: int) -> None:
    for seed, n in ALL[part::20]:
        moot = stormy(seed + 10_000, n)
        run_through(moot)
        assert_promises_hold(moot)


@pytest.mark.parametrize(("seed", "n"), [(3, 7), (11, 7), (190, 25)])
def test_a_seed_replays_byte_for_byte(seed: int, n: int) -> None:
    one, other = stormy(seed, n), stormy(seed, n)
    run_through(one)
    run_through(other)
    assert one.network.frames > 100
    assert one.network.trace == other.network.trace
    different = stormy(seed + 1, n)
    run_through(different)
    assert different.network.trace != one.network.trace


def test_without_faults_everybody_agrees_on_everything() -> None:
    votes = (np.random.default_rng(1).random((25, 40)) < 0.7).astype(np.int8)
    moot = Moot(votes, 5, weather=Weather(delay=0.005))
    moot.put(3, k=10, alpha=6, rounds=30)
    moot.network.run(until=30.0)
    ((session, summary),) = moot.over.values()
    outcome = session.verdict()
    assert session.phase is Phase.OVER
    assert (outcome.decisions >= 0).all()
    assert outcome.agreement.min() == 1.0
    assert outcome.silent == []
    assert summary["queries"] == 300
    assert_promises_hold(moot)


def test_a_two_faced_participant_is_caught_and_does_not_split_the_moot() -> None:
    votes = np.ones((7, 8), dtype=np.int8)
    moot = Moot(votes, 1, weather=Weather(delay=0.005, drop=0.1), two_faced=[2])
    moot.put(0, seconds=SECONDS, k=4, alpha=3)
    moot.network.run(until=30.0)
    assert_promises_hold(moot)
    name = next(iter(moot.over))
    assert any(accused == 2 for s in moot.storages for accused, _ in s.evidence(name))
