"""Deceptive members: the recorded votes, the lie and the shares by other means, and one small run."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from experiments.deceptive_member import capitals
from experiments.deceptive_member.moots import EXPERIMENT, LIES, MOOTS, lies, named, one, recorded, shares


def test_the_recorded_votes() -> None:
    votes, truth = recorded("detectors")
    assert votes.shape == (10, 1500)
    assert set(Counter(truth.tolist()).values()) == {60}
    assert ((votes == truth).mean(axis=1) > 0.6).all()
    votes, truth = recorded("lexica")
    assert votes.shape == (7, 1496)
    assert set(Counter(truth.tolist()).values()) == {748}
    said = votes >= 0
    assert (((votes == truth) & said).sum(axis=1) > 0.6 * said.sum(axis=1)).all(), (
        "of those that they vote on"
    )


def test_a_lie_is_the_most_popular_wrong_label() -> None:
    votes, truth = recorded("detectors")
    said = lies(votes, truth)
    assert (said != truth).all()
    for i in range(0, 1500, 7):
        wrong = Counter(each for each in votes[:, i].tolist() if each not in (-1, truth[i]))
        assert not wrong or wrong[int(said[i])] == max(wrong.values())


def test_a_tie_shares() -> None:
    votes = np.array([[0, 1, 2, -1], [0, 2, 1, -1], [1, 2, 0, 3]])
    np.testing.assert_allclose(shares(votes, np.array([0, 1, 1, 3])), [1, 0, 1 / 3, 1])


def test_a_chairman_is_as_often_wrong_as_liars_have_the_chair() -> None:
    found = one("detectors", 7, 2, "always", seed=3)
    honest = one("detectors", 7, 2, "nobody", seed=3)
    assert found["chairman"] < honest["chairman"] * 5 / 7 + 0.01
    assert found["moot, auto"] > found["chairman"]


def test_every_setting_has_its_row() -> None:
    result = EXPERIMENT.run(type(EXPERIMENT.quick)(draws=2), 0)
    assert {each.quantity for each in result.findings} == {
        *(named(*moot, lie) for moot in MOOTS for lie in LIES),
        "6 prompts, nobody lies",
        "6 prompts, 1 lies always",
    }
    (figure,) = EXPERIMENT.figures(result).values()
    assert len(figure.axes) == len(MOOTS) + 1


@pytest.mark.parametrize("lies", [False, True])
def test_a_plurality_of_texts_by_counting(lies: bool) -> None:
    """Every member stays with its own text: the most frequent wins, if two gave it and none is level."""
    right = 0
    for place, fact in enumerate(capitals.recorded()):
        heard = [each.strip() for each in fact["proposals"]]
        if lies:
            heard[place % 6] = "the lie"
        (first, votes), *others = Counter(heard).most_common(2)
        decided = votes >= 2 and (not others or others[0][1] < votes)
        right += decided and fact["capital"] in first and fact["lie"] not in first
    assert capitals.scored(lies)["moot, same"] == right / len(capitals.recorded())


def test_answers_that_name_both_cities_are_wrong() -> None:
    fact = {"capital": "Yaounde", "lie": "Douala"}
    assert capitals.is_right("It is YAOUNDÉ.", fact)
    assert not capitals.is_right("Yaounde, or Douala", fact)
    assert not capitals.is_right("Yaoundes", fact)
    assert not capitals.is_right(None, fact)


def test_no_choice_of_so_small_a_model_is_read() -> None:
    """Its replies are sentences: no candidate is chosen, so nothing but its liar's choice is left."""
    assert capitals.unreadable() == 1
    assert capitals.scored(True)["moot, own model"] == 0
