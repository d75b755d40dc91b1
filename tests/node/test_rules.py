"""The rules of a node in whole numbers, held to fractions, to counting and to the library's floats."""

from __future__ import annotations

import hashlib
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.aggregation import DawidSkene
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.node import rules
from folkmoot.node.rules import ONE, dawid_skene, log2, median, plurality, pool, power, trimmed_mean, weighted

VOTES = st.lists(st.lists(st.integers(-1, 4), min_size=7, max_size=7), min_size=1, max_size=9)


def counted(column: list[int], weights: list[int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for vote, weight in zip(column, weights, strict=True):
        if vote != -1:
            found[vote] += weight
    return found


def expected(column: list[int], weights: list[int], least: int) -> int:
    """The decision of one input, by counting."""
    votes = counted(column, [1] * len(column))
    able = {c: w for c, w in counted(column, weights).items() if votes[c] >= least and w > 0}
    best = [c for c, w in able.items() if w == max(able.values())]
    return best[0] if len(best) == 1 else -1


@given(VOTES, st.integers(1, 3))
def test_plurality_counts(rows: list[list[int]], least: int) -> None:
    votes = np.array(rows)
    found = plurality(votes, least=least)
    for i, column in enumerate(votes.T.tolist()):
        assert found[i] == expected(column, [1] * len(column), least)


@given(VOTES, st.data())
def test_weights_add_up(rows: list[list[int]], data: Any) -> None:
    votes = np.array(rows)
    weights = data.draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)))
    found = weighted(votes, np.array(weights), least=2)
    for i, column in enumerate(votes.T.tolist()):
        assert found[i] == expected(column, weights, 2)


def test_the_coin_draws_among_the_tied() -> None:
    votes = np.array([[0, 3, 1], [4, 3, 1], [0, 2, 2], [4, 1, 1]])
    coin = b"the agreed commitments"
    drawn = int.from_bytes(hashlib.sha256(coin + (0).to_bytes(8, "big")).digest(), "big") % 2
    assert plurality(votes, least=2, coin=coin).tolist() == [[0, 4][drawn], 3, 1]
    assert plurality(votes, least=2).tolist() == [-1, 3, 1]
    each = {int(plurality(votes, least=2, coin=bytes([i]))[0]) for i in range(40)}
    assert each == {0, 4}


def test_weights_that_are_none() -> None:
    votes = np.zeros((2, 1), dtype=np.int64)
    with pytest.raises(ValueError, match="one whole number per member"):
        weighted(votes, np.array([1, 2, 3]), least=1)
    with pytest.raises(ValueError, match="one whole number per member"):
        weighted(votes, np.array([0.5, 1.0]), least=1)
    with pytest.raises(ValueError, match="weights must be within 0"):
        weighted(votes, np.array([-1, 1]), least=1)


GRID = st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=9)


