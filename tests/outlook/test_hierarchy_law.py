"""Hierarchies: simulation against the exact theory, also where teams stay undecided and on three levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.outlook.teams import hierarchy_verdict
from folkmoot import Slush, deliberate
from folkmoot.outlook import Hierarchy
from support.statistics_of_agreement import assert_law, counted

INPUTS = 8_000
RULES = {
    "five by five": Hierarchy(np.arange(25).reshape(5, 5).tolist(), Slush(3, 2), Slush(3, 3)),
    "uneven": Hierarchy([[8, 0], [1, 2, 3, 4], [5, 6, 7]], Slush(3, 3), Slush(2, 2)),
    "deep": Hierarchy(
        np.arange(18).reshape(6, 3).tolist(),
        Slush(2, 2),
        Hierarchy([[0, 1, 2], [3, 4, 5]], Slush(2, 2), Slush(1, 1)),
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_verdicts(name: str) -> None:
    rule = RULES[name]
    n = sum(map(len, rule.members))
    p = np.linspace(0.45, 0.8, n)
    generator = np.random.default_rng(7)
    votes = (generator.random((n, INPUTS)) < p[:, None]).astype(int)
    outcome = deliberate(votes, rule, rounds=100, seed=3)
    exact = hierarchy_verdict(rule, p)
    law: dict[Any, float] = {1: exact.right, 0: exact.wrong, -1: exact.none}
    assert_law(counted(outcome.decision), law)
    held = outcome.decisions[:, outcome.decision >= 0]
    assert (held == outcome.decision[outcome.decision >= 0]).all()
