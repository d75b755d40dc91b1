"""Gold first, then talk: the same as calling each step by hand, and when nobody can."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot import Slush
from folkmoot.adversaries import Adversary, PerfectlyMalicious
from folkmoot.simulation.peer_reviewed import review_gold_first
from folkmoot.trust import TrustWarning, check_answers, review_gold, sampling_weights, split_gold

N, GOLD, INPUTS = 20, 16, 150
RNG = np.random.default_rng(3)
TRUTH = RNG.integers(0, 2, GOLD + INPUTS)
VOTES = np.where(RNG.random((N, GOLD + INPUTS)) < 0.7, TRUTH, 1 - TRUTH)
TOLD = np.where(np.arange(GOLD + INPUTS) < GOLD, TRUTH, -1)
LIARS: dict[int, Adversary] = {i: PerfectlyMalicious() for i in range(12)}
RIGHT = TRUTH[GOLD:]


def test_each_step_by_hand() -> None:
    votes = VOTES.copy()
    votes[19, GOLD:] = -1  # it takes no part
    votes[0, :GOLD] = votes[0, GOLD : GOLD + 30] = -1  # and a liar is not everywhere
    gold = split_gold(votes, TOLD, 2)
    found = review_gold_first(votes[:, GOLD:], gold, adversaries=LIARS, truth=RIGHT, classes=2)
    assert found is not None

    lies = votes.copy()
    lies[:12] = np.where(votes[:12] >= 0, 1 - TRUTH, -1)
    review = review_gold(check_answers(lies[:, :GOLD], TRUTH[:GOLD], classes=2), lies[:, GOLD:])
    assert np.flatnonzero(found.anchored).tolist() == list(range(12, 19))
    assert np.flatnonzero(found.speaking).tolist() == list(range(19))
    np.testing.assert_array_equal(found.held[12:19], np.stack([review.decide()] * 7))
    np.testing.assert_array_equal(found.held[:12], votes[:12, GOLD:])
    assert (found.held[19] == -1).all()
    np.testing.assert_allclose(found.sure[12], np.abs(review.chances[:, 0] - review.chances[:, 1]))
    asked = sampling_weights(found.trusts, found.speaking)
    assert not asked[12:19, :12].any()  # nobody asks those who lie
    assert not asked[:12].any()
    assert (asked[12, 13:19] > 0).all()

    outcome = found.talk(Slush(10, 6), LIARS, truth=RIGHT, classes=2, repeats=2)
    np.testing.assert_array_equal(outcome.decision, np.stack([review.decide()] * 2))
    assert outcome.accuracy(RIGHT) == 1.0  # who is always wrong tells the truth


def test_nobody_anchors() -> None:
    rng = np.random.default_rng(4)
    told = np.full(TOLD.size, -1)
    told[:GOLD] = rng.integers(0, 2, GOLD)
    noise = rng.integers(0, 2, VOTES.shape)
    gold = split_gold(noise, told, 2)
    with pytest.warns(TrustWarning, match="nobody can anchor by gold.*do not predict it"):
        assert review_gold_first(noise[:, GOLD:], gold, classes=2) is None
    everybody: dict[int, Adversary] = dict.fromkeys(range(N), PerfectlyMalicious())
    gold = split_gold(VOTES, TOLD, 2)
    with pytest.warns(TrustWarning, match="no honest participant has votes"):
        assert review_gold_first(VOTES[:, GOLD:], gold, adversaries=everybody, truth=RIGHT, classes=2) is None
