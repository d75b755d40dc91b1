"""Federated motions over the network against ``Federated`` of the library: same votes, same decisions.

On a network that loses and delays nothing everybody hears everybody before it speaks again, which is the
lockstep of the library. So nothing is left to chance and decisions are equal, not only in law.
"""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot import deliberate
from folkmoot.adversaries import Adversary, ConstantColour, PerfectlyMalicious, Silent
from folkmoot.federated import Federated, QuorumSet
from folkmoot.network.storage.account import outcome_of
from support.network.federated_moot import FederatedMoot, any_of, name_of

INPUTS = 12


def drawn(rng: np.random.Generator, n: int) -> dict[int, QuorumSet]:
    """Sets of each one's own: nearly all others, or two groups of which both are needed."""
    if rng.random() < 0.5:
        sets = {}
        for place in range(n):
            left = rng.permutation(n)[: rng.integers(n - 2, n + 1)].tolist()
            sets[place] = any_of(int(rng.integers(len(left) // 2 + 1, len(left) + 1)), *left)
        return sets
    half = n // 2
    one, other = any_of(half // 2 + 1, *range(half)), any_of((n - half) // 2 + 1, *range(half, n))
    return dict.fromkeys(range(n), QuorumSet(2, [], [one, other]))


def decided_alike(seed: int) -> int:
    """Assert that a motion drawn by a seed is decided as by the library; how often something is decided."""
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    votes = rng.integers(-1, classes, (n, INPUTS)).astype(np.int8)
    votes[0, 0] = classes - 1  # so that all labels are there
    sets = drawn(rng, n)
    liars: dict[int, Adversary] = {}
    truth, compared = None, np.ones(INPUTS, dtype=bool)
    if seed % 3 == 2:
        liar = int(rng.integers(1, n))
        liars = {liar: [Silent(), ConstantColour(0), PerfectlyMalicious()][seed % 4 % 3]}
        # A real liar takes its own model's answer for the truth, and is silent where there is none.
        truth, compared = np.maximum(votes[liar], 0).astype(np.int64), votes[liar] >= 0
    moot = FederatedMoot(votes, seed, dict(sets), adversaries=liars)
    moot.put(0, seconds=60.0)
    moot.network.run(100.0)
    outcome = deliberate(
        votes.astype(np.int64),
        Federated({name_of(place): sets[place] for place in range(n)}),
        adversaries=liars,
        truth=truth,
        classes=classes,
        rounds=400,
    )
    count = 0
    for place in [place for place in range(n) if place not in liars]:
        (stored,) = moot.storages[place].motions()
        found = outcome_of(moot.storages[place], stored).decisions
        expected = outcome.decisions[place]
        assert np.array_equal(found[compared], expected[compared]), (seed, place)
        count += int((expected[compared] >= 0).sum())
    return count


def test_nodes_decide_as_the_library_does() -> None:
    decided = [decided_alike(seed) for seed in (0, 1, 7, 8)]
    assert sum(map(bool, decided)) == 4
    assert sum(decided) > 200


@pytest.mark.slow
def test_nodes_decide_as_the_library_does_in_many_systems() -> None:
    assert sum(decided_alike(seed) for seed in range(100, 200)) > 2000
