from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.baselines import majority, supermajority
from folkmoot.theory import majority_accuracy
from folkmoot.votes import BLUE, Votes
from support.strategies import Renamed, renamed_tables, vote_tables


def counted(column: list[int]) -> Counter[int]:
    return Counter(colour for colour in column if colour >= 0)


@given(vote_tables())
def test_majority_counts_the_votes_cast(table: tuple[Votes, int]) -> None:
    votes, classes = table
    expected = []
    for column in votes.T.tolist():
        ranking = counted(column).most_common()
        lost = not ranking or (len(ranking) > 1 and ranking[0][1] == ranking[1][1])
        expected.append(-1 if lost else ranking[0][0])
    answer = majority(votes, classes)
    assert answer.dtype == np.int64
    assert answer.tolist() == expected
    assert majority(votes).tolist() == expected


@given(vote_tables(most_participants=9), st.data())
def test_supermajority_needs_delta_votes_beyond_half_of_all(
    table: tuple[Votes, int], data: st.DataObject
) -> None:
    votes, classes = table
    n = len(votes)
    delta = data.draw(st.integers(0, n - n // 2 - 1))
    expected = []
    for column in votes.T.tolist():
        winners = [c for c, count in counted(column).items() if 2 * (count - delta) > n]
        expected.append(winners[0] if winners else -1)
    assert supermajority(votes, classes, delta=delta).tolist() == expected


@given(vote_tables(most_participants=20), st.integers(51, 100))
def test_supermajority_of_a_fraction(table: tuple[Votes, int], percent: int) -> None:
    votes, classes = table
    expected = []
    for column in votes.T.tolist():
        winners = [c for c, count in counted(column).items() if 100 * count >= percent * len(votes)]
        expected.append(winners[0] if winners else -1)
    assert supermajority(votes, classes, q=percent / 100).tolist() == expected


@pytest.mark.parametrize("options", [{"delta": 0}, {"delta": 1}, {"delta": 3}, {"q": 0.7}])
def test_right_as_often_as_theory_says(options: dict[str, float]) -> None:
    accuracies = [Fraction(k, 10) for k in (3, 5, 6, 6, 7, 8, 9)]
    profiles = list(itertools.product([0, 1], repeat=len(accuracies)))
    decided = supermajority(np.array(profiles).T, 2, **options)  # type: ignore[arg-type]
    chance = sum(
        math.prod((p if vote == BLUE else 1 - p for vote, p in zip(profile, accuracies, strict=True)))
        for profile, colour in zip(profiles, decided.tolist(), strict=True)
        if colour == BLUE
    )
    theory = majority_accuracy(len(accuracies), [float(p) for p in accuracies], **options)  # type: ignore[arg-type]
    assert float(chance) == pytest.approx(theory, rel=1e-12)


@given(renamed_tables())
def test_names_of_participants_inputs_and_colours_do_not_matter(table: Renamed) -> None:
    votes, classes, who, where, _ = table
    renamed = table.colours
    for rule in (majority, lambda v, c: supermajority(v, c, q=0.6)):
        answer = rule(votes, classes)
        assert rule(votes[who], classes).tolist() == answer.tolist()
        assert rule(votes[:, where], classes).tolist() == answer[where].tolist()
        assert rule(renamed[votes], classes).tolist() == renamed[answer].tolist()


def test_one_vote_more_than_half_of_an_even_number() -> None:
    votes = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [0, 1, 0]])
    assert supermajority(votes, 2, delta=0).tolist() == [1, 1, -1]
    assert supermajority(votes, 2).tolist() == [-1, 1, -1]


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (4, {"delta": 2}, r"floor\(n/2\) \+ 1 \+ delta <= n: got delta=2, n=4"),
        (1, {}, "got delta=1, n=1"),
        (5, {"delta": -1}, "delta >= 0: got delta=-1"),
        (5, {"q": 0.5}, "1/2 < q <= 1: got q=0.5"),
        (5, {"q": 0.6, "delta": 2}, "give delta or q, not both: got delta=2, q=0.6"),
    ],
)
def test_bad_thresholds(n: int, options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        supermajority([[1]] * n, 2, **options)  # type: ignore[arg-type]


def test_bad_votes() -> None:
    for rule in (majority, supermajority):
        with pytest.raises(ValueError, match=r"votes\[0, 1\] must satisfy -1 <= class < 2: got 2"):
            rule([[0, 2]] * 5, 2)
