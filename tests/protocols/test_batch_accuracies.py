"""What a participant can claim on a batch: what its holdout shows, as far as its peers bear it out."""

from __future__ import annotations

from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np
import pytest

from folkmoot import Slush, StrongConfidence
from folkmoot.outcome import wilson_bound
from folkmoot.protocols.thresholds import batch_accuracies

Z = 0.8416


def by_hand(right: list[int], held: list[int], votes: Any) -> list[float]:
    """The same with a loop over every pair and input, in fractions."""
    n = len(votes)
    claims = []
    for i in range(n):
        shares, sizes = [], []
        for j in range(n):
            both = [(a, b) for a, b in zip(votes[i], votes[j], strict=True) if a >= 0 and b >= 0]
            if j != i and both:
                shares.append(Fraction(sum(a == b for a, b in both), len(both)))
                sizes.append(Fraction(len(both)))
        shown = float(wilson_bound(right[i], held[i], Z))
        if shares:
            share, size = median(shares), median(sizes)
            shown = min(shown, float(wilson_bound(float(share * size), float(size), -Z)))
        claims.append(shown)
    return claims


@pytest.mark.parametrize("seed", range(6))
def test_as_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, inputs = int(rng.integers(2, 9)), int(rng.integers(1, 90))
    votes = rng.integers(-1, 3, (n, inputs))
    votes[0] = -1 if seed == 3 else votes[0]
    held = rng.integers(0, 30, n)
    right = rng.integers(0, held + 1)
    found = batch_accuracies(right, held, votes)
    assert found == pytest.approx(by_hand(right.tolist(), held.tolist(), votes.tolist()))
    assert StrongConfidence.of_holdout(right, held, votes).p == tuple(found)
    for i in range(n):
        alone = batch_accuracies(right[i : i + 1], held[i : i + 1], votes, participants=[i])
        assert alone.tolist() == [found[i]]


def test_without_votes_the_holdout_alone_counts_and_without_that_nothing() -> None:
    right, held = [20, 18, 0, 0], [20, 20, 20, 0]
    alone = wilson_bound(right, held, Z)
    assert batch_accuracies(right, held).tolist() == alone.tolist()
    assert batch_accuracies(right, held, np.full((4, 3), -1)).tolist() == alone.tolist()
    assert StrongConfidence.of_holdout(right, held).thresholds(10).tolist() == [10, 9, 6, 6]


def test_more_inputs_say_more() -> None:
    """On one input alone who has half of the peers on its side keeps its holdout; on fifty it cannot."""
    pattern = np.array([[0, 0], [0, 1], [1, 0]])  # each agrees with either peer on every other input, or less
    claims = [
        float(batch_accuracies([20] * 3, [20] * 3, np.tile(pattern, times))[0]) for times in (1, 5, 25, 250)
    ]
    assert claims == sorted(claims, reverse=True)
    assert claims[0] > 0.75
    assert claims[-1] == pytest.approx(0.5, abs=0.02)
    unanimous = batch_accuracies([20] * 3, [20] * 3, np.zeros((3, 1), dtype=int))
    assert unanimous.tolist() == wilson_bound([20] * 3, [20] * 3, Z).tolist()


@pytest.mark.parametrize("seed", range(8))
def test_a_lying_minority_of_the_peers_moves_it_only_among_the_honest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 16))
    liars = int(rng.integers(1, (n - 1 + 1) // 2))  # fewer than half of the n - 1 peers
    truth = rng.integers(0, 2, 200)
    skill = rng.uniform(0.6, 1.0, (n, 1))
    votes = np.where(rng.random((n, 200)) < skill, truth, 1 - truth)
    held = np.full(n, 200)
    honest = range(liars, n)
    lies = (1 - votes[liars], votes[liars], 1 - truth, np.full(200, -1), rng.integers(0, 2, 200))
    for lie in lies:
        seen = votes.copy()
        seen[:liars] = lie
        found = batch_accuracies(held, held, seen)  # the holdouts would let all claim nearly 1
        for i in honest:
            shares = [float((votes[i] == votes[j]).mean()) for j in honest if j != i]
            least, most = (float(wilson_bound(200 * x, 200, -Z)) for x in (min(shares), max(shares)))
            assert least - 1e-12 <= found[i] <= most + 1e-12
    # However many lie, it is never above the holdout and never below a majority.
    seen[1:] = votes[0]
    assert batch_accuracies(held // 2, held, seen)[0] <= 0.55
    seen[1:] = 1 - votes[0]
    assert StrongConfidence.of_holdout(held, held, seen).thresholds(10)[0] == 6


def test_a_protocol_takes_them() -> None:
    votes = np.tile([[0, 1, 0, 1]], (5, 50))
    votes[4] = 1 - votes[4]
    confidence = StrongConfidence.of_holdout([99] * 5, [100] * 5, votes)
    assert Slush(4, confidence).thresholds(5).tolist() == [4, 4, 4, 4, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [3]), r"one number per participant: got \(2,\) and \(1,\)"),
        (([4], [3]), "0 <= right <= held_out"),
        (([-1], [3]), "0 <= right <= held_out"),
        (([1, 1], [3, 3], [[0, 1]]), r"votes must have a row per participant \(2\): got 1"),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        batch_accuracies(*arguments)
