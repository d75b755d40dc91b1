from __future__ import annotations

import numpy as np

from folkmoot.comparing.stacking import stacked, stacked_numbers

RNG = np.random.default_rng(0)


def test_stacking_reads_a_liar_backwards() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 200)
    votes = np.stack([(truth + 1) % 3, rng.integers(0, 3, 200), np.full(200, -1)])
    labels = stacked(votes, truth, 3, seed=0)
    assert labels is not None
    assert (labels == truth).mean() > 0.95
    # It never answers what it has learnt from: with votes that say nothing it can only guess.
    guessed = stacked(rng.integers(0, 2, (5, 200)), rng.integers(0, 2, 200), 2, seed=0)
    assert guessed is not None
    assert abs((guessed == truth.clip(0, 1)).mean() - 0.5) < 0.2


def test_stacking_needs_two_inputs_of_every_class() -> None:
    assert stacked(np.zeros((3, 4), dtype=int), np.array([0, 0, 0, 1]), 2, seed=0) is None
    assert stacked(np.zeros((3, 4), dtype=int), np.zeros(4, dtype=int), 2, seed=0) is None


def test_stacked_numbers_weigh_who_knows() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(200, 1))
    sent = np.stack([-truth, rng.normal(size=(200, 1))])
    found = stacked_numbers(sent, truth, seed=0)
    assert found is not None
    assert np.abs(found - truth).max() < 0.05
    assert stacked_numbers(sent[:, :9], truth[:9], seed=0) is None
