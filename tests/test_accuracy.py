from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from folkmoot.outcome import (
    laplace_accuracy,
    log_odds,
    participant_accuracies,
    share_right,
    standard_error,
    wilson_bound,
)


def test_accuracies_are_over_votes_cast_on_inputs_with_a_truth() -> None:
    votes = np.array([[0, 1, -1, 1], [1, 1, 1, 1], [-1, -1, -1, 0]])
    truth = [0, 1, 1, -1]
    assert participant_accuracies(votes, truth)[:2].tolist() == [1.0, pytest.approx(2 / 3)]
    assert math.isnan(participant_accuracies(votes, truth)[2])
    assert share_right([0, -1, 1, 0], truth) == pytest.approx(2 / 3)
    assert share_right([[0, -1, 1, 0], [0, 1, 1, 1]], truth).tolist() == [pytest.approx(2 / 3), 1.0]


def test_truth_must_fit_and_be_known_somewhere() -> None:
    with pytest.raises(ValueError, match=r"one class per input \(2\): got shape \(3,\)"):
        share_right([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match=r"known .* for at least one input"):
        share_right([0, 1], [-1, -1])


def test_laplace_is_the_mean_of_the_posterior() -> None:
    # Two classes, uniform prior: the mean of p^r (1-p)^(n-r), by its integral.
    p = np.linspace(0, 1, 100_001)
    for right, total in ((0, 0), (3, 4), (7, 7)):
        likelihood = p**right * (1 - p) ** (total - right)
        mean = np.trapezoid(p * likelihood) / np.trapezoid(likelihood)
        assert laplace_accuracy(right, total) == pytest.approx(mean, abs=1e-6)
    assert laplace_accuracy([0, 2], [0, 2], 4).tolist() == [0.25, 0.5]


def test_log_odds_values() -> None:
    assert log_odds([0.5, 0.75, 0.25], 2) == pytest.approx([0.0, math.log(3), -math.log(3)], abs=1e-15)
    assert log_odds([0.25, 0.5], 4) == pytest.approx([0.0, math.log(3)], abs=1e-15)
    assert log_odds([0.0, 1.0], 2) == pytest.approx([-math.log(999_999), math.log(999_999)], rel=1e-9)
    assert log_odds(1.0, doubt=0.02) == pytest.approx(math.log(49))
    assert math.isnan(log_odds(math.nan))


def test_bad_accuracies() -> None:
    with pytest.raises(ValueError, match=r"0 <= p <= 1: got 1\.2 at place 1"):
        log_odds([0.5, 1.2], 2)
    with pytest.raises(ValueError, match="classes >= 2: got classes=1"):
        log_odds([0.5], 1)
    with pytest.raises(TypeError, match="p must be a number or a sequence of numbers"):
        log_odds(["high"])


def test_standard_error_in_fractions() -> None:
    values = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1)]
    mean = sum(values) / 4
    variance = sum((value - mean) ** 2 for value in values) / 3
    assert standard_error([float(value) for value in values]) == pytest.approx(math.sqrt(variance / 4))
    assert standard_error([0.5]) is None


@pytest.mark.parametrize("deviations", [0.8416, 1.645, -0.8416, -2.0])
def test_wilson_bound_is_the_root_of_its_definition(deviations: float) -> None:
    for total in (1, 2, 7, 23, 400):
        for right in {0, 1, total // 2, total - 1, total}:
            low, high = 0.0, 1.0
            for _ in range(200):  # by bisection: right is so many standard deviations above total * p
                p = (low + high) / 2
                above = (right - total * p) > deviations * (total * p * (1 - p)) ** 0.5
                low, high = (p, high) if above else (low, p)
            # At the ends, where nothing or everything was right, the bound is the share itself.
            expected = {(0, True): 0.0, (total, False): 1.0}.get((right, deviations > 0), low)
            assert wilson_bound(right, total, deviations) == pytest.approx(expected, abs=1e-9)
    assert wilson_bound(0, 0, deviations) == (deviations < 0)
