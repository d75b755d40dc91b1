"""Gold tasks: what the mix of rules comes to, by hand, and where most workers tell one story."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot.aggregation.gold import review_gold
from folkmoot.arrays import Ints
from support.crowds import dense_crowd


def crowd(seed: int, gold: int, story: bool = False) -> tuple[Ints, Ints, Ints, Ints]:
    """Votes on gold and its truth, votes on the rest and its truth; 60% may tell one story."""
    votes, truth = dense_crowd(seed, deceptive=0.0)
    rng = np.random.default_rng([seed, 9])
    some = np.zeros(truth.size, dtype=np.bool_)
    some[rng.permutation(truth.size)[:gold]] = True
    if story:
        liars = rng.permutation(len(votes))[: round(0.6 * len(votes))]
        votes[liars] = rng.integers(0, 2, truth.size)
    return votes[:, some], truth[some], votes[:, ~some], truth[~some]


def test_what_comes_out_by_hand() -> None:
    gold, told, votes, _ = crowd(3, 20)
    found = review_gold(gold, told, votes, 2)
    np.testing.assert_allclose(found.chances.sum(axis=1), 1)
    np.testing.assert_allclose(found.unseen.sum(axis=1), 1)
    assert sum(found.shares.values()) == pytest.approx(1)
    there = np.flatnonzero(votes[0] >= 0)
    counted = sum(found.chances[i, votes[0, i]] for i in there)
    total = len(there) + int((gold[0] >= 0).sum())
    p = (counted + int((gold[0] == told).sum()) + 1) / (total + 2)
    assert found.weight[0] == pytest.approx(np.log(p / (1 - p)))


def test_gold_is_answered_by_rules_that_have_not_seen_it() -> None:
    """Each of ten gold tasks is a fold: what it is told to be does not matter to its own answer."""
    gold, told, votes, _ = crowd(1, 10)
    before = review_gold(gold, told, votes, 2)
    other = told.copy()
    other[4] = 1 - other[4]
    after = review_gold(gold, other, votes, 2)
    np.testing.assert_allclose(after.unseen[4], before.unseen[4], atol=0.05)  # but for the ridge's pull
    assert np.abs(after.chances - before.chances).max() > 0.02  # while it does to the others


def test_one_story_of_most_workers_is_one_voice() -> None:
    right, majority = [], []
    for seed in range(30, 34):
        gold, told, votes, truth = crowd(seed, 22, story=True)
        right.append((review_gold(gold, told, votes, 2).chances.argmax(axis=1) == truth).mean())
        majority.append(((votes == 1).sum(axis=0) > (votes == 0).sum(axis=0)) == truth)
    assert np.mean(majority) < 0.65
    assert np.mean(right) > np.mean(majority) + 0.15
