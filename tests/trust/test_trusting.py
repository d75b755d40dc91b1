"""The weighted vote, its margins and whom to ask, against loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from folkmoot.datasets import group_votes
from folkmoot.trust import Anchor, Trust, class_probabilities, decide, listen, margins, sampling_weights


def make(weight: list[float], *, classes: int = 3, own: int = 0, anchored: bool = True) -> Trust:
    n = len(weight)
    rng = np.random.default_rng(n)
    confusion = rng.dirichlet(np.ones(classes), (n, classes))
    return Trust(
        own=own,
        classes=classes,
        inputs=100,
        anchored=anchored,
        accuracy=np.full(n, 0.5),
        standard_error=np.zeros(n),
        weight=np.array(weight, dtype=float),
        voice=np.linspace(0.2, 1.0, n),
        confusion=confusion,
        prior=np.arange(1.0, classes + 1) / np.arange(1, classes + 1).sum(),
        camps=np.arange(n),
        cliques=(),
        recognition=0.5,
        why="",
    )


def test_decisions_and_margins_are_those_of_a_loop() -> None:
    trust = make([1.5, -0.7, 0.4, 0.0])
    votes = np.random.default_rng(0).integers(-1, 3, (4, 200))
    decided, margin = decide(votes, trust), margins(votes, trust)
    for i in range(200):
        sums = [sum(w for w, v in zip(trust.weight, votes[:, i], strict=True) if v == c) for c in range(3)]
        best, second = sorted(sums)[::-1][:2]
        assert decided[i] == (-1 if math.isclose(best, second, abs_tol=1e-9) else int(np.argmax(sums)))
        assert margin[i] == pytest.approx((best - second) / 2.6, abs=1e-12)
    assert (decided == -1).any()
    assert (decided >= 0).any()


def test_per_class_decisions_are_those_of_a_loop() -> None:
    trust = make([1.5, -0.7, 0.4, 0.0])
    votes = np.random.default_rng(1).integers(-1, 3, (4, 200))
    decided = decide(votes, trust, per_class=True)
    for i in range(200):
        score = np.log(trust.prior)
        for j in range(3):  # the fourth has no weight and is not heard
            if votes[j, i] >= 0:
                score = score + trust.voice[j] * np.log(trust.confusion[j, :, votes[j, i]])
        assert decided[i] == int(np.argmax(score))


def test_nothing_is_decided_without_weights() -> None:
    votes = np.zeros((3, 5), dtype=np.int64)
    nobody = make([0.0, 0.0, 0.0], anchored=False)
    assert decide(votes, nobody).tolist() == [-1] * 5
    assert decide(votes, nobody, per_class=True).tolist() == [-1] * 5
    assert margins(votes, nobody).tolist() == [0.0] * 5


def test_whom_to_ask() -> None:
    trusts = [
        make([2.0, 1.0, -1.0], own=0),
        make([0.5, 2.0, 0.3], own=1),
        make([0.0, 0.0, 0.0], own=2, anchored=False),
    ]
    np.testing.assert_allclose(sampling_weights(trusts), [[0.0, 1.0, 0.0], [0.5, 0.0, 0.3], [0.0, 0.0, 0.0]])
    speaking = [True, True, False]
    np.testing.assert_allclose(
        sampling_weights(trusts, speaking), [[0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]
    )


def test_votes_of_others_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a row per participant \(3\): got 2"):
        decide(np.zeros((2, 5), dtype=np.int64), make([1.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="class < 2"):
        decide(np.full((3, 5), 2), replace(make([1.0, 1.0, 1.0], classes=2)))


def test_class_probabilities_are_those_of_a_loop() -> None:
    trust = make([1.5, -0.7, 0.4, 0.0], own=2)
    votes = np.random.default_rng(2).integers(-1, 3, (4, 150))

    def odds(i: int, sharp: float, leave_out: int | None = None) -> list[float]:
        sums = [
            sum(trust.weight[j] for j in range(4) if j != leave_out and votes[j, i] == c) for c in range(3)
        ]
        total = sum(math.exp(sharp * each) for each in sums)
        return [math.exp(sharp * each) / total for each in sums]

    def foretold(sharp: float) -> float:
        said = 0.0
        for i in np.flatnonzero(votes[2] >= 0):
            chances = odds(int(i), sharp, leave_out=2)
            said += math.log(sum(chances[c] * trust.confusion[2, c, votes[2, i]] for c in range(3)))
        return said

    best = max((2.0 ** (-i / 3) for i in range(19)), key=foretold)
    assert class_probabilities(votes, trust) == pytest.approx(
        np.array([odds(i, best) for i in range(150)]), rel=1e-9
    )


def test_class_probabilities_of_independent_voters_are_the_posterior() -> None:
    votes, truth, _ = group_votes([(8, 0.75), (3, 0.25)], inputs=5000, seed=1)
    chances = class_probabilities(votes, listen(0, votes, Anchor.of_counts(right=30, held_out=40)))
    for_one = (2 * votes[:8] - 1).sum(axis=0) - (2 * votes[8:] - 1).sum(axis=0)  # those below 1/2 backwards
    posterior = 1 / (1 + 3.0**-for_one)
    assert np.abs(chances[:, 1] - posterior).mean() < 0.02
    sure = chances[:, 1] > 0.9
    assert abs(truth[sure].mean() - chances[sure, 1].mean()) < 0.01


def test_who_is_alone_believes_its_log_odds_and_who_trusts_nobody_knows_nothing() -> None:
    alone = make([math.log(4), 0.0], classes=2)
    assert class_probabilities([[0, 1, -1], [1, 1, 1]], alone) == pytest.approx(
        np.array([[0.8, 0.2], [0.2, 0.8], [0.5, 0.5]])
    )
    nobody = make([0.0, 0.0, 0.0])
    assert class_probabilities([[0], [1], [1]], nobody) == pytest.approx(np.full((1, 3), 1 / 3))
