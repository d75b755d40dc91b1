"""What closes come to, against a count with Python's own numbers."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from folkmoot.network.wire import messages as m
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.packing import pack
from folkmoot.network.wire.verdict import first_votes, verdict
from folkmoot.node.membership.roster import faults, quorum
from support.network.one_session import motion_of

LABELS = ("a", "b", "c")


def close(motion: Motion, place: int, decisions: list[int], first: list[int], reason: str = "") -> m.Close:
    packed = [pack(np.array(votes, dtype=np.int8), motion.classes) for votes in (decisions, first)]
    return m.Close(bytes(32), place, packed[0], bytes(32), packed[1], reason, bytes(64))


@pytest.mark.parametrize("n", [3, 5, 7, 11])
def test_a_decision_is_a_label_that_a_quorum_has_signed(n: int) -> None:
    rng = random.Random(n)
    for _ in range(30):
        motion = motion_of(n, inputs=8, labels=LABELS)
        closed = rng.sample(range(n), rng.randint(0, n))
        cheats = set(rng.sample(range(n), rng.randint(0, faults(n))))
        held = {p: [rng.choice([-1, 0, 0, 0, 1, 2]) for _ in range(8)] for p in closed}
        closes = {p: close(motion, p, votes, votes, "why" if p % 2 else "") for p, votes in held.items()}
        found = verdict(motion, n, closes, cheats)
        counted = sorted(set(closed) - cheats)
        assert found.closed == counted
        assert found.silent == [place for place in range(n) if place not in closed]
        assert found.abstained == {place: "why" for place in counted if place % 2}
        for place in range(8):
            tally = Counter(held[p][place] for p in counted if held[p][place] >= 0)
            colour, most = max(sorted(tally.items()), key=lambda item: item[1], default=(-1, 0))
            assert found.decisions[place] == (colour if most >= quorum(n) else -1)
            assert Fraction(found.agreement[place]).limit_denominator(100) == Fraction(
                most, max(1, len(counted))
            )
        assert found.undecided == found.decisions.tolist().count(-1)


@pytest.mark.parametrize("n", range(2, 60))
def test_two_quorums_share_an_honest_participant(n: int) -> None:
    """Two sets of q among n share at least 2q - n, of whom at most f lie."""
    assert 2 * quorum(n) - n > faults(n)
    assert quorum(n) <= n - faults(n) or n < 5


def test_with_trust_it_is_what_the_node_itself_holds_and_those_it_trusts_hold_too() -> None:
    motion = motion_of(4, inputs=4, labels=LABELS, trust=True)
    held = {0: [0, 1, 2, -1], 1: [0, 1, 0, 0], 2: [0, 0, 2, 0], 3: [1, -1, 1, 1]}
    closes = {place: close(motion, place, votes, votes) for place, votes in held.items()}
    found = verdict(motion, 4, closes, (), 0, [0.0, 3.0, 2.0, -5.0])
    shares = [Fraction(5, 5), Fraction(3, 5), Fraction(2, 5), Fraction(0)]
    assert found.agreement.tolist() == pytest.approx([float(share) for share in shares])
    assert found.decisions.tolist() == [0, 1, -1, -1]
    assert verdict(motion, 4, closes, {1}, 0, [0.0, 3.0, 2.0, 0.0]).decisions.tolist() == [0, -1, 2, -1]
    assert verdict(motion, 4, closes, (), None, [1.0] * 4).undecided == 4
    assert verdict(motion, 4, closes, (), 0, None).undecided == 4


def test_first_votes_are_those_of_who_committed_in_time() -> None:
    motion = motion_of(4, inputs=3, labels=LABELS)
    closes = {place: close(motion, place, [0, 0, 0], [place % 3, 1, -1]) for place in (0, 2, 3)}
    votes = first_votes(motion, 4, closes, {0, 1, 2})
    assert votes.tolist() == [[0, 1, -1], [-1, -1, -1], [2, 1, -1], [-1, -1, -1]]
