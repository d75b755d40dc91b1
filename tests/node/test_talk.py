"""Members that talk before their final votes: the rule of a protocol, loss, silence, and local thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot.node.review import ballots_of
from folkmoot.node.session.terms import Terms
from folkmoot.protocols.naming import PROTOCOLS
from support.node.world import Node, Weather, World

LABELS = ("a", "b", "c")


def talking(votes: list[list[int]], weather: Weather | None = None, seed: int = 1, **terms: Any) -> World:
    """Honest members with these first votes, after their talk."""
    world = World(
        seed, len(votes), Terms(labels=LABELS, **{"protocol": "slush", "seconds": 20.0, **terms}),
        inputs=len(votes[0]), weather=weather or Weather(),
    )  # fmt: skip
    form = ballots_of(world.header, 0)
    for i, own in enumerate(votes):
        world.nodes.append(Node(world, i, [form.pack(np.array(own))]))
    world.run(200.0, world.decided)
    assert world.decided()
    return world


def final(world: World) -> np.ndarray[Any, Any]:
    """The final votes (member, input)."""
    motion = world.nodes[0].motion
    assert motion is not None
    return ballots_of(world.header, 1).table(motion.tables[1], world.n)


def decision(world: World) -> list[int]:
    """What all decided, and alike."""
    (answer,) = set().union(*(node.answers for node in world.nodes))
    found: list[int] = ballots_of(world.header, 1).unpack(answer).tolist()
    return found


MOST = [[0, 1]] * 5 + [[0, 2]] * 2 + [[1, 1]] * 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("k", [3, 10])
def test_members_come_to_agree(protocol: str, k: int) -> None:
    """Seven of nine hold one label, and with k = 10 each asks all others."""
    world = talking(MOST, protocol=protocol, k=k, beta=4)
    assert (final(world) == [0, 1]).all()
    assert decision(world) == [0, 1]


def test_a_majority_of_three_answers_wins_although_a_third_of_frames_is_lost() -> None:
    world = talking(MOST, Weather(drop=0.33), k=8, rounds=30)
    assert decision(world) == [0, 1]


def test_who_never_answers_counts_against_alpha() -> None:
    """Two of four ask all three others and need all three: one is away, so nobody changes its mind."""
    world = World(3, 4, Terms(labels=LABELS, protocol="slush", k=3, alpha=3, rounds=5, seconds=8.0), inputs=1)
    form = ballots_of(world.header, 0)
    for i, vote in enumerate([0, 0, 1, 0]):
        world.nodes.append(Node(world, i, [form.pack(np.array([vote]))]))
    world.nodes[3].honest = False
    real = world.carry
    world.carry = lambda sender, peer, frame: None if 3 in (sender, peer) else real(sender, peer, frame)  # type: ignore[method-assign]
    world.run(60.0, world.decided)
    assert world.decided()
    assert final(world)[:3, 0].tolist() == [0, 0, 1]


def test_weights_count_in_a_talk() -> None:
    """Two of five outweigh the others."""
    votes = [[0], [0], [1], [1], [1]]
    assert decision(talking(votes, k=4)) == [1]
    heavy = talking(votes, k=4, weights=(10, 10, 1, 1, 1))
    assert final(heavy)[2:, 0].tolist() == [0, 0, 0]


def test_a_local_threshold_is_that_of_the_holdout() -> None:
    """Each of nine had 18 of 20 rows right and wants 7 of 8 answers: six move nobody, as 5 of 8 would."""
    votes = [[0] * 20] * 6 + [[0] * 19 + [1]] * 3
    assert (final(talking(votes, k=8)) == 0).all()
    assert final(talking(votes, k=8, alpha="local"))[6:, 19].tolist() == [1, 1, 1]


def test_who_starts_again_talks_again() -> None:
    world = World(5, 5, Terms(labels=LABELS, protocol="slush", k=4, seconds=20.0), inputs=1)
    form = ballots_of(world.header, 0)
    for i, vote in enumerate([1, 0, 0, 0, 0]):
        world.nodes.append(Node(world, i, [form.pack(np.array([vote]))]))
    first = world.nodes[0]

    def crash() -> None:
        assert first.motion is not None
        talk = first.motion.talk
        assert talk is not None
        assert not talk.over
        first.motion = None
        world.after(0.2, first.start)

    world.at(1.5, crash)
    world.run(200.0, world.decided)
    assert world.decided()
    assert first.starts == 2
    assert (final(world) == 0).all()
