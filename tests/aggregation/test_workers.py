"""Models of workers, against counts by hand, products of chances vote by vote, and planted skills."""

from __future__ import annotations

import math

import numpy as np
import pytest

from folkmoot.aggregation.workers import MODELS, Crowd, Model, by_habit, mace, one_coin, shrunk
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


def test_accuracies_by_hand() -> None:
    """All err alike, so each is shrunk to the mean as far as it goes: by 64 votes."""
    counts = Crowd.of(VOTES[:, :4], 3).counts(np.eye(3)[TRUTH[:4]])
    mean = (8 + 1) / (10 + 3)
    for worker, (right, cast) in enumerate([(3, 3), (3, 4), (2, 3)]):
        alone = (right + 64 * mean) / (cast + 64)
        assert one_coin(counts)[worker, 0, 0] == pytest.approx(alone)
        assert one_coin(counts)[worker, 0, 2] == pytest.approx((1 - alone) / 2)


@pytest.mark.parametrize("strength", [1.0, 3.0, 12.0])
def test_how_far_to_shrink_is_told_by_how_much_workers_differ(strength: float) -> None:
    """Counts of a Dirichlet-multinomial distribution, whose parameter is found again."""
    rng, mean = np.random.default_rng(7), np.array([0.6, 0.3, 0.1])
    many = rng.integers(5, 40, 4000)
    counts = np.array([rng.multinomial(n, rng.dirichlet(strength * mean)) for n in many], dtype=float)
    found = shrunk(counts, mean)
    expected = (counts + strength * mean) / (many + strength)[:, None]
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_workers_who_differ_by_chance_alone_are_alike() -> None:
    rng, mean = np.random.default_rng(8), np.array([0.7, 0.3])
    counts = rng.multinomial(10, mean, 3000).astype(float)
    assert np.abs(shrunk(counts, mean) - mean).max() <= 10 / 74 * 0.7 + 1e-9
    assert np.isfinite(shrunk(np.zeros((3, 2)), mean)).all()


@pytest.mark.parametrize("model", MODELS, ids=[each.__name__ for each in MODELS])
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
    for model in MODELS:
        answer = crowd.learnt(model, gold, [crowd.shares()]).argmax(axis=1)
        odds = np.log(right / (1 - right))
        best = (np.where(votes == 1, odds[:, None], -odds[:, None]).sum(axis=0) > 0).astype(int)
        assert (answer == best).mean() > 0.96


def test_of_two_starts_the_likelier_is_taken() -> None:
    """Three of five are always wrong: gold contradicts what is found from the majority."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 300)
    votes = np.where(rng.random((5, 300)) < 0.9, truth, 1 - truth)
    votes[2:] = 1 - truth
    gold, crowd = np.where(np.arange(300) < 10, truth, -1), Crowd.of(votes, 2)
    starts = [crowd.shares(), 0.8 * np.eye(2)[truth] + 0.1]
    for order in (starts, starts[::-1]):
        answer = crowd.learnt(by_habit, gold, order).argmax(axis=1)
        assert (answer == truth).mean() > 0.95
