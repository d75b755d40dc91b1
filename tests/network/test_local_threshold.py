"""A node's own threshold (``--alpha local``): from its holdout, as far as its peers' votes bear it out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import StrongConfidence
from folkmoot.arrays import Colours
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.session.judgement import LocalThreshold
from folkmoot.network.session.stance import Stance
from folkmoot.network.wire.motion import LOCAL
from folkmoot.thresholds import batch_accuracies
from folkmoot.trust import Anchor
from support.network.moot_in_memory import Moot

N, INPUTS, K = 15, 120, 10
GOOD = Holdout([("a", "a")] * 14 + [("b", "b")] * 13 + [("a", "b")] * 1 + [("b", "a")] * 2)  # 27 of 30


def thresholds(votes: Colours, **options: Any) -> list[int]:
    """What each node's session came to."""
    moot = Moot(votes, 3, holdouts=dict.fromkeys(range(N - 1), GOOD))  # the last one has none
    moot.put(0, k=K, alpha=LOCAL, rounds=8, **options)
    moot.network.run(until=40.0)
    (name,) = moot.over
    found = []
    for node in moot.nodes:
        assert node is not None
        session = node.session(name)
        assert session is not None
        assert session.minutes.local is None  # it is fixed
        stance = session._stance
        assert isinstance(stance, Stance)
        alpha = stance.rule.alpha
        assert isinstance(alpha, int)
        found.append(alpha)
    return found


def test_without_peers_it_is_the_holdouts_and_without_a_holdout_the_least() -> None:
    assert LocalThreshold.of(None, K).alpha() == 6
    anchor = Anchor.of_counts(27, 30, 2)
    assert [LocalThreshold.of(anchor, K).alpha()] == StrongConfidence.of_holdout([27], [30]).thresholds(
        K
    ).tolist()


@pytest.mark.parametrize("trust", [False, True])
def test_peers_that_agree_bear_it_out_and_peers_that_do_not_lower_it(trust: bool) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, INPUTS).astype(np.int8)
    alike = np.tile(truth, (N, 1))
    assert thresholds(alike, trust=trust) == [9] * (N - 1) + [6]
    at_odds = rng.integers(0, 2, (N, INPUTS)).astype(np.int8)
    found = thresholds(at_odds)  # without trust by those that it happens to ask first
    assert max(found) <= 7
    assert found.count(6) >= N - 2


def test_with_revealed_votes_it_is_that_of_the_estimators() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, INPUTS)
    skill = np.linspace(0.55, 1.0, N)[:, None]
    votes = np.where(rng.random((N, INPUTS)) < skill, truth, 1 - truth)
    right, held_out = [27] * (N - 1) + [0], [30] * (N - 1) + [0]
    expected = StrongConfidence(batch_accuracies(right, held_out, votes)).thresholds(K).tolist()
    assert len(set(expected)) > 1
    assert thresholds(votes.astype(np.int8), trust=True) == expected


def test_a_large_batch_is_compared_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    votes = rng.integers(0, 2, (5, 40_000)).astype(np.int8)
    local = LocalThreshold(95, 100, K)
    whole = local.alpha(votes[0], list(votes[1:]))
    monkeypatch.setattr("folkmoot.network.session.judgement.MOST_HEARD", 1)
    assert local.alpha(votes[0], list(votes[1:])) == whole == 6
    assert local.alpha(votes[0], [votes[0]] * 4) == local.alpha() == 10
