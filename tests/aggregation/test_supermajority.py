"""A supermajority is a plurality that needs so many votes: by counting, and by what theory says of it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.aggregation import Plurality, Weighted
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.checks import required_votes
from folkmoot.outcome import log_odds
from folkmoot.theory import majority_accuracy
from folkmoot.votes import BLUE, Votes
from support.strategies import Renamed, renamed_tables, vote_tables


def supermajority(votes: Votes, **needs: Any) -> list[int]:
    found: list[int] = aggregate(
        votes, Plurality(least=required_votes(len(votes), **needs))
    ).decision.tolist()
    return found


@given(vote_tables(most_participants=9), st.data())
def test_delta_votes_beyond_half_of_all(table: tuple[Votes, int], data: st.DataObject) -> None:
    votes, _ = table
    n = len(votes)
    delta = data.draw(st.integers(0, n - n // 2 - 1))
    expected = []
    for column in votes.T.tolist():
        winners = [c for c, count in Counter(column).items() if c >= 0 and 2 * (count - delta) > n]
        expected.append(winners[0] if winners else -1)
    assert supermajority(votes, delta=delta) == expected


@given(vote_tables(most_participants=20), st.integers(51, 100))
def test_a_fraction_of_all(table: tuple[Votes, int], percent: int) -> None:
    votes, _ = table
    expected = []
    for column in votes.T.tolist():
        winners = [
            c for c, count in Counter(column).items() if c >= 0 and 100 * count >= percent * len(votes)
        ]
        expected.append(winners[0] if winners else -1)
    assert supermajority(votes, q=percent / 100) == expected


@pytest.mark.parametrize("options", [{"delta": 0}, {"delta": 1}, {"delta": 3}, {"q": 0.7}])
def test_right_as_often_as_theory_says(options: dict[str, Any]) -> None:
    accuracies = [Fraction(k, 10) for k in (3, 5, 6, 6, 7, 8, 9)]
    profiles = list(itertools.product([0, 1], repeat=len(accuracies)))
    decided = supermajority(np.array(profiles).T, **options)
    chance = sum(
        math.prod((p if vote == BLUE else 1 - p for vote, p in zip(profile, accuracies, strict=True)))
        for profile, answer in zip(profiles, decided, strict=True)
        if answer == BLUE
    )
    theory = majority_accuracy(len(accuracies), [float(p) for p in accuracies], **options)
    assert float(chance) == pytest.approx(theory, rel=1e-12)


@given(renamed_tables())
def test_names_of_participants_inputs_and_classes_do_not_matter(table: Renamed) -> None:
    votes, _, who, where, _ = table
    answer = np.array(supermajority(votes, q=0.6))
    assert supermajority(votes[who], q=0.6) == answer.tolist()
    assert supermajority(votes[:, where], q=0.6) == answer[where].tolist()
    assert supermajority(table.colours[votes], q=0.6) == table.colours[answer].tolist()


@pytest.mark.parametrize("classes", [2, 3])
def test_log_odds_are_right_as_often_as_any_rule_can_be(classes: int) -> None:
    """Over all profiles, the rule finds the class under which the votes are likeliest (Bayes)."""
    accuracies = [Fraction(k, 100) for k in (51, 55, 57, 62, 71, 93)]
    profiles = list(itertools.product(range(classes), repeat=len(accuracies)))
    weights = log_odds([float(p) for p in accuracies], classes).tolist()
    decided = aggregate(np.array(profiles).T, Weighted(weights)).decision
    for profile, answer in zip(profiles, decided.tolist(), strict=True):
        chances = [
            math.prod(
                p if vote == truth else (1 - p) / (classes - 1)
                for vote, p in zip(profile, accuracies, strict=True)
            )
            for truth in range(classes)
        ]
        tied = chances.count(max(chances)) > 1
        assert tied if answer == -1 else chances[answer] == max(chances)
