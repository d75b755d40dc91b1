"""Specialists: rows of other classes than the inputs, by permutations and by hand, among honest and liars."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot import aggregate
from folkmoot.aggregation import HoldoutTrust, Known, Rows
from folkmoot.aggregation.holdout import Holdout
from folkmoot.aggregation.unlike_rows import of_other_classes, unlike_rows
from folkmoot.arrays import Ints
from folkmoot.votes import Votes

CLASSES = 10


@pytest.mark.parametrize(
    ("rows", "answers"),
    [
        ([6, 5, 9], [30, 40, 50]),
        ([12, 1, 2], [30, 40, 50]),
        ([8, 3, 4], [30, 40, 50]),
        ([0, 9, 9], [60, 50, 50]),
    ],
    ids=["like", "unlike", "between", "one missing"],
)
def test_classes_are_other_ones_if_hardly_any_shuffle_parts_them_so_far(
    rows: list[int], answers: list[int]
) -> None:
    """The chi-squared statistic of 4,000 shuffles of rows and answers together."""
    table = np.array([rows, answers])
    labels = np.repeat(np.tile(np.arange(3), 2), table.ravel())
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()

    def apart(counts: Ints) -> float:
        return float(((counts - expected) ** 2 / expected).sum())

    rng, found = np.random.default_rng(0), []
    for _ in range(4000):
        drawn = np.bincount(rng.permutation(labels)[: sum(rows)], minlength=3)
        found.append(apart(np.stack([drawn, table.sum(axis=0) - drawn])))
    chance = float(np.mean(np.array(found) >= apart(table)))
    assert of_other_classes(np.array(rows), np.array(answers)) == (chance < 0.001)


def test_nothing_is_unlike_nothing() -> None:
    assert not of_other_classes(np.zeros(3), np.array([1, 2, 3]))
    assert not of_other_classes(np.array([1.0, 2.0]), np.zeros(2))
    assert not of_other_classes(np.array([30, 0]), np.array([400, 0]))


@pytest.mark.parametrize(("agreed", "told"), [(64, False), (65, True)], ids=["less", "more"])
def test_agreement_on_own_classes_by_hand(agreed: int, told: bool) -> None:
    """The others name each of three classes on 100 inputs; all 30 own rows are of two classes, and right.

    The recall is (15 + 3 p) / 18 with p = 31/33, so .990. Half of the own votes are for each of the two, so
    2 * 100 * (.990 - .5) = 98 agreements beyond the 100 of chance are expected, and 30% of these are 29.4.
    """
    rows = np.repeat([0, 1], 15)
    answer = np.repeat([0, 1, 2], 100)
    own = np.concatenate([
        np.arange(100) >= 65,  # 65 agree
        np.arange(100) < agreed,
        np.arange(100) >= 50 - 65 + agreed,
    ]).astype(np.int64)  # fmt: skip
    assert (own == 0).sum() == 150
    found = unlike_rows(0, own[None], np.eye(3)[answer].T, Holdout.of(rows, rows, 3))
    assert (found is not None) == told


def specialists(seed: int, lying: int) -> tuple[Votes, Ints, Known]:
    """Fifteen that know three of ten classes and guess among these elsewhere, 30 own rows each; liars."""
    rng = np.random.default_rng([seed, 40])
    n, inputs, held = 15, 500, 30
    truth, owner = rng.integers(0, CLASSES, inputs), np.repeat(np.arange(n), held)
    votes, shown = np.empty((n, inputs), dtype=np.int64), np.full((n, n * held), -1)
    labels = np.empty(n * held, dtype=np.int64)
    for i in range(n):
        own = (2 * i + np.arange(3)) % CLASSES
        labels[owner == i] = rng.choice(own, held)

        def said(right: Ints, own: Ints = own) -> Ints:
            sure = np.isin(right, own) & (rng.random(len(right)) < 0.9)
            return np.where(sure, right, rng.choice(own, len(right)))

        votes[i], shown[i, owner == i] = said(truth), said(labels[owner == i])
    liars = rng.permutation(n)[:lying]
    story = rng.integers(0, CLASSES, inputs)  # which they mostly tell: they are no copies
    heard = rng.random((lying, inputs)) < 0.8
    votes[liars] = np.where(heard, story, rng.integers(0, CLASSES, (lying, inputs)))
    honest = np.setdiff1d(np.arange(n), liars)
    return votes, truth, Known(rows=Rows(shown, labels, owner), classes=CLASSES, judges=honest)


@pytest.mark.parametrize("seed", range(4))
def test_honest_specialists_count_all_alike(seed: int) -> None:
    votes, truth, known = specialists(seed, 0)
    final = HoldoutTrust().final_votes(votes, known)
    assert (final.votes == truth).mean() > (aggregate(votes).decision == truth).mean() - 0.01
    assert len(final.fell_back) > 12
    assert all("of other classes than the inputs" in why for why in final.fell_back.values())
    assert final.weights is not None
    assert (final.weights[list(final.fell_back)] == 1).all()


@pytest.mark.parametrize("seed", range(4))
def test_specialists_do_not_believe_a_colluding_majority(seed: int) -> None:
    votes, truth, known = specialists(seed, 9)
    final = HoldoutTrust().final_votes(votes, known).votes[known.judges]
    assert (final == truth).mean() > (aggregate(votes).decision == truth).mean() + 0.1
