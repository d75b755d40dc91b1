"""The theory of hierarchies against fractions: every first vote and verdict enumerated."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from experiments.outlook.teams import hierarchy_verdict
from folkmoot import Others, Slush, Snowball
from folkmoot.outlook import Hierarchy
from folkmoot.theory import SlushChain
from support.oracles import teams as oracle

NINE = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
PAIRS = {"a": [0, 3], "b": [1, 4, 5], "c": [2, 6, 7, 8]}  # not in order, of different sizes
CASES: list[tuple[Hierarchy, oracle.Level, int]] = [
    (
        Hierarchy(NINE, Slush(2, 2), Slush(2, 2)),
        oracle.teams(NINE, oracle.slush(2, 2), oracle.slush(2, 2)),
        9,
    ),
    (  # k beyond the team's size is scaled, and a team at two to two sends no vote
        Hierarchy(PAIRS, Slush(5, 5), Slush(2, 2)),
        oracle.teams(list(PAIRS.values()), oracle.slush(5, 5), oracle.slush(2, 2)),
        9,
    ),
    (  # three levels: the second outer team is one team alone
        Hierarchy(
            [[0, 1], [2, 3, 4], [5, 6, 7]],
            Slush(2, 2),
            Hierarchy({"x": ["team 0", "team 2"], "y": ["team 1"]}, Slush(3, 2), Slush(3, 2)),
        ),
        oracle.teams(
            [[0, 1], [2, 3, 4], [5, 6, 7]],
            oracle.slush(2, 2),
            oracle.teams([[0, 2], [1]], oracle.slush(3, 2), oracle.slush(3, 2)),
        ),
        8,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=["thirds", "uneven", "deep"])
def test_exactly(case: Any) -> None:
    rule, level, n = case
    p = [Fraction(3 + i, 12) for i in range(n)]
    expected = oracle.chances(level, p)
    found = hierarchy_verdict(rule, [float(each) for each in p])
    assert found == pytest.approx([float(each) for each in expected], abs=1e-12)


def test_a_team_without_a_verdict_leaves_it_to_the_others() -> None:
    # Two to two in the only team is stuck: the chance of it is 6 / 16.
    assert hierarchy_verdict(Hierarchy([[0, 1, 2, 3]], Slush(3, 3), Slush(2, 2)), 0.5).none == 0.375
    beside = hierarchy_verdict(Hierarchy([[0, 1, 2, 3], [4]], Slush(3, 3), Slush(2, 2)), [0.5] * 4 + [1.0])
    assert beside.none == 0.0


def test_one_team_of_all_is_a_plain_talk() -> None:
    chain = SlushChain(11, k=5, alpha=4, sampling=Others())
    alone = hierarchy_verdict(Hierarchy([list(range(11))], Slush(5, 4), Slush(5, 4)), 0.6)
    assert alone.right == pytest.approx(chain.accuracy(0.6), rel=1e-12)


def test_everybody_a_team_is_a_plain_talk_of_delegates() -> None:
    chain = SlushChain(7, k=4, alpha=3, sampling=Others())
    each = hierarchy_verdict(Hierarchy([[i] for i in range(7)], Slush(4, 3), Slush(4, 3)), np.full(7, 0.7))
    assert each.right == pytest.approx(chain.accuracy(0.7), rel=1e-12)


@pytest.mark.parametrize(
    ("rule", "p", "message"),
    [
        (Hierarchy(NINE, Snowball(2, 2), Slush(2, 2)), 0.7, "Slush with one alpha and no weights"),
        (Hierarchy(NINE, Slush(2, [2] * 9), Slush(2, 2)), 0.7, "Slush with one alpha"),
        (Hierarchy(NINE, Slush(2, 2), Slush(2, 2, weights=[1, 2, 3])), 0.7, "no weights"),
        (Hierarchy(NINE, Slush(2, 2), Slush(2, 2)), [0.7] * 8, r"one per participant \(9\): got 8"),
        (Hierarchy(NINE, Slush(2, 2), Slush(2, 2)), 1.2, "0 <= p"),
        (Hierarchy([["ada", "bo"]], Slush(2, 2), Slush(2, 2)), 0.7, "team 'team 0' names 'ada', but"),
    ],
)  # fmt: skip
def test_refused(rule: Hierarchy, p: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hierarchy_verdict(rule, p)
