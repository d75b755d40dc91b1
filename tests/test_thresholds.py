from __future__ import annotations

import pytest

from folkmoot import strong_confidence
from folkmoot.checks import default_query, least_alpha


def test_strong_confidence_is_the_least_threshold_of_its_definition() -> None:
    p = [0.0, 0.5, 0.55, 0.6, 0.61, 0.7, 0.7000001, 0.9, 1.0]
    assert strong_confidence(p, 10).tolist() == [6, 6, 6, 6, 7, 7, 8, 9, 10]
    assert strong_confidence([0.5, 0.7], 9).tolist() == [5, 7]
    for k in range(1, 30):
        for i in range(101):
            (alpha,) = strong_confidence([i / 100], k)
            assert k / 2 < alpha <= k
            assert 100 * alpha >= k * i
            assert alpha == k // 2 + 1 or 100 * (alpha - 1) < k * i


@pytest.mark.parametrize(("p", "k"), [([1.1], 10), ([], 10), ([0.5], 0)])
def test_bad_input(p: list[float], k: int) -> None:
    with pytest.raises(ValueError, match="must"):
        strong_confidence(p, k)


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
