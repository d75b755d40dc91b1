"""Leaders over the network against the library: real nodes on the memory transport, where all are in step.

Frames take no time there, and are delivered in the order in which they were sent. So all ask before anybody
is answered, and as on one input nobody has a vote, everybody waits for the leader of every round: the
lockstep of the library. The inputs of one motion share leaders and queries, so each motion gives one value;
motions are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agreement.test_network import held_at_the_end
from folkmoot import Leaders, Slush, deliberate
from folkmoot.adversaries import Adversary, ConstantColour
from folkmoot.arrays import Colours
from support.network.signatures import checked_once
from support.statistics_of_agreement import assert_mean

ROUNDS = 2  # few, so that there is something left to differ in


def with_one_open(votes: Colours) -> Colours:
    """One more input, on which nobody has a vote and no query a winner: so everybody waits for leaders."""
    return np.hstack([votes, np.full((len(votes), 1), -1, dtype=np.int8)])


def figures(counts: Any) -> list[float]:
    """Of (input, colour) counts: how often all hold one colour, the share of the most held, that of 1."""
    whole = counts.sum(axis=-1)
    most = counts.max(axis=-1)
    return [
        float((most == whole).mean()),
        float((most / whole).mean()),
        float((counts[..., 1] / whole).mean()),
    ]


# The liar names a label that nobody else does. So when it leads it shows nothing, in both.
@pytest.mark.parametrize(("n", "k", "alpha", "liars", "motions"), [(7, 4, 4, 0, 14), (8, 5, 4, 1, 14)])
@checked_once()
def test_leaders_over_the_network_are_followed_as_in_simulation(
    n: int, k: int, alpha: int, liars: int, motions: int
) -> None:
    votes = np.random.default_rng(3).integers(0, 2, (n, 100)).astype(np.int8)
    adversaries: dict[int, Adversary] = {place: ConstantColour(2) for place in range(n - liars, n)}
    found = np.empty((motions, 3))
    for motion in range(motions):
        held = held_at_the_end(
            with_one_open(votes), motion, adversaries, protocol="leaders", k=k, alpha=alpha, rounds=ROUNDS,
            labels=("a", "b", "c"),
        )[:, :-1]  # fmt: skip
        found[motion] = figures(np.stack([(held == colour).sum(axis=0) for colour in range(3)], axis=-1))
    expected = {
        rule: figures(
            deliberate(
                votes.astype(np.int64), rule, rounds=ROUNDS, repeats=500, batch="shared", classes=3,
                schedule="lockstep", adversaries=adversaries,
            ).counts
        )
        for rule in (Leaders(k, alpha), Slush(k, alpha))
    }  # fmt: skip
    for number in range(3):
        assert_mean(found[:, number], expected[Leaders(k, alpha)][number])
    with pytest.raises(AssertionError, match="z = "):  # without leaders it would be another law
        assert_mean(found[:, 1], expected[Slush(k, alpha)][1])
