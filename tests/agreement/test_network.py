"""The network against theory and simulation: real nodes on the memory transport, where a frame takes no time.

With Poisson clocks and no delays one node asks at a time, and who asks next is drawn uniformly: the very
chain of
theory. The inputs of one motion share its schedule, so each motion gives one value a start; motions are
independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import Others, Slush, Snowball, deliberate
from folkmoot.adversaries import Adversary, PerfectlyMalicious
from folkmoot.network.wire.packing import unpack
from folkmoot.protocols import SnowProtocol
from folkmoot.theory import SlushChain
from support.network.moot_in_memory import Moot
from support.statistics_of_agreement import assert_mean

EACH = 80  # inputs of each start
MOTIONS = 18


def votes_with(blue: list[int], n: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int8]]:
    """``EACH`` inputs for every number of blue votes, on seats drawn anew for each."""
    votes = np.zeros((n, len(blue) * EACH), dtype=np.int8)
    for column, count in enumerate(np.repeat(blue, EACH)):
        votes[rng.permutation(n)[:count], column] = 1
    return votes


def held_at_the_end(
    votes: Any, seed: int, adversaries: dict[int, Adversary] | None = None, **motion: Any
) -> Any:
    """(honest participant, input): what everybody held when it closed."""
    moot = Moot(votes, seed, adversaries=adversaries)
    moot.put(0, seconds=600.0, pace=0.1, **motion)
    moot.network.run(until=700.0)
    ((session, _),) = moot.over.values()
    honest = [place for place in range(moot.n) if place not in moot.adversaries]
    assert set(honest) <= set(session.closes)
    return np.stack(
        [unpack(session.closes[p].decisions, votes.shape[1], session.motion.classes) for p in honest]
    )


@pytest.mark.parametrize("byzantine", [0, 1])
def test_slush_over_the_network_is_absorbed_as_theory_says(byzantine: int) -> None:
    n, k, alpha = 7, 4, 3
    chain = SlushChain(n, k, alpha, byzantine=byzantine, sampling=Others())
    assert chain.honest == n - byzantine
    starts = list(range(1, n - byzantine))
    adversaries: dict[int, Adversary] = {n - 1: PerfectlyMalicious()} if byzantine else {}
    shares = np.empty((MOTIONS, len(starts)))
    for motion in range(MOTIONS):
        votes = votes_with(starts, n - byzantine, np.random.default_rng(motion))
        if byzantine:  # it takes its model's answer for the truth, and says the other one: red
            votes = np.vstack([votes, np.ones_like(votes[:1])])
        held = held_at_the_end(votes, motion, adversaries, k=k, alpha=alpha, rounds=40)
        assert (held == held[0]).all(axis=0).mean() > 0.99  # forty rounds are enough for almost all
        shares[motion] = (held == 1).mean(axis=0).reshape(len(starts), EACH).mean(axis=1)
    for column, blue in enumerate(starts):
        # What is still open after forty rounds of each is below a thousandth; the law after them is exact.
        exact = _expected_share(chain, blue, 40 * (n - byzantine))
        assert_mean(shares[:, column], exact)


def _expected_share(chain: SlushChain, blue: int, rounds: int) -> float:
    start = np.zeros(chain.honest + 1)
    start[blue] = 1.0
    law = chain.distribution(start, rounds)
    return float(law @ np.arange(chain.honest + 1) / chain.honest)


@pytest.mark.parametrize(
    ("protocol", "name", "classes"), [(Snowball(4, 3, 4), "snowball", 2), (Slush(4, 3), "slush", 3)]
)
def test_other_protocols_decide_over_the_network_as_in_simulation(
    protocol: SnowProtocol[Any], name: str, classes: int
) -> None:
    n, rounds = 7, 40
    votes = np.random.default_rng(5).integers(-1, classes, (n, 120)).astype(np.int8)
    motions = 15
    shares = np.empty((motions, classes))
    for motion in range(motions):
        held = held_at_the_end(
            votes, motion, protocol=name, k=4, alpha=3, beta=4, rounds=rounds, labels=tuple("abc"[:classes])
        )
        shares[motion] = [(held == colour).all(axis=0).mean() for colour in range(classes)]
    outcome = deliberate(
        votes.astype(np.int64),
        protocol,
        rounds=rounds,
        repeats=4000,
        batch="shared",
        classes=classes,
        missing="uncoloured",
    )
    for colour in range(classes):
        unanimous = outcome.settled & (outcome.counts[..., colour] == n)  # and, with Snowball, all decided
        assert_mean(shares[:, colour], float(unanimous.mean()))
