"""Tests of publishers, against all orders of few claims and all cuts of few numbers."""

from itertools import permutations

import numpy as np
import pytest

from folkmoot.arrays import Ints
from folkmoot.trust.checked import centred
from folkmoot.trust.shift import agreement, shifted
from folkmoot.trust.vetting import best_cut, permutation_z, sides


@pytest.mark.parametrize("seed", range(6))
def test_z_is_exact_over_all_orders_of_the_claims(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, claims = rng.normal(size=(6, 3)).astype(np.float32), rng.integers(0, 3, 6)
    claims[:2] = 0, 1
    sums = np.array([scores[np.arange(6), list(order)].sum() for order in permutations(claims)])
    expected = (scores[np.arange(6), claims].sum() - sums.mean()) / sums.std()
    assert permutation_z(scores, claims) == pytest.approx(expected, rel=1e-4)


def test_claims_of_one_colour_or_one_row_say_nothing() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    assert permutation_z(scores, np.zeros(5, dtype=int)) == 0
    assert permutation_z(scores[:1], np.array([1])) == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_best_cut_has_the_least_spread_within(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=12)
    above, gap = best_cut(values)
    ordered = np.sort(values)
    spreads = {
        cut: ((ordered[:cut] - ordered[:cut].mean()) ** 2).sum()
        + ((ordered[cut:] - ordered[cut:].mean()) ** 2).sum()
        for cut in range(3, 10)
    }
    cut = min(spreads, key=spreads.__getitem__)
    assert above.tolist() == (values > (ordered[cut - 1] + ordered[cut]) / 2).tolist()
    assert gap == pytest.approx(
        (ordered[cut:].mean() - ordered[:cut].mean()) / np.sqrt(spreads[cut] / 12), rel=1e-6
    )


def test_agreement_counts_only_rows_on_which_both_voted() -> None:
    votes = np.array([[0, 1, 1, -1], [0, 0, 1, 1], [-1, -1, -1, 1]])
    assert agreement(centred(votes, 2)).round(3).tolist() == [
        [1.0, 0.667, 0.0],
        [0.667, 1.0, 1.0],
        [0.0, 1.0, 1.0],
    ]


def _votes(rng: np.random.Generator, truth: Ints, accuracy: float, n: int) -> Ints:
    wrong = (truth + rng.integers(1, 3, (n, len(truth)))) % 3
    return np.where(rng.random((n, len(truth))) < accuracy, truth, wrong)


def test_publishers_of_two_worlds_are_told_apart_and_those_of_one_are_not() -> None:
    rng = np.random.default_rng(1)
    truth, publisher = rng.integers(0, 3, 400), np.arange(400) % 20
    votes = _votes(rng, truth, 0.7, 20)
    rows_of = [np.flatnonzero(publisher == q) for q in range(20)]
    assert sides(centred(votes, 3), truth, rows_of, np.ones(20)) == []
    claims = np.where(publisher < 12, rng.integers(0, 3, 400), truth)
    votes[:12] = np.where(publisher < 12, claims, rng.integers(0, 3, 400))  # they prove each other right
    found = sides(centred(votes, 3), claims, rows_of, np.r_[np.full(12, 1 / 12), np.ones(8)])
    assert found
    assert len(set(found[0][:12])) == 1 == len(set(found[0][12:]))
    assert found[0][0] != found[0][12]


@pytest.mark.parametrize("story", ["one", "each its own"])
def test_those_who_answer_the_batch_unlike_checked_rows_are_found(story: str) -> None:
    rng = np.random.default_rng(2)
    checked, batch = rng.integers(0, 3, 300), rng.integers(0, 3, 900)
    before, after = _votes(rng, checked, 0.7, 20), _votes(rng, batch, 0.7, 20)
    tables = agreement(centred(before, 3)), agreement(centred(after, 3))
    assert shifted(*tables) is None
    lies = (batch + 1) % 3 if story == "one" else rng.integers(0, 3, (12, 900))
    after[:12] = lies
    found = shifted(tables[0], agreement(centred(after, 3)))
    assert found is not None
    assert np.flatnonzero(found).tolist() == list(range(12))
