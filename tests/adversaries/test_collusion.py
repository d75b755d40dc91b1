"""Stories told together: the same for all who share a seed, and of the kind they promise."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.improvement.traitors import stealthy_votes
from folkmoot import Slush, deliberate
from folkmoot.adversaries import colluding_votes
from folkmoot.adversaries.behaviours import Steadfast
from folkmoot.adversaries.interface import Knows, Sees


def test_a_clique_tells_one_story_unrelated_to_the_truth() -> None:
    story = colluding_votes(30_000, 3, seed=1)
    np.testing.assert_array_equal(story, colluding_votes(30_000, 3, seed=1))
    assert (story != colluding_votes(30_000, 3, seed=2)).any()
    # A third of each colour: 4.5 standard errors of a binomial share.
    assert np.abs(np.bincount(story) / 30_000 - 1 / 3).max() < 4.5 * np.sqrt(2 / 9 / 30_000)


def test_traitors_are_honest_but_for_their_share() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 20_000)
    own = rng.integers(0, 3, (4, 20_000))
    told = stealthy_votes(own, truth, 3, share=0.1, seed=3)
    changed = (told != own).any(axis=0)
    struck = (told == (truth + 1) % 3).all(axis=0)
    assert not (changed & ~struck).any()
    # Struck, or by chance all four said so themselves (1/81).
    assert abs(struck.mean() - (0.1 + 0.9 / 81)) < 4.5 * np.sqrt(0.1 / 20_000)
    np.testing.assert_array_equal(stealthy_votes(own, truth, 3, share=0.0, seed=3), own)
    assert (stealthy_votes(own, truth, 3, share=1.0, seed=3) == (truth + 1) % 3).all()


def test_steadfast_says_its_vote_in_the_talk() -> None:
    liar = Steadfast()
    assert (liar.knows, liar.sees) == (Knows.OWN_VOTE, Sees.NOTHING)
    assert [liar.answer(0, vote=v, truth=0, classes=3) for v in range(3)] == [0, 1, 2]
    assert liar.first_vote(0, vote=2, truth=0, classes=3) == 2
    votes = np.zeros((21, 50), dtype=np.int64)
    votes[3:] = 1
    votes[:3] = colluding_votes(50, 2, seed=4)
    liars = {i: Steadfast() for i in range(3)}
    outcome = deliberate(votes, Slush(k=10, alpha=6), adversaries=liars, seed=0)
    assert (outcome.decisions[3:] == 1).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: colluding_votes(0, 2, seed=0), "inputs must satisfy inputs >= 1"),
        (lambda: colluding_votes(5, 1, seed=0), "classes must satisfy classes >= 2"),
        (lambda: colluding_votes(5, 2, seed=-1), "seed must satisfy seed >= 0"),
        (lambda: stealthy_votes([[0, 1]], [0], 2, seed=0), r"one class per input \(2\)"),
        (lambda: stealthy_votes([[0, 5]], [0, 1], 2, seed=0), "class < 2: got 0 to 5"),
        (lambda: stealthy_votes([[0, 1]], [0, 1], 2, share=2, seed=0), "share must satisfy 0 <= share <= 1"),
    ],
)
def test_bad_stories_are_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
