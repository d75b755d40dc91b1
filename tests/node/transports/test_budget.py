"""A budget that fills up with time, against an account in whole fractions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from folkmoot.node.transports.budget import Budget


@pytest.mark.parametrize("seed", range(20))
def test_nobody_gets_more_than_the_burst_and_the_rate_allow(seed: int) -> None:
    rng = random.Random(seed)
    rate, burst = rng.choice([1, 2, 8]), rng.choice([1, 4, 32])
    budget = Budget(float(rate), float(burst))
    now, tokens = Fraction(0), Fraction(burst)
    for _ in range(300):
        step = Fraction(rng.choice([0, 0, 1, 3, 64]), 32)  # exact in binary
        now, tokens = now + step, min(Fraction(burst), tokens + step * rate)
        cost = Fraction(rng.choice([1, 1, 2, 5]), 2)
        wait = budget.pay(float(now), float(cost))
        if tokens >= cost:
            tokens -= cost
            assert wait == 0.0
        else:
            assert wait == float((cost - tokens) / rate)


def test_who_waits_as_long_as_it_is_told_has_enough() -> None:
    budget = Budget(4.0, 2.0)
    assert [budget.pay(0.0), budget.pay(0.0)] == [0.0, 0.0]
    wait = budget.pay(0.0)
    assert wait == 0.25
    assert budget.pay(wait) == 0.0


def test_another_rate_counts_from_now_on() -> None:
    budget = Budget(4.0, 8.0)
    assert budget.pay(0.0, 6.0) == 0.0
    budget.change(1.0, 1.0)
    assert budget.pay(0.0, 2.0) == 1.0
    assert budget.pay(100.0, 2.0) == 1.0


def test_a_clock_that_stands_or_goes_back_earns_nothing() -> None:
    budget = Budget(1.0, 1.0)
    assert budget.pay(10.0) == 0.0
    assert budget.pay(5.0) == 1.0
    assert budget.pay(10.0) == 1.0
    assert budget.pay(11.0) == 0.0
