from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.accuracy import log_odds
from folkmoot.baselines import majority, weighted_majority
from folkmoot.votes import Votes
from support.strategies import vote_tables

# Few values, so that sums tie; of very unequal size, so that adding them in floating point rounds.
AWKWARD = st.sampled_from([0.1, 0.2, 0.3, 0.6, -0.1, -0.3, 0.0, 1.0, 1e16, -1e16, 1.7e308, 5e-324])
WEIGHTS = st.one_of(AWKWARD, st.floats(allow_nan=False, allow_infinity=False))


def by_exact_sums(votes: Votes, weights: Sequence[float], classes: int) -> list[int]:
    answer = []
    for column in votes.T.tolist():
        sums = [Fraction(0)] * classes
        for colour, weight in zip(column, weights, strict=True):
            if colour >= 0:
                sums[colour] += Fraction(weight)
        best = max(sums)
        answer.append(sums.index(best) if sums.count(best) == 1 else -1)
    return answer


@given(vote_tables(), st.data())
def test_equals_exact_sums(table: tuple[Votes, int], data: st.DataObject) -> None:
    votes, classes = table
    weights = data.draw(st.lists(WEIGHTS, min_size=len(votes), max_size=len(votes)))
    assert weighted_majority(votes, weights, classes).tolist() == by_exact_sums(votes, weights, classes)


def test_rounding_neither_breaks_nor_makes_a_tie() -> None:
    # Added from the left, 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1.
    votes = [[0], [0], [0], [1], [1], [1]]
    assert weighted_majority(votes, [0.1, 0.2, 0.3, 0.3, 0.2, 0.1], 2).tolist() == [-1]
    # 1e16 + 1 + 1 from the left loses both ones.
    assert weighted_majority(votes, [1e16, 1.0, 1.0, 1e16, 0.0, 0.0], 2).tolist() == [0]


def test_equals_exact_sums_on_many_participants() -> None:
    rng = np.random.default_rng(5)
    votes = rng.integers(-1, 3, (300, 40))
    weights = rng.choice([0.1, 0.7, -0.2, 1.3], 300)
    assert weighted_majority(votes, weights, 3).tolist() == by_exact_sums(votes, weights.tolist(), 3)


def test_a_negative_weight_votes_against() -> None:
    assert weighted_majority([[0, 1]], [-1.0], 2).tolist() == [1, 0]
    assert weighted_majority([[0, 1]], [-1.0], 3).tolist() == [-1, -1]  # which of the other two?
    assert weighted_majority([[0, -1]], [0.0], 2).tolist() == [-1, -1]


@given(vote_tables())
def test_equal_weights_are_a_majority(table: tuple[Votes, int]) -> None:
    votes, classes = table
    answer = weighted_majority(votes, [0.1] * len(votes), classes)
    assert answer.tolist() == majority(votes, classes).tolist()


@given(vote_tables(), st.data(), st.randoms(use_true_random=False))
def test_names_of_participants_inputs_and_colours_do_not_matter(
    table: tuple[Votes, int], data: st.DataObject, random: Random
) -> None:
    votes, classes = table
    weights = np.array(data.draw(st.lists(WEIGHTS, min_size=len(votes), max_size=len(votes))))
    who, where, name = (list(range(m)) for m in (*votes.shape, classes))
    for order in (who, where, name):
        random.shuffle(order)
    renamed = np.array([*name, -1])  # -1 indexes the last: uncoloured stays uncoloured
    answer = weighted_majority(votes, weights, classes)
    assert weighted_majority(votes[who], weights[who], classes).tolist() == answer.tolist()
    assert weighted_majority(votes[:, where], weights, classes).tolist() == answer[where].tolist()
    assert weighted_majority(renamed[votes], weights, classes).tolist() == renamed[answer].tolist()


@pytest.mark.parametrize("classes", [2, 3])
def test_log_odds_are_right_as_often_as_any_rule_can_be(classes: int) -> None:
    """Over all profiles, the rule finds the colour under which the votes are likeliest (Bayes)."""
    accuracies = [Fraction(k, 100) for k in (17, 35, 55, 62, 71, 93)]
    profiles = list(itertools.product(range(classes), repeat=len(accuracies)))
    weights = log_odds([float(p) for p in accuracies], classes)
    decided = weighted_majority(np.array(profiles).T, weights, classes)
    for profile, colour in zip(profiles, decided.tolist(), strict=True):
        chances = [
            math.prod(
                p if vote == truth else (1 - p) / (classes - 1)
                for vote, p in zip(profile, accuracies, strict=True)
            )
            for truth in range(classes)
        ]
        tied = chances.count(max(chances)) > 1
        assert tied if colour == -1 else chances[colour] == max(chances)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1.0, 2.0], ValueError, r"one number per participant \(3\): got the shape \(2,\)"),
        ([[1.0, 2.0, 3.0]], ValueError, r"got the shape \(1, 3\)"),
        (1.0, ValueError, r"got the shape \(\)"),
        ([1.0, math.nan, 1.0], ValueError, r"weights must be finite: got weights\[1\]=nan"),
        ([1.0, 1.0, -math.inf], ValueError, r"got weights\[2\]=-inf"),
        (["a", "b", "c"], TypeError, "weights must be a sequence of numbers"),
    ],
)
def test_bad_weights(weights: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        weighted_majority([[0], [1], [1]], weights, 2)  # type: ignore[arg-type]


def test_other_bad_input() -> None:
    with pytest.raises(ValueError, match=r"votes\[1, 0\] must satisfy -1 <= class < 2: got 4"):
        weighted_majority([[0], [4]], [1.0, 1.0], 2)
