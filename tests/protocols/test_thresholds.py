from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from folkmoot import Slush, Snowball, Snowflake, StrongConfidence, deliberate
from folkmoot.checks import default_query, least_alpha
from folkmoot.protocols.snow import SnowProtocol


def test_strong_confidence_is_the_least_threshold_of_its_definition() -> None:
    p = [0.0, 0.5, 0.55, 0.6, 0.61, 0.7, 0.7000001, 0.9, 1.0]
    assert StrongConfidence(p).thresholds(10).tolist() == [6, 6, 6, 6, 7, 7, 8, 9, 10]
    assert StrongConfidence([0.5, 0.7]).thresholds(9).tolist() == [5, 7]
    for k in range(1, 30):
        for i, alpha in enumerate(StrongConfidence(np.arange(101) / 100).thresholds(k)):
            assert k / 2 < alpha <= k
            assert 100 * alpha >= k * i
            assert alpha == k // 2 + 1 or 100 * (alpha - 1) < k * i


@pytest.mark.parametrize(("p", "k"), [([1.1], 10), ([], 10), ([0.5], 0)])
def test_bad_input(p: list[float], k: int) -> None:
    with pytest.raises(ValueError, match="must"):
        StrongConfidence(p).thresholds(k)


@pytest.mark.parametrize("each", [StrongConfidence(), StrongConfidence([0.5, 0.75]), StrongConfidence([1])])
def test_it_is_a_value(each: StrongConfidence) -> None:
    assert pickle.loads(pickle.dumps(each)) == each  # noqa: S301
    assert copy.deepcopy(each) == each
    assert eval(repr(each)) == each  # noqa: S307
    assert len({each, copy.copy(each)}) == 1


def test_without_accuracies_it_is_none_of_those_with() -> None:
    assert repr(StrongConfidence()) == "StrongConfidence()"
    assert StrongConfidence() == StrongConfidence(None) != StrongConfidence([0.5])
    assert (
        Slush(10, StrongConfidence()) == Slush(10, StrongConfidence()) != Slush(10, StrongConfidence([0.5]))
    )


@pytest.mark.parametrize("protocol", [Slush(4, 3), Snowflake(4, 3, 5), Snowball(4, 3, 5)])
def test_a_protocol_waits_for_accuracies(protocol: SnowProtocol[object]) -> None:
    waiting = replace(protocol, alpha=StrongConfidence())
    assert waiting.scaled(4) == replace(waiting, k=3)
    assert waiting.scaled(5) == waiting
    assert waiting.restricted([0, 2]) == waiting
    for use in (
        lambda: waiting.thresholds(5),
        lambda: waiting.reaching(np.array([4, 3, 2])),
        lambda: deliberate(np.ones((5, 2), dtype=np.int64), waiting),
    ):
        with pytest.raises(
            ValueError, match=r"give them, StrongConfidence\(p\); in an estimator they come from"
        ):
            use()


def test_the_least_alpha_is_the_least_that_two_colours_cannot_both_reach() -> None:
    for k in range(1, 50):
        assert least_alpha(k) == next(alpha for alpha in range(1, k + 1) if 2 * alpha > k)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((101,), (10, 6)),
        ((11,), (10, 6)),
        ((10,), (9, 5)),  # all others
        ((2,), (1, 1)),
        ((1,), (1, 1)),  # refused later, with a better message
        ((101, 20), (20, 11)),
        ((101, None, 8), (10, 8)),
        ((5, None, 0), (4, 0)),  # a motion's 0 is "each its own"
        ((5, 20, 15), (20, 15)),
    ],
)
def test_k_and_alpha_where_they_are_not_given(arguments: tuple[int, ...], expected: tuple[int, int]) -> None:
    assert default_query(*arguments) == expected


@pytest.mark.parametrize("k", [1, 2, 3, 7, 10, 20, 127, 1000])
def test_thresholds_are_those_of_the_decimals(k: int) -> None:
    """By exact fractions, also beside every decimal that k makes a whole number."""
    rng = np.random.default_rng(k)
    p = np.concatenate(
        [rng.random(200), np.arange(k + 1) / k, np.round(rng.random(200), 2), [0.1 + 0.2, 5e-324]]
    )
    p = np.concatenate([p, np.nextafter(p, -1), np.nextafter(p, 2)]).clip(0, 1)
    exact = [max(k // 2 + 1, math.ceil(k * Fraction(repr(float(value))))) for value in p]
    assert StrongConfidence(p.tolist()).thresholds(k).tolist() == exact
