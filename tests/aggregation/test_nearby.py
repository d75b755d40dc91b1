"""Votes weighed by shown rows that are near: distances by hand, weights by the formula, who knows where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from folkmoot.aggregation import Known, PeerReview, Rows
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.aggregation.nearby import Nearby
from folkmoot.aggregation.panel import centred
from folkmoot.aggregation.space import Space, space_of
from folkmoot.arrays import Floats, Ints


def regions(seed: int, n: int, *, malicious: int = 0, inputs: int = 400) -> tuple[Ints, Ints, Known]:
    """Participant i knows the inputs of [i, i + 1), shows ten, and guesses elsewhere."""
    rng = np.random.default_rng([seed, 4])
    owner = np.repeat(np.arange(n), 10)
    where = np.concatenate([owner + rng.random(len(owner)), n * rng.random(inputs)])
    truth = rng.integers(0, 2, len(where))
    knows = np.floor(where).astype(int) == np.arange(n)[:, None]
    near = np.abs(np.floor(where) - np.arange(n)[:, None]) <= 1
    right = rng.random((n, len(where))) < np.where(knows, 0.97, np.where(near, 0.8, 0.5))
    votes = np.where(right, truth, 1 - truth)
    votes[:malicious] = 1 - truth
    shown = truth[: len(owner)].copy()
    shown[owner < malicious] = 1 - shown[owner < malicious]
    X = where.reshape(-1, 1)
    rows = Rows(votes[:, : len(owner)], shown, owner, X[: len(owner)])
    known = Known(classes=2, rows=rows, inputs=X[len(owner) :], judges=np.arange(malicious, n))
    return votes[:, len(owner) :], truth[len(owner) :], known


@pytest.mark.parametrize("seed", range(3))
def test_those_who_know_a_region_are_believed_there(seed: int) -> None:
    votes, truth, known = regions(seed, 12)
    assert (aggregate(votes).decision == truth).mean() < 0.8
    local = PeerReview().aggregate(votes, known).decision
    everywhere = PeerReview(local=False).aggregate(votes, known).decision
    assert (local == truth).mean() > 0.85
    assert (local == truth).mean() > (everywhere == truth).mean() + 0.1


def test_liars_gain_nothing_by_rows_of_their_own() -> None:
    votes, truth, known = regions(0, 12, malicious=4)
    final = PeerReview().final_votes(votes, known).votes[4:]
    honest = np.asarray(known.inputs)[:, 0] >= 4  # regions that an honest participant knows
    assert (final[:, honest] == truth[honest]).mean() > 0.8


@pytest.mark.parametrize("seed", range(3))
def test_eight_regions_with_ten_rows_are_enough(seed: int) -> None:
    votes, truth, known = regions(seed, 8)
    local = PeerReview().aggregate(votes, known).decision
    everywhere = PeerReview(local=False).aggregate(votes, known).decision
    assert (local == truth).mean() > 0.8
    assert (local == truth).mean() > (everywhere == truth).mean() + 0.05


@pytest.mark.parametrize("seed", range(3))
def test_a_majority_that_lies_about_its_rows_is_not_believed_in_far_regions(seed: int) -> None:
    """The owners fall into two sides, and a judge widens to its own alone."""
    votes, truth, known = regions(seed, 20, malicious=12)
    assert (aggregate(votes).decision == truth).mean() < 0.1
    final = PeerReview().final_votes(votes, known).votes[12:]
    assert (final == truth).mean() > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_a_region_of_one_class_still_tells_whom_to_believe(seed: int) -> None:
    """No order of labels that are all alike is worse than another: its rows alone cannot test a rule."""
    rng = np.random.default_rng([seed, 5])
    n, each = 9, 10
    owner = np.repeat(np.arange(n), each)
    where = np.concatenate([owner + rng.random(len(owner)), n * rng.random(300)])
    region = np.floor(where).astype(int)
    truth = region % 3  # each region has one class
    knows = np.abs(region - np.arange(n)[:, None]) <= 1
    guess = np.where(
        rng.random((n, len(where))) < 0.8, np.arange(n)[:, None] % 3, rng.integers(0, 3, len(where))
    )
    votes = np.where(knows, truth, guess)
    X = where.reshape(-1, 1)
    rows = Rows(votes[:, : len(owner)], truth[: len(owner)], owner, X[: len(owner)])
    known = Known(classes=3, rows=rows, inputs=X[len(owner) :])
    final = PeerReview(expert=None).final_votes(votes[:, len(owner) :], known)
    assert not final.fell_back
    plain = (aggregate(votes[:, len(owner) :]).decision == truth[len(owner) :]).mean()
    assert (final.votes == truth[len(owner) :]).mean() > max(plain + 0.05, 0.95)


def test_rows_are_beside_others_where_another_owner_is_as_near() -> None:
    X = np.array([[0.0], [1.0], [1.5], [9.0], [10.0]])
    owner = np.array([0, 0, 1, 1, 1])
    votes = np.zeros((5, 2, 2), dtype=np.float32)
    nearby = Nearby(votes, np.zeros(5, dtype=int), owner, 1.0, np.arange(2), Space(X), X, votes)
    assert nearby.beside_others.tolist() == [False, True, True, False, False]


def test_without_inputs_nothing_is_near() -> None:
    votes, _, known = regions(1, 12)
    assert known.rows is not None
    blind = Known(
        classes=2, rows=Rows(known.rows.votes, known.rows.truth, known.rows.owner), judges=known.judges
    )
    plain = PeerReview(local=False, expert=None).final_votes(votes, known).votes
    np.testing.assert_array_equal(PeerReview().final_votes(votes, blind).votes, plain)


def test_weights_are_those_of_the_formula() -> None:
    rng = np.random.default_rng(3)
    rows, inputs, n, classes = 30, 5, 4, 3
    X, asked = rng.normal(size=(rows, 2)), rng.normal(size=(inputs, 2))
    truth, owner = rng.integers(0, classes, rows), np.arange(rows) % n
    votes = rng.integers(-1, classes, (n, rows))
    table = rng.integers(0, classes, (n, inputs))
    nearby = Nearby(
        centred(votes, classes), truth, owner, 1.0, np.arange(n), Space(X), asked, centred(table, classes)
    )
    accepted = np.array([True, True, True, False])
    found = nearby.weights(accepted, slice(None))
    there = [r for r in range(rows) if accepted[owner[r]]]
    spread = X.std(axis=0)
    for i in range(inputs):
        apart = {r: float((((asked[i] - X[r]) / spread) ** 2).sum()) for r in there}
        ordered = sorted(apart.values())
        kernel = {r: np.exp(-(apart[r] - ordered[0]) / (ordered[4] - ordered[0])) for r in there}
        for j in range(n):
            cast = [r for r in there if votes[j, r] >= 0]
            hits = [r for r in cast if votes[j, r] == truth[r]]
            overall = (len(hits) + 4 / classes) / (len(cast) + 4)
            share = (sum(kernel[r] for r in hits) + 2 * overall) / (sum(kernel[r] for r in cast) + 2)
            share = min(max(share, 0.02), 0.98)
            assert found[i, j] == pytest.approx(np.log(share * (classes - 1) / (1 - share)))
    kept = nearby.on_rows(accepted)
    moved = truth.copy()
    moved[there[0]] = (moved[there[0]] + 1) % classes
    again = Nearby(
        centred(votes, classes), moved, owner, 1.0, np.arange(n), Space(X), asked, centred(table, classes)
    )
    # What a row is said to be does not hang on its own label, but for how good all are everywhere.
    others = nearby.by_others(accepted)
    assert kept.shape == others.shape == (rows, classes)
    assert np.abs(again.on_rows(accepted)[there[0]] - kept[there[0]]).max() < 0.2


FRAME = pd.DataFrame({"age": [30.0, 40.0, np.nan], "sex": ["f", "m", "f"], "town": ["a", "a", "b"]})
TEXTS = ["red apples here", "red apples there", "a blue sea", "the blue deep sea"]


def middle(values: Floats) -> Floats:
    return np.asarray((values - np.median(values)) / values.std())


def test_distances_of_tables_texts_and_sparse_rows() -> None:
    ages = middle(np.array([30.0, 40.0, 35.0]))
    expected = [
        [
            (ages[i] - ages[j]) ** 2 + 2 * sum(FRAME[c][i] != FRAME[c][j] for c in ("sex", "town"))
            for j in range(3)
        ]
        for i in range(3)
    ]
    np.testing.assert_allclose(Space(FRAME).between(), expected, atol=1e-9)
    np.testing.assert_allclose(Space(FRAME.to_numpy()).between(), expected, atol=1e-9)
    rows = sparse.csr_matrix(np.array([[2.0, 0], [0, 5.0], [1.0, 1.0], [0, 0]]))
    np.testing.assert_allclose(Space(rows).distances(rows[:1]), [[0, 2, 2 - np.sqrt(2), 1]], atol=1e-9)
    near = Space(TEXTS * 10).distances(["red apples"])
    assert near.shape == (1, 40)


def test_long_texts_are_near_by_their_words() -> None:
    many = [f"{text} number{i}" for i in range(10) for text in TEXTS]
    near = Space(many).distances(["some red apples"])[0]
    fruit = np.array(["red" in each for each in many])
    assert near[fruit].max() < near[~fruit].min()


@pytest.mark.parametrize(
    "rows", [None, [{"a": 1}], np.zeros((2, 2, 2)), [[object()]]], ids=["none", "dict", "cube", "object"]
)
def test_what_has_no_distance_has_no_space(rows: Any) -> None:
    assert space_of(rows) is None
