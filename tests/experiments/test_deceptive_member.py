"""Deceptive members: the recorded votes, the lie and the shares by other means, and one small run."""

from __future__ import annotations

from collections import Counter

import numpy as np

from experiments.deceptive_member.moots import EXPERIMENT, LIES, MOOTS, lies, named, one, recorded, shares


def test_the_recorded_votes() -> None:
    votes, truth = recorded()
    assert votes.shape == (10, 1500)
    assert set(Counter(truth.tolist()).values()) == {60}
    assert ((votes == truth).mean(axis=1) > 0.6).all()


def test_a_lie_is_the_most_popular_wrong_label() -> None:
    votes, truth = recorded()
    said = lies(votes, truth)
    assert (said != truth).all()
    for i in range(0, 1500, 7):
        wrong = Counter(each for each in votes[:, i].tolist() if each not in (-1, truth[i]))
        assert not wrong or wrong[int(said[i])] == max(wrong.values())


def test_a_tie_shares() -> None:
    votes = np.array([[0, 1, 2, -1], [0, 2, 1, -1], [1, 2, 0, 3]])
    np.testing.assert_allclose(shares(votes, np.array([0, 1, 1, 3])), [1, 0, 1 / 3, 1])


def test_a_chairman_is_as_often_wrong_as_liars_have_the_chair() -> None:
    found = one(7, 2, "always", seed=3)
    honest = one(7, 2, "nobody", seed=3)
    assert found["chairman"] < honest["chairman"] * 5 / 7 + 0.01
    assert found["moot, auto"] > found["chairman"]


def test_every_setting_has_its_row() -> None:
    result = EXPERIMENT.run(type(EXPERIMENT.quick)(draws=2), 0)
    assert {each.quantity for each in result.findings} == {
        named(*moot, lie) for moot in MOOTS for lie in LIES
    }
    (figure,) = EXPERIMENT.figures(result).values()
    assert len(figure.axes) == len(MOOTS)
