"""The formulas, where the frequencies are exactly those of the model, and their errors by simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from folkmoot.trust import Anchor, pack_votes, peer_accuracies, peer_confusions
from folkmoot.votes import Votes

Floats = npt.NDArray[np.float64]
# Spread over 400 repetitions is known to 3.5%; 4.5 standard errors of that, and 2% for the delta method.
REPETITIONS, WITHIN = 400, 0.18


def exact_votes(prior: list[Fraction], mine: list[list[Fraction]], theirs: list[list[Fraction]]) -> Votes:
    """Votes of two in which every combination is as frequent as independence given the truth says."""
    colours = range(len(prior))
    chance = {
        (a, b): sum(prior[c] * mine[c][a] * theirs[c][b] for c in colours) for a in colours for b in colours
    }
    size = 1
    for value in chance.values():
        size = int(np.lcm(size, value.denominator))
    pairs = [pair for pair, value in chance.items() for _ in range(int(value * size))]
    return np.array(pairs).T


def coin(p: Fraction, colours: int) -> list[list[Fraction]]:
    rest = (1 - p) / (colours - 1)
    return [[p if a == c else rest for a in range(colours)] for c in range(colours)]


@pytest.mark.parametrize(
    "theirs", [Fraction(9, 10), Fraction(1, 2), Fraction(1, 5), Fraction(0), Fraction(1)]
)
@pytest.mark.parametrize("colours", [2, 3])
def test_accuracy_is_exact_where_the_model_is(theirs: Fraction, colours: int) -> None:
    anchor = Anchor.of_counts(5, 8, 2) if colours == 2 else Anchor.of_counts(5, 7, 3)
    own = Fraction(6, 10)
    assert anchor.accuracy == pytest.approx(float(own))
    prior = [Fraction(2, 3), *[Fraction(1, 3) / (colours - 1)] * (colours - 1)]
    votes = exact_votes(prior, coin(own, colours), coin(theirs, colours))
    found = peer_accuracies(pack_votes(votes, colours), 0, anchor)
    assert found.value[1] == pytest.approx(float(theirs), abs=1e-12)
    assert found.value[0] == anchor.accuracy
    assert found.standard_error[0] == anchor.standard_error


def test_the_error_is_that_of_the_issue_for_a_peer_near_one_half() -> None:
    own = Anchor.of_counts(799_999, 999_998)  # 0.8, and sure of it
    votes = exact_votes([Fraction(1, 2)] * 2, coin(Fraction(4, 5), 2), coin(Fraction(1, 2), 2))
    found = peer_accuracies(pack_votes(votes), 0, own)
    assert found.standard_error[1] == pytest.approx(0.5 / (np.sqrt(votes.shape[1]) * 0.6), rel=1e-3)
    assert found.sampling_error[1] == pytest.approx(found.standard_error[1], rel=1e-3)


def test_confusions_are_exact_where_the_model_is() -> None:
    anchor = Anchor.of_confusion([[3, 1], [0, 4]])
    mine = [[Fraction(23, 30), Fraction(7, 30)], [Fraction(2, 30), Fraction(28, 30)]]
    np.testing.assert_allclose(anchor.confusion, np.array(mine, dtype=float))
    theirs = [[Fraction(3, 10), Fraction(7, 10)], [Fraction(1, 10), Fraction(9, 10)]]  # hardly looks
    votes = exact_votes([Fraction(3, 4), Fraction(1, 4)], mine, theirs)
    found = peer_confusions(pack_votes(votes), 0, anchor)
    np.testing.assert_allclose(found.value[1], np.array(theirs, dtype=float), atol=1e-12)
    np.testing.assert_allclose(found.value[0], anchor.confusion)


def test_confusions_of_three_colours_and_of_a_constant_voter() -> None:
    anchor = Anchor.of_counts(5, 7, 3)
    constant = [[Fraction(0), Fraction(0), Fraction(1)]] * 3
    votes = exact_votes([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], coin(Fraction(6, 10), 3), constant)
    found = peer_confusions(pack_votes(votes, 3), 0, anchor)
    np.testing.assert_allclose(found.value[1], np.array(constant, dtype=float), atol=1e-12)


def test_missing_votes_are_left_out() -> None:
    votes = exact_votes([Fraction(1, 2)] * 2, coin(Fraction(3, 5), 2), coin(Fraction(4, 5), 2))
    gaps = np.full((2, 7), -1)
    gaps[0, ::2] = 1  # only one of the two votes
    whole = np.concatenate([votes, gaps, np.full((2, 3), -1)], axis=1)
    silent = np.concatenate([whole, np.full((1, whole.shape[1]), -1)])
    anchor = Anchor.of_counts(5, 8)
    found = peer_accuracies(pack_votes(silent, 2), 0, anchor)
    full = peer_accuracies(pack_votes(votes, 2), 0, anchor)
    assert found.value[1] == pytest.approx(0.8, abs=1e-12)
    assert found.standard_error[1] == pytest.approx(full.standard_error[1])
    assert np.isnan(found.value[2])
    confusions = peer_confusions(pack_votes(silent, 2), 0, anchor).value
    np.testing.assert_allclose(confusions[1], [[0.8, 0.2], [0.2, 0.8]])
    assert np.isnan(confusions[2]).all()


def draw(rng: np.random.Generator, truth: npt.NDArray[np.int64], confusion: Floats) -> npt.NDArray[np.int64]:
    return np.asarray((rng.random(truth.size)[:, None] > confusion[truth].cumsum(axis=1)).sum(axis=1))


@pytest.mark.parametrize("uncertain", [False, True])
def test_the_spread_of_accuracies_is_the_standard_error(uncertain: bool) -> None:
    rng = np.random.default_rng(1)
    anchor = Anchor.of_counts(299, 398)  # 0.75
    inputs, theirs, values, errors = 1000, 0.9, [], []
    for _ in range(REPETITIONS):
        own = rng.beta(300, 100) if uncertain else 0.75
        right = rng.random((2, inputs)) < np.array([[own], [theirs]])
        found = peer_accuracies(pack_votes(right.astype(np.int64)), 0, anchor)
        values.append(found.value[1])
        errors.append(found.standard_error[1] if uncertain else found.sampling_error[1])
    assert np.mean(values) == pytest.approx(theirs, abs=4.5 * np.std(values) / np.sqrt(REPETITIONS))
    assert np.std(values) == pytest.approx(np.mean(errors), rel=WITHIN)


@pytest.mark.parametrize("uncertain", [False, True])
def test_the_spread_of_confusions_is_the_standard_error(uncertain: bool) -> None:
    rng = np.random.default_rng(2)
    anchor = Anchor.of_confusion([[320, 60, 20], [20, 340, 40], [60, 40, 300]])
    theirs = np.array([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.1, 0.7]])
    values, errors = [], []
    for _ in range(REPETITIONS):
        pseudo = anchor.pseudo_counts
        mine = np.stack([rng.dirichlet(row) for row in pseudo]) if uncertain else anchor.confusion
        truth = rng.choice(3, 3000, p=[0.5, 0.3, 0.2])
        votes = np.stack([draw(rng, truth, mine), draw(rng, truth, theirs)])
        found = peer_confusions(pack_votes(votes, 3), 0, anchor)
        values.append(found.value[1])
        errors.append(found.standard_error[1] if uncertain else found.sampling_error[1])
    spread = np.std(values, axis=0)
    np.testing.assert_allclose(spread, np.mean(errors, axis=0), rtol=WITHIN)
    assert (np.abs(np.mean(values, axis=0) - theirs) < 4.5 * spread / np.sqrt(REPETITIONS) + 0.01).all()


def test_what_the_anchor_adds_is_the_variance_of_a_dirichlet() -> None:
    # Rows of two are Beta, and the sensitivity is a smooth function of them: slopes by finite differences.
    anchor = Anchor.of_confusion([[1, 1], [0, 2]])
    mine = anchor.confusion
    mass = np.array([0.5, 0.5])[:, None] * np.array([[0.9, 0.1], [0.2, 0.8]])
    joint = mine.T @ mass
    votes = np.array([(i, j) for i in (0, 1) for j in (0, 1) for _ in range(round(joint[i, j] * 9600))]).T

    def sensitivity(own: Floats) -> float:
        solved = np.linalg.solve(own.T, joint)
        return float(solved[1, 1] / solved[1].sum())

    step, variance = 1e-6, 0.0
    for row in (0, 1):
        moved = mine.copy()
        moved[row] += [step, -step]
        slope = (sensitivity(moved) - sensitivity(mine)) / step
        a, b = anchor.pseudo_counts[row]
        variance += slope**2 * a * b / ((a + b) ** 2 * (a + b + 1))
    found = peer_confusions(pack_votes(votes), 0, anchor)
    both = found.standard_error[1, 1, 1] ** 2 - found.sampling_error[1, 1, 1] ** 2
    assert both == pytest.approx(variance, rel=1e-3)


def test_an_anchor_at_chance_tells_nothing() -> None:
    votes = np.array([[0, 1, 1], [0, 1, 0]])
    with pytest.raises(ValueError, match="must differ from chance"):
        peer_accuracies(pack_votes(votes), 0, Anchor.of_counts(3, 6))
