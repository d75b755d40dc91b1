"""The ridge regression of own aggregations, against fits that leave out each owner one after the other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from folkmoot.aggregation.panel import permutation_z
from folkmoot.aggregation.ridge import STRENGTHS, Decomposed, fit
from folkmoot.aggregation.telling_apart import best_cut, changed, copies
from folkmoot.arrays import Floats


@pytest.mark.parametrize("shape", [(60, 5), (40, 90)], ids=["more rows", "more features"])
@pytest.mark.parametrize("owners", [4, 20])
def test_leaving_out_owners_is_fitting_without_them(shape: tuple[int, int], owners: int) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=shape)
    base, target = rng.normal(size=(1, len(features), 2)), rng.normal(size=(len(features), 2))
    target += features[:, :2] + 0.5 * base[0]
    owner = rng.integers(0, owners, len(features))
    found = fit(features, base, target, owner)
    assert found.pulls[0] == pytest.approx(max(0.0, (base[0] * target).sum() / (base**2).sum()))
    rest = target - found.pulls[0] * base[0]
    unseen = {}
    for strength in STRENGTHS:
        unseen[strength] = np.empty_like(rest)
        for each in range(owners):
            out = owner == each
            if out.any():
                model = Ridge(strength, fit_intercept=False).fit(features[~out], rest[~out])
                unseen[strength][out] = model.predict(features[out])
    best = min(STRENGTHS, key=lambda each: ((rest - unseen[each]) ** 2).sum())
    np.testing.assert_allclose(found.unseen, unseen[best] + found.pulls[0] * base[0], atol=1e-6)
    whole = Ridge(best, fit_intercept=False).fit(features, rest)
    np.testing.assert_allclose(found.weights, whole.coef_.T, atol=1e-6)
    np.testing.assert_allclose(
        found.scores(features, base), whole.predict(features) + found.pulls[0] * base[0], atol=1e-6
    )


@pytest.mark.parametrize("shape", [(60, 5), (40, 90)], ids=["more rows", "more features"])
def test_rules_that_share_a_decomposition_have_the_moments_of_all_rows(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    features, rows = rng.normal(size=shape), np.arange(1, shape[0], 3)
    base, rest = np.zeros((1, len(features), 2)), rng.normal(size=(len(rows), 2)) + features[rows][:, :2]
    share, own = len(rows) / len(features), features[rows]

    def rule(places: list[int], strength: float) -> Floats:
        moments = share * features.T @ features + strength * np.eye(shape[1])
        return np.asarray(np.linalg.solve(moments, own[places].T @ rest[places]))

    every = list(range(len(rows)))
    without = [[each for each in every if each != i] for i in every]
    best = min(
        STRENGTHS,
        key=lambda strength: sum(((rest[i] - own[i] @ rule(without[i], strength)) ** 2).sum() for i in every),
    )
    found = Decomposed.of(features).scores(rows, base, rest)
    np.testing.assert_allclose(found, features @ rule(every, best), atol=1e-6)


def test_no_base_is_pushed_away() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(size=(1, 50, 1))
    assert fit(rng.normal(size=(50, 3)), base, -base[0], np.arange(50)).pulls[0] == 0


def test_z_is_that_of_all_orders() -> None:
    rng = np.random.default_rng(2)
    scores, labels = rng.normal(size=(6, 3)), np.array([0, 1, 2, 0, 1, 1])
    sums = [scores[np.arange(6), list(order)].sum() for order in itertools.permutations(labels)]
    expected = (scores[np.arange(6), labels].sum() - np.mean(sums)) / np.std(sums)
    # beside another part with one label, which no order changes, and rows of nobody
    part = np.repeat([0, 1, -1], 6)
    found = permutation_z(np.tile(scores, (3, 1)), np.concatenate([labels, [1] * 6, labels]), part, 3)
    assert found == pytest.approx([expected, 0, 0])


def test_copies_and_cuts() -> None:
    rng = np.random.default_rng(3)
    votes = rng.integers(0, 3, (5, 200))
    votes[3] = votes[1]
    votes[3, :5] = (votes[3, :5] + 1) % 3  # 2.5% differ
    assert copies(votes).tolist() == [0, 1, 2, 1, 3]
    values = np.concatenate([rng.normal(0, 0.1, 8), rng.normal(2, 0.1, 5)])
    above, gap = best_cut(values)
    assert above.tolist() == [False] * 8 + [True] * 5
    assert gap > 10


def test_liars_that_spare_rows_stand_out() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 1800)
    votes = np.where(rng.random((20, 1800)) < 0.7, truth, 1 - truth)
    assert changed(votes[:, :800], votes[:, 800:]) is None
    lying = votes.copy()
    lying[:12, 800:] = 1 - truth[800:]
    odd = changed(lying[:, :800], lying[:, 800:])
    assert odd is not None
    assert odd.tolist() == [True] * 12 + [False] * 8
    assert changed(lying[:, :800], lying[:, 800:1200]) is None  # too few inputs to tell
