"""Models of workers, against counts by hand, products of chances vote by vote, and planted skills."""

from __future__ import annotations

import math

import numpy as np
import pytest

from folkmoot.aggregation.workers import MODELS, Crowd, Model, confusion, mace, majority, one_coin
from folkmoot.arrays import Floats, Ints

VOTES = np.array([[0, 1, -1, 2, 0], [0, 0, 1, 2, -1], [1, 1, 1, -1, 0]])
TRUTH = np.array([0, 1, 1, 2, -1])


def planted(chances: Floats, tasks: int, seed: int) -> tuple[Ints, Ints]:
    """Votes of workers that vote by these chances (worker, right class, vote), and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, chances.shape[1], tasks)
    votes = [[rng.choice(len(each), p=each[label]) for label in truth] for each in chances]
    return np.array(votes), truth


def test_counts_are_those_of_the_table() -> None:
    counts = Crowd.of(VOTES, 3).counts(np.eye(3)[[0, 1, 1, 2, 0]])
    expected = np.zeros((3, 3, 3))
    for worker, row in enumerate(VOTES.tolist()):
        for right, vote in zip([0, 1, 1, 2, 0], row, strict=True):
            if vote >= 0:
                expected[worker, right, vote] += 1
    np.testing.assert_array_equal(counts, expected)


def test_accuracies_and_matrices_by_hand() -> None:
    """Eight of ten votes are right, of three classes; two votes are like all, half a one is like itself."""
    counts = Crowd.of(VOTES[:, :4], 3).counts(np.eye(3)[TRUTH[:4]])
    mean = (8 + 1) / (10 + 3)
    for worker, (right, cast) in enumerate([(3, 3), (3, 4), (2, 3)]):
        alone = (right + 2 * mean) / (cast + 2)
        assert one_coin(counts)[worker, 0, 0] == pytest.approx(alone)
        assert one_coin(counts)[worker, 0, 2] == pytest.approx((1 - alone) / 2)
        row = counts[worker, 1] + 0.5 * one_coin(counts)[worker, 1]
        np.testing.assert_allclose(confusion(counts)[worker, 1], row / row.sum())
    assert majority(counts)[:, 0, 0] == pytest.approx([mean] * 3)


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_chances_add_up_to_one(model: Model) -> None:
    counts = np.random.default_rng(0).random((4, 3, 3)) * 20
    np.testing.assert_allclose(model(counts).sum(axis=2), 1)


def test_the_posterior_is_a_product_over_votes() -> None:
    chances = np.random.default_rng(1).dirichlet(np.ones(3), (3, 3))
    logs = Crowd.of(VOTES, 3).logs(chances)
    for task in range(VOTES.shape[1]):
        for label in range(3):
            cast = [chances[k, label, VOTES[k, task]] for k in range(3) if VOTES[k, task] >= 0]
            assert logs[task, label] == pytest.approx(math.log(math.prod(cast)))


def test_habits_are_told_from_knowledge() -> None:
    """Two that know, one that knows half and else says class 2, one that always says class 1."""
    knows, habit = np.array([0.95, 0.9, 0.5, 0.0]), np.eye(3)[[0, 0, 2, 1]]
    chances = knows[:, None, None] * np.eye(3) + ((1 - knows)[:, None] * habit)[:, None]
    votes, truth = planted(chances, 3000, 2)
    found = mace(Crowd.of(votes, 3).counts(np.eye(3)[truth]))
    np.testing.assert_allclose(found, chances, atol=0.03)


def test_skills_and_truth_are_learnt_together() -> None:
    right = np.array([0.9, 0.85, 0.6, 0.55, 0.2])
    chances = np.where(np.eye(2, dtype=bool), right[:, None, None], 1 - right[:, None, None])
    votes, truth = planted(chances, 2000, 3)
    gold = np.where(np.arange(2000) < 20, truth, -1)
    crowd = Crowd.of(votes, 2)
    logs, learnt = crowd.learnt(one_coin, gold, crowd.shares())
    np.testing.assert_allclose(learnt[:, 0, 0], right, atol=0.04)
    odds = np.log(right / (1 - right))
    best = (np.where(votes == 1, odds[:, None], -odds[:, None]).sum(axis=0) > 0).astype(int)
    assert (logs.argmax(axis=1) == best).mean() > 0.97


def test_votes_that_a_model_foretells_were_left_out() -> None:
    """A fifth of the votes, each by the posterior of the other votes on its task."""
    votes, truth = planted(np.full((6, 2, 2), 0.25) + 0.5 * np.eye(2), 50, 4)
    crowd, known = Crowd.of(votes, 2), np.full(50, -1)
    out = np.random.default_rng(0).permutation(300) % 5 == 0
    without = votes.copy()
    without[crowd.who[out], crowd.at[out]] = -1
    start = crowd.shares()
    logs, chances = Crowd.of(without, 2).learnt(one_coin, known, start)
    total = 0.0
    for worker, task, vote in zip(crowd.who[out], crowd.at[out], crowd.said[out], strict=True):
        odds = np.exp(logs[task]) / np.exp(logs[task]).sum()
        total += math.log(sum(odds[label] * chances[worker, label, vote] for label in range(2)))
    assert crowd.fit(one_coin, known, start) == pytest.approx(5 * total)
    assert (truth >= 0).all()
