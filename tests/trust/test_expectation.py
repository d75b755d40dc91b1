"""Truth and skill in turn, with some truths given: compared with the same sums written out in plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from folkmoot.trust.expectation import estimate, one_hot
from folkmoot.votes import Votes


def in_loops(
    votes: Votes, start: list[list[float]], known: list[bool], classes: int, rounds: int, one_coin: bool
) -> list[list[float]]:
    """(input, colour) after some rounds."""
    n, inputs = votes.shape
    colours = range(classes)
    belief = [list(row) for row in start]
    for _ in range(rounds):
        prior = [0.01 + sum(belief[i][j] for i in range(inputs)) for j in colours]
        rate = {}
        for k in range(n):
            seen = [i for i in range(inputs) if votes[k, i] >= 0]
            right = sum(belief[i][votes[k, i]] for i in seen)
            for j in colours:
                row = [0.01 + sum(belief[i][j] for i in seen if votes[k, i] == m) for m in colours]
                for m in colours:
                    rate[k, j, m] = row[m] / sum(row)
                    if one_coin:
                        p = (right + 1) / (len(seen) + classes)
                        rate[k, j, m] = p if m == j else (1 - p) / (classes - 1)
        for i in range(inputs):
            if known[i]:
                continue
            here = [k for k in range(n) if votes[k, i] >= 0]
            odds = [prior[j] * math.prod(rate[k, j, votes[k, i]] for k in here) for j in colours]
            belief[i] = [each / sum(odds) for each in odds]
    return belief


@pytest.mark.parametrize("one_coin", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_known_truths_stay_and_teach(classes: int, one_coin: bool) -> None:
    rng = np.random.default_rng(classes)
    votes = rng.integers(-1, classes, (6, 12))
    start = rng.dirichlet(np.ones(classes), 12)
    known = np.arange(12) < 4
    start[known] = np.eye(classes)[rng.integers(0, classes, 4)]
    for rounds in (1, 7):
        found = estimate(
            one_hot(votes, classes), start, known=known, one_coin=one_coin, iterations=rounds, tolerance=0.0
        )
        expected = in_loops(votes, start.tolist(), known.tolist(), classes, rounds, one_coin)
        np.testing.assert_allclose(found.belief, expected, atol=1e-10)
        np.testing.assert_array_equal(found.belief[known], start[known])
        assert found.iterations == rounds
