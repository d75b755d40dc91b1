"""How close an answer was, against laws counted out in whole numbers by another implementation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from folkmoot import Everyone, Slush, Snowball, deliberate, explain
from folkmoot.adversaries import ConstantClass, Silent
from folkmoot.explanation.closeness import Closeness
from support.oracles import simulation as oracle


def chance_of(
    answer: int, holders: int, others: int, *, k: int, alpha: int, rounds: int, liars: tuple[int, ...] = (),
    everyone: bool = False,
) -> Fraction:  # fmt: skip
    """That more than half of the honest hold the answer after the rounds, in fractions."""
    c = holders + others
    start = oracle.start("slush", [answer] * holders + [1 - answer] * others, 2)
    law = oracle.one_law(
        "slush", start, c, rounds * c, k=k, alpha=alpha, self_sampling=everyone, byzantine=liars
    )
    found = oracle.colour_counts_law(law, 2)
    return sum((p for counts, p in found.items() if 2 * counts[answer] > c), Fraction(0))


def by_hand(answer: int, holders: int, others: int, **law: Any) -> tuple[int | None, Fraction, Any]:
    """Votes to be moved, the chance now, and the chance then: every number of votes is tried."""
    chances = [chance_of(answer, holders - m, others + m, **law) for m in range(holders + 1)]
    least = next((m for m, chance in enumerate(chances) if chance < Fraction(1, 2)), None)
    return least, chances[0], None if least is None else chances[least]


def closeness_of(votes: Any, protocol: Any, answer: int, **options: Any) -> Closeness:
    """Of a talk that came to this answer, by whatever seed."""
    for seed in range(200):
        outcome = deliberate(votes, protocol, seed=seed, **options)
        if outcome.decision[0] == answer:
            found = explain(outcome, 0).closeness
            assert found is not None
            return found
    raise AssertionError("no talk comes to that answer")


@pytest.mark.parametrize(
    ("holders", "others", "k", "alpha", "rounds", "liars", "everyone"),
    [
        (5, 2, 3, 2, 2, (), False),
        (4, 3, 4, 3, 3, (), True),
        (5, 2, 3, 2, 2, (1, 1), False),  # liars for the answer
        (5, 2, 3, 2, 2, (0,), False),  # and against it
        (6, 1, 3, 2, 1, (0, 0, 0), False),  # f >= alpha: all-right is left again
        (3, 4, 3, 2, 2, (), False),  # against the odds
        (4, 0, 2, 2, 2, (), False),
    ],
)
def test_exact_where_theory_has_a_closed_form(
    holders: int, others: int, k: int, alpha: int, rounds: int, liars: tuple[int, ...], everyone: bool
) -> None:
    votes = [[1]] * holders + [[0]] * others + [[0]] * len(liars)
    byzantine = {holders + others + j: ConstantClass(colour) for j, colour in enumerate(liars)}
    found = closeness_of(
        votes, Slush(k, alpha), 1, adversaries=byzantine, rounds=rounds,
        sampling=Everyone() if everyone else None,
    )  # fmt: skip
    least, now, then = by_hand(
        1, holders, others, k=k, alpha=alpha, rounds=rounds, liars=liars, everyone=everyone
    )
    assert found.exact
    assert (found.error, found.times) == (0.0, 0)
    assert found.votes == least
    assert found.chance == pytest.approx(float(now), abs=1e-12)
    assert found.moved_chance == (None if then is None else pytest.approx(float(then), abs=1e-12))


def test_absent_votes_leave_a_smaller_moot() -> None:
    votes = [[1]] * 5 + [[0]] * 2 + [[-1]] * 6
    found = closeness_of(votes, Slush(10, 6), 1, missing="absent", rounds=2)  # seven voters ask all six
    least, now, then = by_hand(1, 5, 2, k=6, alpha=4, rounds=2)
    assert found.exact
    assert found.votes == least
    assert found.chance == pytest.approx(float(now), abs=1e-12)
    assert found.moved_chance == pytest.approx(float(then), abs=1e-12)


def test_simulated_elsewhere_and_marked() -> None:
    """A third colour that nobody has is no closed form, and changes nothing."""
    votes = [[1]] * 6 + [[0]] * 3
    found = closeness_of(votes, Slush(3, 2), 1, rounds=3, classes=3)
    exact = closeness_of(votes, Slush(3, 2), 1, rounds=3)
    assert not found.exact
    assert found.times == 400
    assert found.error == pytest.approx(0.025)
    assert found.votes == exact.votes
    assert found.moved_chance is not None
    assert exact.moved_chance is not None
    assert abs(found.chance - exact.chance) < 4 * found.error
    assert abs(found.moved_chance - exact.moved_chance) < 4 * found.error


def test_who_counts_for_more_is_moved_first() -> None:
    """Two heavy voices of seven carry the answer: both of the others' queries hang on them."""
    votes = [[0], [1], [1], [0], [0], [1], [0]]
    weights = [0.1, 5.0, 5.0, 0.1, 0.1, 0.1, 0.1]
    found = closeness_of(votes, Slush(6, 4, weights=weights), 1, rounds=8)
    assert not found.exact
    assert found.votes == 1  # one heavy voice against the other: neither has four of six
    assert found.chance == 1.0


@pytest.mark.parametrize("protocol", [Snowball(3, 2, 3), Slush(3, [2, 2, 2, 3, 2, 2, 2, 2, 2])])
def test_no_closed_form(protocol: Any) -> None:
    found = closeness_of([[1]] * 6 + [[0]] * 3, protocol, 1, rounds=20)
    assert not found.exact
    assert found.votes in (1, 2)


def test_silent_liars_are_simulated_and_keep_their_votes() -> None:
    votes = [[1]] * 6 + [[0]] * 3
    found = closeness_of(votes, Slush(3, 2), 1, adversaries={0: Silent(), 1: Silent()}, rounds=50)
    assert not found.exact
    assert found.votes == 1  # four against three, and then three against four