@given(GRID, st.integers(0, 2))
def test_numbers_are_those_of_fractions(column: list[int | None], liars: int) -> None:
    numbers = np.array([[0 if x is None else x] for x in column])
    there = np.array([[x is not None] for x in column])
    kept = sorted(x for x in column if x is not None)
    for rule, middle in (
        (trimmed_mean, kept[liars : len(kept) - liars]),
        (median, kept[(len(kept) - 1) // 2 : len(kept) // 2 + 1]),
    ):
        answer, able = rule(numbers, there, liars=liars)
        assert bool(able[0]) == (len(kept) > 2 * liars)
        if able[0]:
            exact = Fraction(sum(middle), len(middle))
            assert answer[0] == (exact + Fraction(1, 2)).__floor__()


@given(st.lists(st.lists(st.integers(0, 255), min_size=3, max_size=3), min_size=3, max_size=8))
def test_pools_are_those_of_exact_sums_and_products(said: list[list[int]]) -> None:
    levels = np.array(said)[:, None]
    there = np.ones((len(said), 1), dtype=np.bool_)
    sums = [sum(row[c] for row in said) for c in range(3)]
    best = [c for c in range(3) if sums[c] == max(sums)]
    backing = [sum(row[c] == max(row) and row[c] > 0 for row in said) for c in range(3)]
    found = pool(levels, there, rule="mean", trim=0, least=1)[0]
    able = [c for c in range(3) if backing[c] and sums[c]]
    best = [c for c in able if sums[c] == max(sums[k] for k in able)]
    assert found == (best[0] if len(best) == 1 else -1)
    products = [1, 1, 1]
    for row in said:
        products = [products[c] * max(2 * row[c], 1) for c in range(3)]
    first, second = sorted((products[c] for c in able), reverse=True)[:2] if len(able) > 1 else (0, 0)
    if first > 1.01 * second > 0:  # nearer ones are within the logarithms' rounding
        found = pool(levels, there, rule="log", trim=0, least=1)[0]
        assert found == max(able, key=lambda c: products[c])


def test_a_pool_stays_in_the_honest_range() -> None:
    """One liar of four, and one of each class dropped at either end: what is decided is not its alone."""
    levels = np.array([[[200, 55]], [[180, 75]], [[190, 65]], [[0, 255]]])
    there = np.ones((4, 1), dtype=np.bool_)
    for rule in ("mean", "log"):
        assert pool(levels, there, rule=rule, trim=1, least=2)[0] == 0
    assert pool(levels, there, rule="mean", trim=1, least=4)[0] == -1
    assert pool(levels, ~there, rule="mean", trim=1, least=1)[0] == -1
    with pytest.raises(ValueError, match=r"levels must be within 0\.\.255"):
        pool(levels + 1, there, rule="mean", trim=0, least=1)


def test_the_tables_are_logarithms_and_powers() -> None:
    numbers = np.array([1, 2, 3, 5, 7, 1000, 65_535, 65_536, 10**6, 2**40 + 12_345])
    assert np.abs(log2(numbers) / ONE - np.log2(numbers)).max() < 2 / ONE
    assert log2(np.array([1, 2, 1 << 40])).tolist() == [0, ONE, 40 * ONE]
    below = np.arange(0, 40 * ONE, 977)
    assert np.abs(power(below) / 2**30 - 2.0 ** (-below / ONE)).max() < 1e-7
    assert power(np.array([0, ONE, 3 * ONE])).tolist() == [1 << 30, 1 << 29, 1 << 27]


def crowd(seed: int, classes: int, members: int, inputs: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, inputs)
    skill = rng.uniform(0.35, 0.9, members)
    votes = np.where(
        rng.random((members, inputs)) < skill[:, None], truth, rng.integers(0, classes, (members, inputs))
    )
    votes[rng.random(votes.shape) < 0.05] = -1
    return votes, truth


@pytest.mark.parametrize("one_coin", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_dawid_skene_decides_as_with_floats(classes: int, one_coin: bool) -> None:
    same, inputs = 0, 0
    for seed in range(20):
        for members in (4, 7, 25):
            votes, _ = crowd(seed, classes, members, 150)
            found = dawid_skene(votes, classes=classes, least=1, one_coin=one_coin)
            floats = aggregate(votes, DawidSkene(one_coin=one_coin), classes=classes).decision
            same, inputs = same + int((found == floats).sum()), inputs + 150
    assert same / inputs > 0.99


def test_dawid_skene_minds_no_order() -> None:
    votes, _ = crowd(0, 4, 9, 200)
    found = dawid_skene(votes, classes=4, least=1)
    rng = np.random.default_rng(1)
    members, inputs = rng.permutation(9), rng.permutation(200)
    other = dawid_skene(votes[members][:, inputs], classes=4, least=1)
    np.testing.assert_array_equal(other, found[inputs])


def test_dawid_skene_stops_early_where_there_is_much_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Votes by lot never settle: a member could hold up all others with a legal motion."""
    looked_at: list[int] = []
    believed = rules._Entries.believed

    def counting(told: Any, logs: Any, belief: Any) -> Any:
        looked_at.append(len(told.where))
        return believed(told, logs, belief)

    monkeypatch.setattr(rules._Entries, "believed", counting)
    dawid_skene(np.random.default_rng(3).integers(0, 8, (7, 20_000)), classes=8, least=1)
    assert max(looked_at) > 400_000
    assert sum(looked_at) <= 16_000_000


def test_dawid_skene_needs_votes_for_what_it_decides() -> None:
    """Three copies outweigh four that differ, and yet a class needs the least number of votes."""
    votes, truth = crowd(3, 3, 7, 300)
    found = dawid_skene(votes, classes=3, least=3)
    decided = found != -1
    named = (votes == found).sum(axis=0)
    assert (named[decided] >= 3).all()
    assert (found == truth)[decided].mean() > 0.8
    with pytest.raises(ValueError, match="classes must be within 2"):
        dawid_skene(votes, classes=1, least=1)
