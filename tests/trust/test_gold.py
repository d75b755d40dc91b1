from __future__ import annotations

import numpy as np
import pytest

from folkmoot.trust import listen_all, reputation, split_gold


def test_gold_anchors_and_leaves_the_rest() -> None:
    votes = np.array([[0, 1, 1, 0, 1], [1, 1, -1, 0, 0]])
    found = split_gold(votes, [0, -1, 1, -1, 0], 2)
    assert [(anchor.right, anchor.held_out) for anchor in found.anchors] == [(2, 3), (1, 2)]
    assert found.left.tolist() == [False, True, False, True, False]
    assert found.inputs == 3
    with pytest.raises(ValueError, match="nothing left to decide"):
        split_gold(votes, [0, 1, 1, 0, 0], 2)


def test_reputation_is_what_the_others_think() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    votes = np.where(rng.random((7, 200)) < 0.8, truth, 1 - truth)
    votes[6] = 1 - truth
    gold = np.where(np.arange(200) < 40, truth, -1)
    found = split_gold(votes, gold, 2)
    trusts = listen_all(votes[:, found.left], [*found.anchors[:5], None, None], classes=2)
    accuracy, weight = reputation(trusts)
    for i in (0, 6):
        others = [trusts[j] for j in range(5) if j != i]
        assert all(trust.anchored for trust in others)
        assert accuracy[i] == pytest.approx(np.mean([trust.accuracy[i] for trust in others]))
        assert weight[i] == pytest.approx(np.mean([trust.weight[i] for trust in others]))
    assert accuracy[6] < 0.2
    nobody = reputation(listen_all(votes[:, found.left], [None] * 7, classes=2))
    assert np.isnan(nobody).all()
