from __future__ import annotations

import pytest

from folkmoot import strong_confidence


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
