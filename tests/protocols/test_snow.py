"""Snowflake and Snowball, case by case from the figures of Team Rocket et al. (2020)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from folkmoot import Slush, Snowball, Snowflake, StrongConfidence
from folkmoot.protocols.snow import reaches, winner
from folkmoot.protocols.snowball import Ball, is_ahead
from folkmoot.protocols.snowflake import Flake
from folkmoot.simulation.kernels import rounds

NONE = -1


def test_winner_is_the_colour_that_reaches_alpha() -> None:
    assert winner((3, 7), 7) == 1
    assert winner((6, 4), 7) == NONE
    assert winner((0, 0, 0), 2) == NONE
    assert winner((1.0, 2.5), 2) == 1


def test_snowflake_counts_wins_in_a_row_and_decides() -> None:
    rule = Snowflake(10, 7, 3)
    state = rule.start(0)
    steps = [
        (0, Flake(0, 1)), (0, Flake(0, 2)), (NONE, Flake(0, 0)), (1, Flake(1, 1)), (0, Flake(0, 1)),
        (0, Flake(0, 2)), (0, Flake(0, 3, decided=True)), (1, Flake(0, 3, decided=True)),
    ]  # fmt: skip
    for won, expected in steps:
        state = rule.react(state, won)
        assert state == expected
    assert rule.decided(state)
    assert rule.react(rule.start(NONE), 1) == Flake(1, 1)
    assert rule.update(Flake(0, 1), (2, 8)) == Flake(1, 1)


def test_snowball_prefers_the_colour_of_most_wins() -> None:
    rule = Snowball(10, 7, 3)
    state = rule.start(0)
    preferred = []
    for won in (1, NONE, 0, 0, NONE, 1, 1, 1):
        state = rule.react(state, won)
        preferred.append(rule.class_of(state))
    # wins after each: 1 (0,1); 0 (1,1) no change from 1; 0 (2,1) back to 0; 1 (2,2); 1 (2,3) to 1; decided
    assert preferred == [1, 1, 1, 0, 0, 0, 1, 1]
    assert rule.decided(state)
    assert rule.react(state, 0) == state
    assert rule.react(rule.start(NONE), 2).preferred == 2


def test_snowball_can_decide_on_a_colour_other_than_the_streak_s() -> None:
    rule = Snowball(10, 7, 2)
    state = rule.start(0)
    for won in (0, NONE, 0, 1, 1):
        state = rule.react(state, won)
    assert state == Ball(0, Flake(1, 2, decided=True), (2, 2))


def test_snowball_without_its_counts_does_the_same_if_told_who_is_ahead() -> None:
    rule = Snowball(10, 7, 4)
    state = Ball(1, Flake(1, 1), (5, 7))
    assert rule.react(state, 0) == rule.finite(state, 0, ahead=False)._replace(wins=(6, 7))
    tied = Ball(1, Flake(1, 1), (7, 7))
    assert rule.react(tied, 0) == Ball(0, Flake(0, 1), (8, 7))
    assert rule.finite(tied, 0, ahead=True) == Ball(0, Flake(0, 1), (7, 7))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Snowflake(10, 5, 3), "k/2 < alpha <= k: got alpha=5, k=10"),
        (lambda: Snowball(10, 7, 0), "beta >= 1: got beta=0"),
        (lambda: Slush(10, [7, 7, 5]), r"k/2 < alpha <= k: got alpha=5, k=10 \(participant 2\)"),
        (lambda: Slush(10, 7, weights=[1.0, -1.0]), r"weights\[1\]=-1.0"),
        (lambda: Slush(10, 7, weights=[0.0, 0.0]), "not all be 0"),
        (lambda: Slush(10, 7, weights=[]), "one weight per participant"),
        (lambda: Slush(10, [7, 7]).update(0, (3, 7)), "update needs one alpha"),
        (lambda: StrongConfidence([0.5, 1.5]), r"p\[1\]=1.5"),
    ],
)
def test_bad_parameters(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


def test_who_can_ask_fewer_than_k_has_a_scaled_query() -> None:
    reach = np.array([20, 10, 9, 2, 1, 0])
    for protocol in (Slush(10, 7), Slush(10, [6, 7, 8, 9, 10, 10]), Slush(10, StrongConfidence([0.7] * 6))):
        sizes, alphas = protocol.reaching(reach)
        assert sizes.tolist() == [10, 10, 9, 2, 1, 0]
        for i, peers in enumerate(reach[:-1]):
            assert alphas[i] == protocol.scaled(int(peers) + 1).thresholds(6)[i]


def test_thresholds_of_their_own() -> None:
    assert Slush(10, StrongConfidence([0.5, 0.75, 1.0])).thresholds(3).tolist() == [6, 8, 10]
    assert Slush(10, 7).thresholds(3).tolist() == [7, 7, 7]
    assert Slush(10, [6, 7, 8]).thresholds(3).tolist() == [6, 7, 8]


def test_who_reaches_the_threshold_is_the_same_in_every_form() -> None:
    """Numbers, arrays and compiled, against fractions: weights of which many add up to exactly alpha of k."""
    rng = np.random.default_rng(0)
    for size in (1, 3, 7, 10):
        for alpha in range(size // 2 + 1, size + 1):
            weights = rng.integers(0, 8, (200, size))
            names = rng.random((200, size)) < 0.6
            tally, total = (weights * names).sum(axis=1), weights.sum(axis=1)
            exact = [
                t > 0 and Fraction(int(x), int(t)) * size >= alpha for x, t in zip(tally, total, strict=True)
            ]
            assert any(exact)
            assert not all(exact)
            for tenth in (1.0, 0.1):  # tenths are not exact in binary
                whole, some = (weights * tenth).sum(axis=1), (weights * tenth * names).sum(axis=1)
                assert reaches(some, alpha, whole, size).tolist() == exact
                for form in (reaches, rounds.reaches):
                    pairs = zip(some.tolist(), whole.tolist(), strict=True)
                    assert [bool(form(x, alpha, t, size)) for x, t in pairs] == exact
            counts = np.arange(size + 1)
            assert reaches(counts, alpha).tolist() == [count >= alpha for count in range(size + 1)]


def test_who_is_ahead_is_the_same_in_every_form() -> None:
    held, wins, others = (
        np.array([-1, -1, 0, 0, 0, 1]),
        np.array([1, 1, 2, 3, 4, 4]),
        np.array([9, 0, 3, 3, 3, 9]),
    )
    expected = [True, True, False, False, True, False]
    assert is_ahead(wins, held, others).tolist() == expected
    for form in (is_ahead, rounds.is_ahead):
        rows = zip(wins.tolist(), held.tolist(), others.tolist(), strict=True)
        assert [bool(form(*row)) for row in rows] == expected
