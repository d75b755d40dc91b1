"""Storms on the memory transport, all of it from a seed, and the promises that must hold in each.

    PYTHONPATH=tests python -m support.network.storms SEED NODES

plays one storm again.
"""

from __future__ import annotations

import random
import sys
from itertools import combinations

import numpy as np

from folkmoot.adversaries import ATTACKS
from folkmoot.network.membership.roster import faults
from folkmoot.network.service.policy import Policy
from folkmoot.network.session.drill import PLAYABLE
from folkmoot.network.storage.account import outcome_of
from folkmoot.network.transports.memory import Weather
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.statements import proves
from support.network.moot_in_memory import Moot

SECONDS = 8.0


def play(seed: int, n: int) -> int:
    """One storm, and its promises; returns on how many inputs some honest node claims a decision."""
    try:
        moot = stormy(seed, n)
        run_through(moot)
        return assert_promises_hold(moot)
    except Exception as error:
        again = f"PYTHONPATH=tests python -m support.network.storms {seed} {n}"
        error.add_note(f"storm of seed {seed} among {n} nodes: {again}")
        raise


def stormy(seed: int, n: int) -> Moot:
    """Liars, losses, delays, crashes, restarts, a partition, and two motions: all from the seed."""
    rng = random.Random(f"storm {seed}")
    votes = (np.random.default_rng(seed).random((n, 6)) < rng.choice([0.3, 0.5, 0.7, 0.9])).astype(np.int8)
    votes[rng.randrange(n), :] = -1  # somebody has no model for this
    weather = Weather(delay=rng.choice([0.0, 0.002, 0.02, 0.1]), drop=rng.choice([0.0, 0.0, 0.03, 0.15]))
    bad = rng.sample(range(n), rng.randint(0, faults(n)))
    two_faced = [place for place in bad if rng.random() < 0.3]
    adversaries = {p: ATTACKS[rng.choice(PLAYABLE)]() for p in bad if p not in two_faced}
    # What is promised holds for every k and alpha, those too that a node would not play by default.
    anything = dict.fromkeys(range(n), Policy(least_alpha=1, least_k=1))
    moot = Moot(votes, seed, adversaries=adversaries, weather=weather, two_faced=two_faced, policies=anything)
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
            for i, colour in enumerate([] if stored.motion.trust else decisions):
                assert colour in (-1, *moot.votes[honest, i]), "no honest participant voted so at first"
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


if __name__ == "__main__":
    print(play(*map(int, sys.argv[1:])), "inputs are decided, and all promises hold")
