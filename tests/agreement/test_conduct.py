"""The conduct of participants that trust: simulation against nodes on the memory transport, same votes.

What they open with is the same bit for bit. After the talk, the share of right decisions of those who anchor
differs by at most 0.01, and it is at most 0.01 below that before the talk, whoever lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import Slush
from folkmoot.adversaries import ATTACKS, Adversary, Sleeper, Steadfast, colluding_votes
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.session.judgement import judge
from folkmoot.network.wire.packing import unpack
from folkmoot.simulation.self_anchored import listen_first
from folkmoot.testing.liars import PLAYABLE
from folkmoot.trust import Anchor
from support.network.moot_in_memory import Moot

N, LIARS, INPUTS, ROUNDS, BOUND = 20, 12, 150, 12, 0.01
HONEST = N - LIARS
HOLDOUT = Holdout([("a", "a")] * 12 + [("b", "b")] * 12 + [("a", "b")] * 3 + [("b", "a")] * 3)
ANCHOR = Anchor.of_confusion([[12, 3], [3, 12]])
STORY, SLEEPER, LIAR_IN_TALK = "a story", "sleepers on 19%", "sleepers on all"


def scene(attack: str, seed: int) -> tuple[Any, Any, dict[int, Adversary]]:
    """Votes, truth and liars. A node takes its model's answer for the truth: a liar's model knows it."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, INPUTS)
    votes = np.where(rng.random((N, INPUTS)) < 0.8, truth, 1 - truth)
    lying = range(HONEST, N)
    if attack == STORY:
        votes[HONEST:] = colluding_votes(INPUTS, 2, seed=seed)
        return votes, truth, {i: Steadfast() for i in lying}
    if attack in (SLEEPER, LIAR_IN_TALK):
        return votes, truth, {i: Sleeper(share=0.19 if attack == SLEEPER else 1.0) for i in lying}
    votes[HONEST:] = truth
    return votes, truth, {i: ATTACKS[attack]() for i in lying}


def in_a_network(votes: Any, liars: dict[int, Adversary], seed: int) -> Any:
    sleepers = {i: liar for i, liar in liars.items() if isinstance(liar, Sleeper)}
    moot = Moot(
        votes.astype(np.int8), seed, holdouts=dict.fromkeys(range(N), HOLDOUT),
        adversaries={i: liar for i, liar in liars.items() if i not in sleepers},
    )  # fmt: skip
    for place, liar in sleepers.items():
        moot.make_sleeper(place, liar.share)
    moot.put(0, k=6, alpha=4, rounds=ROUNDS, trust=True)
    moot.network.run(until=40.0)
    ((session, _),) = moot.over.values()
    return np.stack([unpack(session.closes[place].decisions, INPUTS, 2) for place in range(HONEST)])


@pytest.mark.parametrize("attack", [*PLAYABLE, STORY, SLEEPER, LIAR_IN_TALK])
def test_network_and_simulation_conduct_themselves_alike(attack: str) -> None:
    seed = 3
    votes, truth, liars = scene(attack, seed)
    found = listen_first(votes, [ANCHOR] * N, adversaries=liars, truth=truth, classes=2)
    assert found is not None
    anchored = np.flatnonzero(found.anchored)
    assert len(anchored) >= HONEST - 1
    outcome = found.talk(Slush(6, 4), liars, truth=truth, classes=2, rounds=ROUNDS, repeats=20)
    before = (found.held[anchored] == truth).mean()
    simulated = (outcome.decisions[:, anchored] == truth).mean()
    played = (in_a_network(votes, liars, seed)[anchored] == truth).mean()
    assert simulated >= before - BOUND
    assert played >= before - BOUND
    assert abs(simulated - played) <= BOUND


def test_they_open_with_the_same() -> None:
    votes, truth, _ = scene("malicious", 3)
    found = listen_first(votes, [ANCHOR] * N, truth=truth, classes=2)
    assert found is not None
    for place in range(N):
        judgement = judge(place, votes.astype(np.int8), HOLDOUT.anchor(("a", "b")), 2)
        assert judgement.anchored == found.anchored[place]
        np.testing.assert_array_equal(judgement.start, found.held[place])
        np.testing.assert_array_equal(judgement.weights, found.trusts[place].weight)
