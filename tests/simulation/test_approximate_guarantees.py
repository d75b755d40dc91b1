"""What ``agree`` guarantees: honest numbers stay in the honest range, and how fast they draw nearer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import hypergeom

from folkmoot import agree
from folkmoot.adversaries import (
    NUMBER_ATTACKS,
    FarAway,
    NumberAdversary,
    Observation,
    RandomNumber,
    Silent,
    Stalling,
)
from folkmoot.aggregation import RULES, Mean, Median, TrimmedMean
from folkmoot.arrays import Floats
from folkmoot.simulation.approximate_draws import draw_peers
from support.first_numbers import liars, numbers

# ---- validity ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Anything(NumberAdversary):
    """Numbers of any size, or none, by the die: equivocates between askers and rounds."""

    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        wild = np.where(seen.die < 0.5, -(10.0 ** (200 * seen.die)), 10.0 ** (200 * (seen.die - 0.5)))
        return np.where(seen.die < 0.1, np.nan, np.where(seen.die > 0.95, np.inf, wild + 0 * seen.asker))


LIARS = st.sampled_from([Anything(), *(attack() for attack in NUMBER_ATTACKS.values()), FarAway(-7.0)])
STARTS = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e6, 1e6))


@st.composite
def moots(draw: st.DrawFn, *, most: int = 10) -> tuple[Floats, dict[int, NumberAdversary]]:
    """First numbers of n participants on three inputs, and f < n/3 liars of mixed kinds."""
    n = draw(st.integers(1, most))
    values = draw(arrays(np.float64, (n, 3, draw(st.integers(1, 2))), elements=STARTS))
    seats = draw(st.lists(st.integers(0, n - 1), max_size=(n - 1) // 3, unique=True))
    return values, {seat: draw(LIARS) for seat in seats}


def ranges(values: Floats, honest: Sequence[bool] | npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    held = values[np.asarray(honest)]
    return held.min(axis=0), held.max(axis=0)


@settings(max_examples=60)
@given(moots(), st.sampled_from([TrimmedMean(), Median()]), st.integers(0, 99))
def test_honest_numbers_stay_in_the_honest_range_of_the_round_before(
    moot: tuple[Floats, dict[int, NumberAdversary]], rule: Any, seed: int
) -> None:
    values, byzantine = moot
    now = values
    for turn in range(4):
        after = agree(now, rule, adversaries=byzantine, rounds=1, tolerance=0, seed=seed + turn)
        low, high = ranges(now, after.honest)
        assert (after.numbers[after.honest] >= low).all()  # to the last bit
        assert (after.numbers[after.honest] <= high).all()
        now = np.where(after.honest[:, None, None], after.numbers, values)


@settings(max_examples=40)
@given(moots(most=9), st.integers(0, 99), st.data())
def test_samples_without_too_many_liars_never_widen_the_range(
    moot: tuple[Floats, dict[int, NumberAdversary]], seed: int, data: st.DataObject
) -> None:
    values, byzantine = moot
    n = len(values)
    if n == 1:
        return
    k = data.draw(st.integers(1, n - 1))
    after = agree(values, TrimmedMean(), adversaries=byzantine, k=k, rounds=1, tolerance=0, seed=seed)
    low, high = ranges(values, after.honest)
    for node in np.flatnonzero(after.honest):
        if len(set(draw_peers(seed, 0, n, np.array([node]), k)[0].tolist()) & set(byzantine)) <= k // 3:
            assert (after.numbers[node] >= low).all()
            assert (after.numbers[node] <= high).all()


def test_far_away_moves_the_mean_and_not_the_trimmed_mean() -> None:
    values = numbers(31, 50)
    byzantine = liars(10, FarAway(1e4))  # 31 > 3 * 10
    low, high = ranges(values, [i not in byzantine for i in range(31)])
    for rule in (TrimmedMean(), Median()):
        got = agree(values, rule, adversaries=byzantine)
        assert (got.decision >= low).all()
        assert (got.decision <= high).all()
        assert got.settled.all()
    assert (agree(values, Mean(), adversaries=liars(1, FarAway(1e4)), rounds=3).decision > high).all()


def test_one_far_liar_in_the_sample_is_trimmed_and_too_many_are_not() -> None:
    values = np.zeros((101, 1))
    values[0] = 1.0
    byzantine: dict[int, NumberAdversary] = {i: FarAway(1e6) for i in range(1, 34)}
    # With a third of liars some samples of ten hold more than three: sampling is no guarantee.
    assert hypergeom.sf(3, 100, 33, 10) > 0.4
    assert agree(values, TrimmedMean(), adversaries=byzantine, k=10, rounds=1).spread.item() > 1e5
    assert agree(values, TrimmedMean(), adversaries=byzantine, rounds=1).spread.item() <= 1.0


# ---- contraction -------------------------------------------------------------------------------


@settings(max_examples=60)
@given(moots(), st.integers(0, 99))
def test_the_honest_diameter_shrinks_by_the_factor(
    moot: tuple[Floats, dict[int, NumberAdversary]], seed: int
) -> None:
    values, byzantine = moot
    got = agree(values, TrimmedMean(), adversaries=byzantine, rounds=6, tolerance=0, seed=seed, record=True)
    c = TrimmedMean().contraction(len(values), len(byzantine))
    assert c < 1
    assert got.history is not None
    slack = 1e-12 * (1 + np.abs(values).max())
    assert (got.history[:, 1:] <= c * got.history[:, :-1] + slack).all()


@pytest.mark.parametrize(("n", "f"), [(4, 1), (7, 2), (10, 3), (31, 10), (9, 2)])
def test_stalling_attains_the_factor_in_every_round(n: int, f: int) -> None:
    values = np.concatenate((np.zeros(n // 2), np.ones(n - n // 2)))[:, None]
    seats = [i * n // f for i in range(f)]  # among both halves
    rule = TrimmedMean(f)
    got = agree(
        values, rule, adversaries=dict.fromkeys(seats, Stalling()), rounds=8, tolerance=0, record=True
    )
    assert got.history is not None
    ratio = got.history[0, 1:] / got.history[0, :-1]
    np.testing.assert_allclose(ratio, rule.contraction(n, f), rtol=1e-9)


def test_stalling_keeps_two_camps_apart_for_ever_but_for_the_trimmed_mean() -> None:
    values = np.array([[0.0], [0.0], [1.0], [1.0], [0.5]])
    for name in ("median", "geometric-median", "krum"):
        got = agree(values, RULES[name](), adversaries={4: Stalling()}, rounds=200)
        assert got.spread.item() == 1.0
        assert got.rounds.item() == 200
        assert got.undecided == 1
    got = agree(values, TrimmedMean(), adversaries={4: Stalling()})
    assert got.settled.all()
    # c = 1/3: at most 7 rounds to a thousandth.
    assert got.rounds.item() == math.ceil(math.log(1e3) / math.log(3))


def test_the_mean_of_one_equivocating_liar_never_settles() -> None:
    @dataclass(frozen=True)
    class Apart(NumberAdversary):
        def answer_number(self, seen: Observation) -> npt.ArrayLike:
            return np.where(seen.asker < (seen.low + seen.high) / 2, seen.low - 50, seen.high + 50)

    values = numbers(7, 4)
    spread = agree(values, Mean(), adversaries={0: Apart()}).spread
    assert (spread > np.ptp(values[1:], axis=0)).all()
    assert agree(values, TrimmedMean(), adversaries={0: Apart()}).settled.all()


@pytest.mark.parametrize("rule", RULES)
def test_without_liars_all_who_ask_all_agree_at_once_to_the_last_bit(rule: str) -> None:
    for outputs in (1, 3):
        got = agree(numbers(9, 6, outputs), RULES[rule]())
        assert (got.spread == 0.0).all()
        assert (got.rounds == 1).all()
        assert got.queries == 9 * 8


def test_samples_draw_nearer_on_average() -> None:
    values = numbers(40, 200)
    for adversary in (Stalling(), FarAway(5.0), RandomNumber(), Silent()):
        got = agree(
            values, TrimmedMean(), adversaries=liars(2, adversary), k=12, rounds=5, tolerance=0, record=True
        )
        assert got.history is not None
        ratio = got.history[:, 1:] / got.history[:, :-1]
        assert np.exp(np.log(ratio).mean()) < 0.8
