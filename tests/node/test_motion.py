"""A motion end to end in one process: what all members decide is what the votes say, counted by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from folkmoot.node.review import ballots_of
from folkmoot.node.session.terms import Terms
from support.node.world import Node, Weather, World

LABELS = ("a", "b", "c")
CHOICES = [[0, 1, 2, 0], [0, 1, 1, 0], [0, 2, 2, 1], [1, 1, 2, 1], [0, 1, 0, 2], [0, 1, 0, 2], [2, 2, 2, 2]]


def world(n: int, terms: Terms, choices: list[list[int]], weather: Weather | None = None) -> World:
    """Honest members with these votes."""
    found = World(7, n, terms, weather=weather or Weather(), inputs=len(choices[0]))
    form = ballots_of(found.header, 0)
    for i in range(n):
        found.nodes.append(Node(found, i, [form.pack(np.array(choices[i]))] * terms.polls))
    return found


def answers(played: World) -> list[int]:
    """What all decided, and alike."""
    found = set().union(*(node.answers for node in played.nodes))
    assert len(found) == 1
    labels: list[int] = ballots_of(played.header, 1).unpack(found.pop()).tolist()
    return labels


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("believe", ["all", "own"])
def test_all_decide_what_most_voted(n: int, believe: str) -> None:
    played = world(n, Terms(labels=LABELS, believe=believe), CHOICES[:n])  # type: ignore[arg-type]
    played.run(60.0, played.decided)
    assert played.decided()
    expected = []
    for column in zip(*CHOICES[:n], strict=True):
        (label, votes), *others = Counter(column).most_common()
        tied = others and others[0][1] == votes
        expected.append(-1 if tied or votes < played.members.faults + 1 else label)
    assert answers(played) == expected


def test_a_motion_of_four_takes_eight_delays_of_a_frame() -> None:
    """Commit, propose, prevote, precommit, reveal, propose, prevote, precommit; then each knows."""
    played = world(4, Terms(labels=LABELS), CHOICES, Weather(delay=1e9, most=0.05))
    played.run(60.0, played.decided)
    assert played.time == pytest.approx(8 * 0.05)


def test_a_member_that_is_away_does_not_hold_the_others_up_for_ever() -> None:
    terms = Terms(labels=LABELS, seconds=20.0)
    played = world(4, terms, CHOICES)
    played.nodes[2].delays = [1e9]
    played.run(60.0, played.decided)
    assert played.decided()
    assert terms.window < played.time < terms.window + 7 * played.delta
    for node in played.nodes:
        assert node.motion is not None
        assert sorted(node.motion.tables[0]) == [0, 1, 3]


def test_nobody_decides_without_n_minus_f() -> None:
    played = world(4, Terms(labels=LABELS, seconds=4.0), CHOICES)
    for i in (1, 2):
        played.nodes[i].delays = [40.0]
    played.run(39.0)
    assert not any(node.answers for node in played.nodes)
    played.run(80.0, played.decided)
    assert played.decided()
    assert answers(played)[0] == 0
