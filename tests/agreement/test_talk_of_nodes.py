"""Nodes that talk against theory and simulation: real sessions on a network where a frame takes no time.

With a random pause before each round and no delays one node asks at a time, and who asks next is drawn
uniformly: the very chain of theory. The inputs of one motion share its schedule, so each motion gives one
value per start; motions are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import Others, Slush, Snowball, deliberate
from folkmoot.node.review import ballots_of
from folkmoot.node.session.terms import Terms
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.theory import SlushChain
from support.node.world import Node, Weather, World
from support.statistics_of_agreement import assert_mean

N, K, ALPHA, ROUNDS = 7, 4, 3, 40
EACH = 80  # inputs of each start
MOTIONS = 18
AT_ONCE = Weather(delay=1e-9, most=1e-9)


class Stubborn(Node):
    """It asks nobody, and answers everybody with its first votes."""

    def received(self, peer: int, frame: bytes) -> None:
        super().received(peer, frame)
        if self.motion is not None and self.motion.talk is not None:
            self.motion.talk._stopped = True


def held_at_the_end(votes: Any, seed: int, *, stubborn: int = 0, **terms: Any) -> Any:
    """(member that follows the rules, input): its final vote."""
    motion = {"labels": ("a", "b"), "protocol": "slush", "k": K, "alpha": ALPHA, "rounds": ROUNDS, **terms}
    world = World(seed, N, Terms(seconds=600.0, **motion), inputs=votes.shape[1], weather=AT_ONCE)
    for i, own in enumerate(votes):
        kind = Stubborn if i >= N - stubborn else Node
        world.nodes.append(kind(world, i, [ballots_of(world.header, 0).pack(own)]))
    world.run(2000.0, world.decided)
    told = world.nodes[0].motion
    assert told is not None
    assert set(range(N - stubborn)) <= set(told.tables[1])
    return ballots_of(world.header, 1).table(told.tables[1], N)[: N - stubborn]


@pytest.mark.parametrize("stubborn", [0, 1])
def test_slush_among_nodes_is_absorbed_as_theory_says(stubborn: int) -> None:
    honest = N - stubborn
    chain = SlushChain(N, K, ALPHA, byzantine=stubborn, sampling=Others())
    starts = np.arange(1, honest)
    shares = np.empty((MOTIONS, len(starts)))
    for motion in range(MOTIONS):
        draw = np.random.default_rng(motion)
        votes = np.zeros((N, len(starts) * EACH), dtype=np.int64)
        for column, blue in enumerate(np.repeat(starts, EACH)):
            votes[draw.permutation(honest)[:blue], column] = 1
        held = held_at_the_end(votes, motion, stubborn=stubborn)
        assert (held == held[0]).all(axis=0).mean() > 0.99  # forty rounds are enough for almost all
        shares[motion] = (held == 1).mean(axis=0).reshape(len(starts), EACH).mean(axis=1)
    for column, blue in enumerate(starts):
        # What is still open after forty rounds of each is below a thousandth; the law after them is exact.
        law = chain.distribution(np.eye(honest + 1)[blue], ROUNDS * honest)
        assert_mean(shares[:, column], float(law @ np.arange(honest + 1) / honest))


@pytest.mark.parametrize(
    ("protocol", "name", "classes"),
    [(Snowball(K, ALPHA, 4), "snowball", 2), (Slush(K, ALPHA), "slush", 3)],
    ids=["snowball", "three labels"],
)
def test_other_protocols_decide_among_nodes_as_in_simulation(
    protocol: SnowProtocol[Any], name: str, classes: int
) -> None:
    votes = np.random.default_rng(5).integers(-1, classes, (N, 120))
    shares = np.empty((MOTIONS, classes))
    for motion in range(MOTIONS):
        held = held_at_the_end(votes, motion, protocol=name, beta=4, labels=tuple("abc"[:classes]))
        shares[motion] = [(held == label).all(axis=0).mean() for label in range(classes)]
    outcome = deliberate(
        votes, protocol, rounds=ROUNDS, repeats=4000, batch="shared", classes=classes, missing="present"
    )
    for label in range(classes):
        unanimous = outcome.converged & (outcome.counts[..., label] == N)  # and, with Snowball, all decided
        assert_mean(shares[:, label], float(unanimous.mean()))
