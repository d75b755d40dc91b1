"""Holdout trust, part by part, against exact integrals, definitions written out and brute force."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.aggregation import kernels
from folkmoot.aggregation.correlated import _linked, groups, residual_correlation
from folkmoot.aggregation.holdout import Holdout
from folkmoot.aggregation.listening import Heard, alike, by_agreement, decide, listen, unlike_inputs
from folkmoot.aggregation.refinement import _iterate, _testimony, informedness, own_correlation
from folkmoot.aggregation.telling_apart import agreements
from folkmoot.arrays import Floats, Ints, Singles


def holdout(right: int, wrong: int, classes: int = 2) -> Holdout:
    """So many rows, half of each class as far as that goes."""
    truth = np.arange(right + wrong) % classes
    return Holdout.of(
        np.where(np.arange(right + wrong) < right, truth, (truth + 1) % classes), truth, classes
    )


def beta_integral(a: int, b: int, low: Fraction) -> Fraction:
    """The integral of t^(a-1) (1-t)^(b-1) from ``low`` to 1, term by term."""
    total = Fraction(0)
    for i in range(b):
        power = a + i
        total += (-1) ** i * math.comb(b - 1, i) * (1 - low**power) / power
    return total


@given(st.integers(0, 12), st.integers(0, 12), st.integers(2, 5))
def test_what_a_holdout_says_is_the_beta_posterior(right: int, wrong: int, classes: int) -> None:
    a, b = right + 1, wrong + classes - 1
    whole = beta_integral(a, b, Fraction(0))
    mean = beta_integral(a + 1, b, Fraction(0)) / whole
    second = beta_integral(a + 2, b, Fraction(0)) / whole
    found = holdout(right, wrong, classes)
    assert found.accuracy == pytest.approx(float(mean))
    assert found.standard_error == pytest.approx(math.sqrt(second - mean**2))
    exact = beta_integral(a, b, Fraction(found.chance)) / whole
    assert found.above_chance == pytest.approx(float(exact), abs=1e-9)


def test_answers_that_know_nothing_are_no_better_than_chance() -> None:
    always_zero = Holdout(np.array([[18, 0], [2, 0]]))  # 90% right
    # 20 answers 0, each beside 19 other rows, of which 18 * 17 + 2 * 18 pairs have the truth 0.
    assert always_zero.chance == pytest.approx((18 * 17 + 2 * 18) / (20 * 19))
    assert always_zero.above_chance < 0.5
    assert Holdout(np.array([[20, 0], [0, 0]])).above_chance == 0  # all right, on rows of one class
    assert Holdout(np.array([[17, 1], [0, 2]])).above_chance > 0.8
    three = Holdout.of(np.array([4, 7, 1, -1]), np.array([4, 7, 1, 1]), 10)  # no two alike
    assert (three.chance, three.right, three.rows) == (0.1, 3, 3)
    few = Holdout(np.array([[3, 1], [0, 4]]))  # accuracy 8/10, two rows of it for each class
    np.testing.assert_allclose(few.confusion, [[4.6 / 6, 1.4 / 6], [0.4 / 6, 5.6 / 6]])


def test_agreement_tells_accuracies_as_the_formula_has_it() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(-1, 3, (4, 400))
    votes[1] = np.where(rng.random(400) < 0.7, votes[0], votes[1])
    mine = holdout(16, 4, 3)
    found = by_agreement(0, Heard(votes, 3), mine)
    p = 17 / 23
    for j in range(1, 4):
        both = [i for i in range(400) if votes[0, i] >= 0 and votes[j, i] >= 0]
        share = sum(votes[0, i] == votes[j, i] for i in both) / len(both)
        value = min(max((2 * share - (1 - p)) / (3 * p - 1), 0), 1)
        error = 2 / (3 * p - 1) * math.sqrt(share * (1 - share) / len(both))
        over = value - 1 / 3
        sure = min(max(1 / 3 + math.copysign(max(abs(over) - 2 * error, 0), over), 0.02), 0.98)
        assert found[j] == pytest.approx(math.log(2 * sure / (1 - sure)), abs=1e-9)


def one_hot(votes: Ints, classes: int) -> Singles:
    return np.asarray(votes[:, None, :] == np.arange(classes)[None, :, None], dtype=np.float32)


def textbook_correlation(votes: Ints, classes: int, bins: list[list[int]]) -> list[list[float]]:
    n = len(votes)
    table = votes.tolist()

    def residual(j: int, k: int) -> float:
        total = 0.0
        for places, label in itertools.product(bins, range(classes)):
            together = sum(table[j][i] == table[k][i] == label for i in places)
            mine = sum(table[j][i] == label for i in places)
            theirs = sum(table[k][i] == label for i in places)
            total += together - mine * theirs / len(places)
        return total

    spread = [residual(j, j) for j in range(n)]
    return [[residual(j, k) / (spread[j] * spread[k]) ** 0.5 for k in range(n)] for j in range(n)]


@pytest.mark.parametrize("classes", [2, 3])
def test_residual_correlation_is_the_textbook_s(classes: int) -> None:
    rng = np.random.default_rng(classes)
    votes = rng.integers(-1, classes, (4, 151))
    score = rng.random((classes, 151))
    if classes == 2:
        order = sorted(range(151), key=lambda i: score[1, i] - score[0, i])
        bins = [[i for place, i in enumerate(order) if place * 3 // 151 == b] for b in range(3)]
    else:  # about fifty of each class: one bin each, two for a class with a hundred
        margin = [sorted(score[:, i])[-1] - sorted(score[:, i])[-2] for i in range(151)]
        bins = []
        for label in range(classes):
            mine = sorted((i for i in range(151) if score[:, i].argmax() == label), key=lambda i: margin[i])
            cuts = max(1, len(mine) // 50)
            bins += [
                [i for place, i in enumerate(mine) if place * cuts // len(mine) == b] for b in range(cuts)
            ]
    found = residual_correlation(one_hot(votes, classes), agreements(votes), score)
    np.testing.assert_allclose(found, textbook_correlation(votes, classes, bins), atol=1e-5)


def naive_linkage(similarity: Floats, least: float) -> set[frozenset[int]]:
    """Means over all pairs of the two groups, from scratch each time."""
    found = [{i} for i in range(len(similarity))]
    while len(found) > 1:
        mean, a, b = max(
            (np.mean([similarity[i, j] for i in a for j in b]), x, y)
            for (x, a), (y, b) in itertools.combinations(enumerate(found), 2)
        )
        if mean < least:
            break
        found = [g for k, g in enumerate(found) if k not in (a, b)] + [found[a] | found[b]]
    return {frozenset(g) for g in found}


@given(st.integers(1, 7), st.floats(-0.5, 0.9), st.integers(0, 10**6))
def test_groups_are_made_by_average_linkage(n: int, least: float, seed: int) -> None:
    raw = np.random.default_rng(seed).uniform(-1, 1, (n, n))
    similarity = (raw + raw.T) / 2
    np.fill_diagonal(similarity, 1.0)
    label = _linked(similarity, least)
    assert {frozenset(np.flatnonzero(label == k).tolist()) for k in label} == naive_linkage(similarity, least)


def test_a_group_shares_its_voice_by_the_design_effect_and_sides_do_not_mix() -> None:
    rng = np.random.default_rng(4)
    inputs = 8000
    story = rng.integers(0, 2, inputs)
    votes = rng.integers(0, 2, (10, inputs))
    votes[:6] = np.where(rng.random((6, inputs)) < 0.6, story, votes[:6])  # pairs of these correlate by 0.36
    votes[9] = votes[8]
    copies = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 8])
    score, side = np.zeros((2, inputs)), np.ones(10, dtype=np.int64)
    label, voice = groups(one_hot(votes, 2), copies, agreements(votes), score, side)
    assert len(set(label[:6].tolist())) == 1
    assert len(set(label.tolist())) == 4
    np.testing.assert_allclose(voice[:6], 1 / (1 + 5 * 0.36), rtol=0.05)
    np.testing.assert_allclose(voice[6:], [1, 1, 0.5, 0.5])
    side[5] = -1
    assert groups(one_hot(votes, 2), copies, agreements(votes), score, side)[0][5] not in label[:5]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_group_that_is_unanimous_when_it_lies_is_believed_otherwise(classes: int) -> None:
    rng = np.random.default_rng(classes)
    inputs = 6000
    truth = rng.integers(0, classes, inputs)

    def witness(accuracy: float) -> Any:
        wrong = (truth + rng.integers(1, classes, inputs)) % classes
        return np.where(rng.random(inputs) < accuracy, truth, wrong)

    lies = rng.random(inputs) < 0.3
    group = np.where(lies, (truth + 1) % classes, witness(0.85))
    ahead = np.stack([witness(0.8), witness(0.75), group])
    level = np.stack([np.full(inputs, 7), np.full(inputs, 7), np.where(lies, 7, 3)])
    start = np.full((classes, inputs), 0.3 / (classes - 1))
    start[ahead[0], np.arange(inputs)] = 0.7
    answer, score = _iterate(start, ahead * 8 + level, 30)
    right = answer.argmax(axis=0) == truth
    assert right[lies].mean() > 0.8
    assert right[~lies].mean() > 0.85
    np.testing.assert_array_equal(score.argmax(axis=0), answer.argmax(axis=0))


def test_informedness_is_youden_s_index_shrunk_by_two_errors() -> None:
    counts = np.array([[[80.0, 20.0], [30.0, 70.0]], [[100.0, 0.0], [100.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
    error = np.sqrt(0.8 * 0.2 / 100 + 0.7 * 0.3 / 100)
    np.testing.assert_allclose(informedness(counts), [0.5 - 2 * error, 0.0, 0.0])


def test_own_correlation_is_pearson_s_for_two_classes() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 2, (4, 500))
    votes[1] = np.where(rng.random(500) < 0.8, votes[0], votes[1])
    votes[3] = 1
    found = own_correlation(0, one_hot(votes, 2).mean(axis=2), agreements(votes), 500)
    exact = np.asarray(np.corrcoef(votes[:3]))[0]
    noise = 2 / np.sqrt(500)
    np.testing.assert_allclose(found[:2], exact[:2] - noise, atol=1e-6)
    assert found[2] == pytest.approx(np.sign(exact[2]) * max(abs(exact[2]) - noise, 0), abs=1e-6)
    assert found[3] == 0


@pytest.mark.parametrize(("agreed", "unlike"), [(72, True), (78, False)])
def test_the_holdout_must_hold_on_the_inputs_by_half(agreed: int, unlike: bool) -> None:
    """16 of 18 right promise .85, of two classes. Half of what is beyond chance is 75.6 of 112 inputs."""
    own = np.arange(112) % 2
    flipped = np.isin(np.arange(112), np.arange(112 - agreed))  # as many of each class
    votes = np.stack([own, np.where(flipped, 1 - own, own), own])  # the last is a copy, and not heard
    weight = np.array([9.0, 1.0, 9.0])
    why = unlike_inputs(0, Heard(votes, 2), holdout(16, 2), weight)
    assert (why is not None) == unlike
    if why is not None:
        assert (
            f"promise that 85% of its votes are right, and the others' answer agrees with {agreed / 112:.0%}"
            in why
        )


def test_of_unlike_inputs_all_count_alike_but_those_that_contradict() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 400)
    votes = np.where(rng.random((7, 400)) < 0.75, truth, 1 - truth)
    votes[4:6], votes[6] = votes[3], 1 - truth
    assert alike(0, Heard(votes, 2)) == pytest.approx([1, 1, 1, 1 / 3, 1 / 3, 1 / 3, 0])


def test_sixty_copies_of_a_lie_are_one_voice() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 900)
    votes = np.where(rng.random((70, 900)) < 0.75, truth, 1 - truth)
    votes[10:] = 1 - truth
    weight = listen(0, Heard(votes, 2), holdout(32, 8))
    assert not isinstance(weight, str)
    assert (decide(votes, weight, 2) == truth).mean() > 0.9


def test_why_it_cannot_tell_is_said() -> None:
    votes = np.random.default_rng(2).integers(0, 2, (5, 200))
    assert "does not show it better than chance" in str(listen(0, Heard(votes, 2), holdout(5, 5)))
    few = Heard(votes[:, :49], 2)
    assert listen(0, few, holdout(9, 1)) == "trust needs at least 50 inputs on which it voted: got 49"
    sparse = np.where(np.arange(200) // 10 % 5 == np.arange(5)[:, None], votes, -1)
    sparse[0, :60] = 1
    why = listen(0, Heard(sparse, 2), holdout(9, 1))
    assert why == "trust needs 20 inputs on which it and most others voted: the median is 10"
    assert "nobody agrees or disagrees" in str(listen(0, Heard(votes, 2), holdout(30, 2)))


def test_what_groups_say_is_counted_by_hand() -> None:
    """Two groups, of one and of three; one input has no vote of the first."""
    votes = np.array([[1, 0, -1, 2], [0, 0, 1, 2], [0, 1, 1, -1], [0, 2, 2, -1]])
    code = _testimony(votes, np.array([0, 1, 2, 3]), np.array([7, 9, 9, 9]), 3)
    # 8 degrees: all of three is 7; two of three is (3 * 2 - 3) / (2 * 3) = half, which is 4; one is 0.
    assert code.tolist() == [[8 + 7, 7, 0, 16 + 7], [7, 0, 8 + 4, 16]]
    answer = np.array([[0.5, 0.25, 0.0, 0.25], [0.5, 0.5, 0.75, 0.25], [0.0, 0.25, 0.25, 0.5]])
    chances = np.zeros((2, 24))
    chances[0, [15, 7, 0, 23]] = 0.5, 0.25, 0.0, 0.5
    chances[1, [7, 0, 12, 16]] = 0.5, 0.25, 0.75, 0.5
    np.testing.assert_array_equal(kernels.believed(answer, code, 8), chances)
    said = np.arange(48.0).reshape(2, 24)
    expected = [[24 + 7, 7 + 24, 0, 0], [15, 0, 24 + 12, 0], [0, 0, 0, 23 + 24 + 16]]
    np.testing.assert_array_equal(kernels.spoken(said, code, 3, 8), expected)
    np.testing.assert_array_equal(
        kernels.tally(votes, np.array([1.0, 2.0, 4.0, 0.0]), 3), [[6, 3, 0, 0], [1, 4, 6, 0], [0, 0, 0, 3]]
    )
