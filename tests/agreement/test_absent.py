"""Sparse votes against brute force: the talk on an input is that of its voters alone, enumerated exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from folkmoot import Everyone, Others, Slush, Snowball, Snowflake, deliberate
from folkmoot.adversaries import ConstantClass, Silent
from folkmoot.adversaries.interface import Adversary
from folkmoot.outcome import Schedule
from support.oracles import simulation as oracle
from support.statistics_of_agreement import assert_law, counted

TRIALS = 20_000
RULES = {"slush": Slush, "snowflake": Snowflake, "snowball": Snowball}
# rule, k, alpha, beta, votes of the honest with -1 for absent, own votes and answers of the liars, colours
CASES: list[tuple[oracle.Rule, int, Any, int, list[int], list[tuple[int, int]], int]] = [
    ("slush", 5, 3, 0, [0, -1, 1, -1, -1, 1, 1, -1], [], 2),
    ("slush", 5, 5, 0, [-1, 2, 1, -1, 1, 1, 1, -1], [], 3),
    ("slush", 3, 2, 0, [0, -1, -1, -1, 1, -1], [], 2),
    ("slush", 3, 2, 0, [0, -1, 1, 1, -1], [(0, 0), (-1, 0)], 2),
    ("slush", 4, 3, 0, [0, -1, 1, 1, 2], [(1, -1), (-1, 2)], 3),
    ("slush", 4, [3, 4, 3, 4, 4, 3, 3], 0, [0, 1, -1, 1, -1, 0, 0], [], 2),
    ("snowflake", 5, 4, 2, [0, -1, 1, 1, 0], [(1, 0), (-1, 0)], 2),
    ("snowflake", 5, 3, 2, [-1, 0, 1, 2, -1, 0], [], 3),
    ("snowball", 4, 3, 2, [-1, 0, 1, 1, 0], [(0, -1)], 2),
    ("snowball", 4, 4, 2, [0, -1, 1, -1, 1, 1], [], 2),
]  # fmt: skip


def scaled(alpha: int, k: int, size: int) -> int:
    """The threshold of a smaller query, at the same place between the least majority and unanimity."""
    if size >= k:
        return alpha
    least, small = k // 2 + 1, size // 2 + 1
    place = Fraction(0) if k == least else Fraction(alpha - least, k - least)
    exact = small + place * (size - small)
    return int(exact + Fraction(1, 2))


@pytest.mark.parametrize("explicit", [False, True], ids=["table", "explicit"])
@pytest.mark.parametrize("schedule", ["one", "lockstep"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[4]}-{case[5]}")
def test_law_of_the_voters(case: Any, schedule: Schedule, explicit: bool) -> None:
    rule, k, alpha, beta, honest, lying, colours = case
    self_sampling = k == 5
    voters = [i for i, vote in enumerate(honest) if vote >= 0]
    answers = [answer for own, answer in lying if own >= 0]
    n, c, rounds = len(voters) + len(answers), len(voters), 2
    size = min(k, n - 1)
    each = [alpha] * len(honest) if isinstance(alpha, int) else alpha
    law = (oracle.one_law if schedule == "one" else oracle.lockstep_law)(
        rule, oracle.start(rule, [honest[i] for i in voters], colours), c,
        rounds * c if schedule == "one" else rounds,
        k=size, alpha=[scaled(each[i], k, size) for i in voters], self_sampling=self_sampling, beta=beta,
        byzantine=answers, by_node=True, lump=True,
    )  # fmt: skip
    liars: dict[int, Adversary] = {
        len(honest) + j: ConstantClass(answer) if answer >= 0 else Silent()
        for j, (_, answer) in enumerate(lying)
    }
    more = {} if rule == "slush" else {"beta": beta}
    column = np.array([*honest, *(own for own, _ in lying)])
    outcome = deliberate(
        np.repeat(column[:, None], TRIALS, axis=1),
        RULES[rule](k, alpha if isinstance(alpha, int) else [*each, *[each[0]] * len(lying)], **more),
        adversaries=liars,
        rounds=rounds,
        sampling=Everyone() if self_sampling else Others(),
        schedule=schedule,
        classes=colours,
        record=explicit,
        missing="absent",
        seed=11,
    )
    expected = oracle.reduced(law, lambda joint: tuple(node.colour for node in joint))
    assert_law(counted(outcome.decisions[voters].T), {key: float(x) for key, x in expected.items()})
    absent = np.setdiff1d(np.arange(len(column)), voters)
    assert (outcome.decisions[absent] == -1).all()
    assert outcome.voters.tolist() == [c] * TRIALS
    counts = np.array([[np.sum(outcome.decisions[voters] == x, axis=0) for x in range(colours)]])[0]
    assert np.array_equal(outcome.decision, np.where(2 * counts.max(0) > c, counts.argmax(0), -1))


@pytest.mark.parametrize("explicit", [False, True], ids=["plain", "recorded"])
def test_weights_of_the_voters(explicit: bool) -> None:
    weights = [3.0, 9.0, 1.0, 0.5, 2.0, 7.0, 1.0]
    votes = np.array([0, -1, 1, 1, 0, -1, 1])
    voters = np.flatnonzero(votes >= 0).tolist()
    law = oracle.one_law(
        "slush", oracle.start("slush", votes[voters].tolist(), 2), 5, 10, k=4, alpha=scaled(5, 6, 4),
        self_sampling=False, weights=[weights[i] for i in voters], by_node=True,
    )  # fmt: skip
    outcome = deliberate(
        np.repeat(votes[:, None], TRIALS, axis=1),
        Slush(6, 5, weights=weights),
        rounds=2,
        missing="absent",
        record=explicit,
        seed=5,
    )
    expected = oracle.reduced(law, lambda joint: tuple(node.colour for node in joint))
    assert_law(counted(outcome.decisions[voters].T), {key: float(x) for key, x in expected.items()})
