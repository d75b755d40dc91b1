"""Public aggregations of votes and probabilities, against loops over fractions and textbook formulas."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot import aggregate
from folkmoot.aggregation import DawidSkene, Median, Plurality, Pool, TrimmedMean, Weighted
from folkmoot.aggregation.interface import Aggregation
from folkmoot.votes import Votes
from support.strategies import Renamed, renamed_tables, vote_tables

SMOOTHING = 0.01  # as the docstring states


def by_hand(votes: Votes, weights: list[Fraction], least: Fraction) -> list[tuple[int, set[int]]]:
    """The decision on each input, and the classes that are tied, by exact sums."""
    found = []
    for column in votes.T.tolist():
        sums: Counter[int] = Counter()
        for vote, weight in zip(column, weights, strict=True):
            if vote >= 0:
                sums[vote] += weight  # type: ignore[assignment]
        best = max(sums.values(), default=Fraction(0))
        ahead = {vote for vote, total in sums.items() if total == best} if best >= least else set()
        found.append((min(ahead), set()) if len(ahead) == 1 else (-1, ahead))
    return found


@given(vote_tables(), st.integers(1, 4))
def test_plurality_counts(table: tuple[Votes, int], least: int) -> None:
    votes, classes = table
    answers = aggregate(votes, Plurality(least))
    for i, (decision, tied) in enumerate(by_hand(votes, [Fraction(1)] * len(votes), Fraction(least))):
        assert answers.decision[i] == decision
        assert set(np.flatnonzero(answers.tied_classes(classes)[i]).tolist()) == tied
    cast = (votes >= 0).sum(axis=0)
    for label in range(classes):
        expected = (votes == label).sum(axis=0) / np.maximum(cast, 1)
        np.testing.assert_allclose(answers.probabilities(classes)[:, label], expected, atol=1e-12)


@given(vote_tables(), st.data())
def test_weighted_adds_exactly(table: tuple[Votes, int], data: st.DataObject) -> None:
    votes, classes = table
    one = st.sampled_from([0.0, 0.1, 0.2, 0.30000000000000004, 0.3, 1e-300, 1e300])
    weights = data.draw(st.lists(one, min_size=len(votes), max_size=len(votes)))
    answers = aggregate(votes, Weighted(weights))
    exact = by_hand(votes, [Fraction(each) for each in weights], Fraction(5e-324))
    assert answers.decision.tolist() == [decision for decision, _ in exact]
    for level, (_, tied) in zip(answers.tied_classes(classes), exact, strict=True):
        assert set(np.flatnonzero(level).tolist()) == tied


def textbook(votes: Votes, classes: int, rounds: int, one_coin: bool) -> list[list[float]]:
    """The posterior by the formulas of the 1979 paper, with loops; truth is one of the answers given."""
    n, inputs = votes.shape
    table = votes.tolist()
    named = [sorted({row[i] for row in table if row[i] >= 0}) for i in range(inputs)]
    truth = [[0.0] * classes for _ in range(inputs)]
    for i in range(inputs):
        cast = [row[i] for row in table if row[i] >= 0]
        for j in named[i]:
            truth[i][j] = cast.count(j) / len(cast)
    for _ in range(rounds):
        prior = [SMOOTHING + sum(truth[i][j] for i in range(inputs)) for j in range(classes)]
        chance: list[Any] = []
        for row in table:
            if one_coin:
                hits = sum(truth[i][row[i]] for i in range(inputs) if row[i] >= 0)
                p = (hits + 1) / (sum(vote >= 0 for vote in row) + classes)
                chance.append(
                    [
                        [p if j == m else (1 - p) / (classes - 1) for m in range(classes)]
                        for j in range(classes)
                    ]
                )
                continue
            matrix = []
            for j in range(classes):
                cells = [
                    SMOOTHING + sum(truth[i][j] for i in range(inputs) if row[i] == m) for m in range(classes)
                ]
                matrix.append([cell / sum(cells) for cell in cells])
            chance.append(matrix)
        for i in range(inputs):
            odds = {
                j: prior[j]
                / sum(prior)
                * math.prod(chance[k][j][table[k][i]] for k in range(n) if table[k][i] >= 0)
                for j in named[i]
            }
            for j in named[i]:
                truth[i][j] = odds[j] / sum(odds.values())
    return truth


@given(vote_tables(), st.integers(1, 10), st.booleans())
@settings(max_examples=60)
def test_dawid_skene_is_the_textbook(table: tuple[Votes, int], rounds: int, one_coin: bool) -> None:
    votes, classes = table
    answers = aggregate(votes, DawidSkene(one_coin, iterations=rounds, tolerance=0), classes=classes)
    expected = np.array(textbook(votes, classes, rounds, one_coin))
    np.testing.assert_allclose(answers.probabilities(classes), expected, rtol=0, atol=1e-8)
    assert answers.skills is not None
    for k, row in enumerate(votes.tolist()):
        right = [expected[i][vote] for i, vote in enumerate(row) if vote >= 0]
        share = sum(right) / len(right) if right else math.nan
        assert answers.skills[k] == pytest.approx(share, abs=1e-8, nan_ok=True)
    for i, chances in enumerate(expected):
        best = [label for label in range(classes) if chances[label] > chances.max() - 1e-10]
        if (votes[:, i] == -1).all():
            assert answers.decision[i] == -1
        elif len(best) == 1 and np.sort(chances)[-1] > np.sort(chances)[-2] + 1e-8:
            assert answers.decision[i] == best[0]


@given(renamed_tables())
@settings(max_examples=40)
def test_names_and_order_do_not_matter(table: Renamed) -> None:
    votes, classes, who, where, _ = table
    for rule in (Plurality(), DawidSkene(one_coin=False), DawidSkene(one_coin=True)):
        base = aggregate(votes, rule, classes=classes)
        assert aggregate(votes[who], rule, classes=classes).decision.tolist() == base.decision.tolist()
        shuffled = aggregate(votes[:, where], rule, classes=classes)
        assert shuffled.decision.tolist() == base.decision[where].tolist()
        renamed = aggregate(table.colours[votes], rule, classes=classes)
        assert renamed.decision.tolist() == table.colours[base.decision].tolist()


def test_an_aggregation_may_be_named_as_people_type_it() -> None:
    votes = [[0, 1, 1], [0, 1, 0], [1, 1, 0]]
    np.testing.assert_array_equal(aggregate(votes, "plurality(least=3)").decision, [-1, 1, -1])
    with pytest.raises(ValueError, match="aggregation must be one of plurality, dawid-skene"):
        aggregate(votes, "median-of-votes")


def test_a_truth_that_is_told_counts() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 400)
    votes = np.where(rng.random((9, 400)) < 0.85, truth, 1 - truth)
    votes[:5] = 1 - truth  # most lie: the votes alone say the opposite
    told = np.where(np.arange(400) < 40, truth, -1)
    assert (aggregate(votes, DawidSkene()).decision == truth).mean() < 0.1
    assert (aggregate(votes, DawidSkene(), truth=told).decision == truth)[40:].mean() > 0.95


def test_five_thousand_labels_need_no_more_memory_than_two() -> None:
    import tracemalloc

    rng = np.random.default_rng(7)
    truth = rng.integers(0, 5000, 1000)
    votes = np.where(rng.random((9, 1000)) < 0.7, truth, rng.integers(0, 5000, (9, 1000)))
    for rule in (Plurality(), Weighted([1] * 9), DawidSkene()):
        tracemalloc.start()
        answers = aggregate(votes, rule)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 40e6  # a column per label would take 40 MB for the shares alone
        assert (answers.decision == truth).mean() > 0.98


PROBABILITIES = [[[0.6, 0.4], [0.5, 0.5]], [[0.7, 0.3], [math.nan, math.nan]], [[0.0, 1.0], [0.1, 0.9]]]


def test_pools_are_means_of_those_who_spoke() -> None:
    mean = aggregate(PROBABILITIES, Pool(robust=False)).probabilities(2)
    assert mean == pytest.approx(np.array([[1.3 / 3, 1.7 / 3], [0.3, 0.7]]))
    log = aggregate(PROBABILITIES, Pool("log", robust=False)).probabilities(2)
    odds = (0.6 * 0.7 / 512 / (0.4 * 0.3 * 1.0)) ** (1 / 3)
    assert log[0] == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])
    trimmed = aggregate(PROBABILITIES, Pool(trim=1)).probabilities(2)
    assert trimmed[0] == pytest.approx([0.6, 0.4])
    assert trimmed[1] == pytest.approx([0.3, 0.7])  # of two, nothing can be dropped


@pytest.mark.parametrize("rule", ["mean", "log"])
def test_a_pool_weighs_by_distance_as_a_loop_does(rule: Literal["mean", "log"]) -> None:
    rng = np.random.default_rng(0)
    table = rng.dirichlet([0.4, 0.4, 0.4], size=(6, 40))
    table[2, 7:9] = math.nan
    found = aggregate(table, Pool(rule)).probabilities(3)
    for i in range(40):
        said = [each.tolist() for each in table[:, i] if not np.isnan(each).any()]
        middle = [statistics.median(each[c] for each in said) for c in range(3)]
        apart = [sum(abs(each[c] - middle[c]) for c in range(3)) for each in said]
        usual = max(statistics.median(apart), 0.5)
        weights = [1 / (1 + (each / usual) ** 2) for each in apart]
        pooled = []
        for c in range(3):
            values = [each[c] if rule == "mean" else math.log(max(each[c], 1 / 512)) for each in said]
            mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
            pooled.append(mean if rule == "mean" else math.exp(mean))
        assert found[i] == pytest.approx([each / sum(pooled) for each in pooled])
    again = aggregate(table[::-1], Pool(rule)).probabilities(3)
    np.testing.assert_array_equal(found, again)


def test_a_sure_minority_has_no_more_say_than_votes() -> None:
    """Two of seven are sure of the wrong class; a plain mean follows them, and their votes do not."""
    unsure = [[[0.6, 0.4]]] * 5
    sure = [[[0.0, 1.0]]] * 2
    assert aggregate(unsure + sure, Pool(robust=False)).decision[0] == 1
    assert aggregate(unsure + sure, Pool()).decision[0] == 0
    assert aggregate([[[0.6, 0.4]]] * 4, Pool()).probabilities(2) == pytest.approx(np.array([[0.6, 0.4]]))


def test_crisp_probabilities_are_never_trimmed_to_nothing() -> None:
    crisp = np.eye(4)[[[0, 1], [0, 2], [1, 3], [2, 3], [3, 1]]]
    answers = aggregate(crisp, Pool(trim=2))
    assert answers.probabilities(4).sum(axis=1) == pytest.approx([1, 1])
    assert answers.decision[0] == aggregate(np.argmax(crisp, axis=2), Plurality()).decision[0] == 0


def test_numbers_are_combined_by_those_who_gave_one() -> None:
    table = [[1.0, math.nan, math.nan], [2.0, 5.0, math.nan], [9.0, 7.0, math.nan], [3.0, 6.5, math.nan]]
    assert aggregate(table, Median()).decision == pytest.approx([2.5, 6.5, math.nan], nan_ok=True)
    assert aggregate(table, TrimmedMean()).decision[:1] == pytest.approx([2.5])


def test_labels_with_gaps_as_pandas_has_them_are_labels() -> None:
    votes = [[0, -1, 1, 2], [0, 2, 1, -1], [1, 2, -1, 2]]
    gaps = np.where(np.array(votes) < 0, np.nan, votes)
    for rule in (Plurality(), DawidSkene()):
        assert aggregate(gaps, rule).decision.tolist() == aggregate(votes, rule).decision.tolist()
    with pytest.raises(ValueError, match="must be classes, or NaN"):
        aggregate([[0.0, np.inf]], Plurality())


@pytest.mark.parametrize(
    ("votes", "rule", "message"),
    [
        ([[0.5, 1.0]], Plurality(), "Plurality takes classes, integers: .* Median"),
        ([[0, -2]], Plurality(), r"votes\[0, 1\] must satisfy"),
        ([[0, 1]], Weighted([1, 2]), r"weights must hold one number per participant \(1\): got 2"),
        ([[0.5]], Pool(), r"Pool takes an array of shape \(participant, input, class\): got shape \(1, 1\)"),
        ([[[0.5, 1.5]]], Pool(), "probabilities must be within 0..1"),
        ([[[0.5, 0.5]]], Pool(trim=1), "trim must satisfy 2 trim < 1"),
        ([[math.inf]], Median(), "votes must be finite"),
        ([[1], [1, 2]], Plurality(), "unequal rows"),
    ],
)
def test_bad_input(votes: Any, rule: Aggregation, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        aggregate(votes, rule)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Weighted([1, -1]),
            r"got weights\[1\]=-1.0; a participant that is worse than chance counts for 0",
        ),
        (lambda: Plurality(0), "least must satisfy least >= 1"),
        (lambda: Pool("max"), "rule must be 'mean' or 'log': got 'max'"),  # type: ignore[arg-type]
        (lambda: DawidSkene(iterations=0), "iterations >= 1"),
        (lambda: DawidSkene(tolerance=math.nan), "tolerance"),
    ],
    ids=["weight below 0", "least", "pool", "iterations", "tolerance"],
)
def test_bad_settings(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
