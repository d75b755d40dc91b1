"""Auto: never far below what it chooses from, never below the majority with one liar of five."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from folkmoot.aggregation import Auto, DawidSkene, Known, PeerReview, Rows
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.aggregation.telling_apart import changed
from folkmoot.arrays import Ints
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.regressor import ConsensusRegressor


def voters(seed: int, n: int, p: float, liars: int, on_rows: bool) -> tuple[Rows, Ints, Ints]:
    """So many of n are wrong on the batch, perhaps on rows; the others are right with chance p."""
    rng = np.random.default_rng(seed)
    rows = 10 * n
    truth = rng.integers(0, 2, rows + 300)
    votes = np.where(rng.random((n, len(truth))) < p, truth, 1 - truth)
    wrong = slice(0, None) if on_rows else slice(rows, None)
    votes[:liars, wrong] = 1 - truth[wrong]
    return Rows(votes[:, :rows], truth[:rows], np.arange(rows) // 10), votes[:, rows:], truth[rows:]


@pytest.mark.parametrize("p", [0.8, 0.9, 0.95])
def test_one_liar_of_five_that_spares_rows_wins_nothing(p: float) -> None:
    lost = []
    for seed in range(200, 208):
        rows, votes, truth = voters(seed, 5, p, 1, on_rows=False)
        final = Auto().final_votes(votes, Known(classes=2, rows=rows, judges=np.arange(1, 5)))
        majority = (aggregate(votes).decision == truth).mean()
        lost.append(majority - (final.votes[1:] == truth).mean())
    assert max(lost) <= 0.01


@pytest.mark.parametrize(("n", "liars"), [(5, 1), (7, 2)])
def test_peer_review_tells_a_liar_that_spares_rows_among_few(n: int, liars: int) -> None:
    gained = []
    for seed in range(200, 206):
        rows, votes, truth = voters(seed, n, 0.9, liars, on_rows=False)
        final = PeerReview().final_votes(votes, Known(classes=2, rows=rows, judges=np.arange(liars, n)))
        majority = (aggregate(votes).decision == truth).mean()
        gained.append((final.votes[liars:] == truth).mean() - majority)
        assert changed(rows.votes, votes[:, :19]) is None  # of so few inputs nothing is told
        honest = changed(np.delete(rows.votes, range(liars), 0), np.delete(votes, range(liars), 0))
        assert honest is None
    assert min(gained) >= -0.01
    assert np.mean(gained) > 0.01


def test_it_takes_what_the_rows_bear_out() -> None:
    rows, votes, truth = voters(300, 7, 0.8, 3, on_rows=True)
    known = Known(classes=2, rows=rows, judges=np.arange(3, 7))
    final = Auto().final_votes(votes, known)
    assert (final.votes[3:] == truth).mean() > 0.95
    assert "auto took" in final.told
    candidates = {
        "plurality": (aggregate(votes).decision == truth).mean(),
        "Dawid-Skene": (aggregate(votes, DawidSkene()).decision == truth).mean(),
        "peer review": (PeerReview().final_votes(votes, known).votes[3:] == truth).mean(),
    }
    assert (final.votes[3:] == truth).mean() >= max(candidates.values()) - 0.01


def test_few_rows_choose_nothing() -> None:
    _, votes, _ = voters(1, 5, 0.8, 0, on_rows=False)
    final = Auto().final_votes(votes, Known(classes=2))
    np.testing.assert_array_equal(final.votes[0][aggregate(votes).decision >= 0], aggregate(votes).decision)
    assert "0 rows are shown" in final.told


def test_the_name_is_enough_and_sites_that_know_better_are_told() -> None:
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    test = np.zeros(len(y), dtype=bool)
    test[rng.permutation(len(y))[:50]] = True
    # Three sites see two kinds of flowers each, and never the third.
    site = (y + rng.integers(0, 2, len(y))) % 3
    moot = ConsensusClassifier([DecisionTreeClassifier()], aggregation="auto", random_state=0)
    moot.fit(X[~test], y[~test], groups=site[~test])
    report = moot.report(X[test], y[test], stacking=False)
    assert report.told.startswith("auto took")
    assert report.told in str(report)
    plain = ConsensusClassifier([DecisionTreeClassifier()], random_state=0)
    plain.fit(X[~test], y[~test], groups=site[~test])
    assert moot.score(X[test], y[test]) >= plain.score(X[test], y[test]) - 0.01
    own = moot.predict(X[test], groups=site[test])
    assert (own == y[test]).mean() > 0.8


def test_numbers_that_show_nothing_are_answered_by_the_constant() -> None:
    X, y = load_diabetes(return_X_y=True)
    noise = np.random.default_rng(0).permutation(y)
    moot = ConsensusRegressor([Ridge(1e-3)] * 6, aggregation="auto", random_state=0).fit(X[:300], noise[:300])
    answers = moot.predict(X[300:])
    assert moot.shown_ is not None
    owners = [moot.shown_.truth[moot.shown_.owner == i].mean() for i in range(6)]
    np.testing.assert_allclose(answers, np.median(owners))
    assert "nothing over a constant" in moot.report(X[300:], noise[300:], stacking=False).told
    real = ConsensusRegressor([Ridge(0.1)] * 6, aggregation="auto", random_state=0).fit(X[:300], y[:300])
    assert np.ptp(real.predict(X[300:])) > 50


def test_bad_rows_are_named() -> None:
    with pytest.raises(ValueError, match="rows must be"):
        Auto(rows="some")  # type: ignore[arg-type]


def test_false_numbers_of_one_owner_do_not_make_the_moot_worth_nothing() -> None:
    """One of six owners says its numbers three deviations too high, so that all rules look as bad."""
    rng = np.random.default_rng(3)
    truth = rng.normal(size=360)
    votes = truth + 0.6 * rng.normal(size=(6, 360))
    owner = np.arange(60) % 6
    told = truth[:60] + np.where(owner == 0, 6.0, 0.0)
    rows = Rows(votes[:, :60], told, owner)
    final = Auto().final_votes(votes[:, 60:], Known(rows=rows, judges=np.arange(1, 6)))
    error = np.sqrt(((final.votes[1:] - truth[60:]) ** 2).mean())
    assert error < 0.5 * np.std(truth[60:])
    assert "nothing over a constant" not in final.told


def test_probabilities_rule_nothing_out() -> None:
    """All rows left out are answered rightly, which does not make a wrong answer impossible."""
    rows, votes, _ = voters(400, 6, 0.99, 0, on_rows=False)
    final = Auto().final_votes(votes, Known(classes=2, rows=rows))
    assert final.probabilities is not None
    assert final.probabilities.min() > 0
    np.testing.assert_allclose(final.probabilities.sum(axis=2), 1)


@pytest.mark.parametrize(("labels", "took"), [(2, "peer review"), (20, "plurality")])
def test_few_rows_per_label_are_no_reason_to_leave_the_plurality(labels: int, took: str) -> None:
    """Where all candidates are always right, the first of them is taken."""
    truth = np.arange(140) % labels
    votes = np.tile(truth, (5, 1))
    rows = Rows(votes[:, :40], truth[:40], np.arange(40) % 5)
    final = Auto().final_votes(votes[:, 40:], Known(classes=labels, rows=rows))
    assert final.told.startswith(f"auto took {took}; right on 40 rows left out")
    assert (final.votes == truth[40:]).all()
