"""Independent votes against closed forms, brute force over pairs, and scikit-learn's kappa."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from folkmoot.arrays import Floats, Ints
from folkmoot.comparing.independence import Independence, few, find_independence
from folkmoot.votes import NO_VOTE


def found(votes: Ints, truth: Ints | None = None) -> Independence:
    names = [f"p{i}" for i in range(len(votes))]
    answer = np.array([np.bincount(column[column >= 0], minlength=9).argmax() for column in votes.T])
    return find_independence(votes, truth, answer, names)


def crowd(seed: int, participants: int, inputs: int, classes: int) -> tuple[Ints, Ints]:
    """Votes whose errors have something in common: hard inputs."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, inputs)
    hard = rng.random(inputs) < 0.3
    right = rng.random((participants, inputs)) < np.where(hard, 0.4, 0.9)
    wrong = (truth + rng.integers(1, classes, (participants, inputs))) % classes
    return np.where(right, truth, wrong), truth


@pytest.mark.parametrize("seed", range(3))
def test_independent_votes_are_what_the_variance_of_the_mean_error_says(seed: int) -> None:
    votes, truth = crowd(seed, 8, 400, 4)
    errors = (votes != truth).astype(float)
    by_variance = errors.var(axis=1).mean() / errors.mean(axis=0).var()
    assert found(votes, truth).votes == pytest.approx(by_variance)


def test_equal_participants_are_one_vote() -> None:
    votes, truth = crowd(0, 4, 400, 3)
    alike = np.repeat(votes[:1], 5, axis=0)
    one = found(alike, truth)
    assert (one.votes, one.correlation) == pytest.approx((1, 1))
    assert one.groups == (("p0", "p1", "p2", "p3", "p4"),)
    # Six copies among ten that err independently: n / (1 + (n - 1) rho), rho = 30 of 90 pairs.
    rng = np.random.default_rng(5)
    own = np.where(rng.random((10, 200_000)) < 0.7, 1, 0)
    own[4:] = own[4]
    assert found(own, np.ones(200_000, dtype=np.int64)).votes == pytest.approx(10 / (1 + 9 / 3), rel=0.03)


def test_missing_votes_are_left_out_pair_by_pair() -> None:
    votes, truth = crowd(1, 6, 300, 3)
    votes[np.random.default_rng(2).random(votes.shape) < 0.4] = NO_VOTE
    covariances, variances = [], []
    for i, j in itertools.combinations(range(6), 2):
        both = (votes[i] != NO_VOTE) & (votes[j] != NO_VOTE)
        a, b = ((votes[each] != truth)[both].astype(float) for each in (i, j))
        covariances.append(np.cov(a, b, ddof=0)[0, 1])
        variances.append((a.var() + b.var()) / 2)
    rho = np.mean(covariances) / np.mean(variances)
    told = found(votes, truth)
    assert told.correlation == pytest.approx(rho)
    assert told.votes == pytest.approx(min(6, 6 / (1 + 5 * rho)))


def test_without_truth_it_is_cohens_kappa_and_says_at_least() -> None:
    votes, _ = crowd(3, 2, 500, 4)
    told = found(votes)
    assert told.correlation == pytest.approx(cohen_kappa_score(*votes))
    assert told.in_words() == [
        f"2 participants, worth at least {told.votes:.1f} independent votes "
        "(by their agreement, as the truth is not known)"
    ]


def test_without_truth_it_is_a_lower_bound() -> None:
    for seed in range(5):
        votes, truth = crowd(seed, 7, 600, 3)
        bound, true = found(votes).votes, found(votes, truth).votes
        assert bound is not None
        assert true is not None
        assert bound <= true


def test_groups_have_the_same_wrong_answers_on_half_of_the_inputs_on_which_either_is_wrong() -> None:
    rng = np.random.default_rng(7)
    votes, truth = crowd(4, 9, 500, 5)
    votes[3] = np.where(rng.random(500) < 0.9, votes[2], votes[3])
    votes[8] = np.where(rng.random(500) < 0.9, votes[7], votes[8])
    votes[rng.random(votes.shape) < 0.1] = NO_VOTE
    together = set()
    for i, j in itertools.combinations(range(9), 2):
        both = (votes[i] >= 0) & (votes[j] >= 0)
        either = both & ((votes[i] != truth) | (votes[j] != truth))
        same = either & (votes[i] == votes[j])
        if 2 * same.sum() >= either.sum():
            together.add((f"p{i}", f"p{j}"))
    assert together == {("p2", "p3"), ("p7", "p8")}
    assert set(found(votes, truth).groups) == together


def test_numbers_are_compared_by_their_errors() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=300)
    common = rng.normal(size=300)
    values: Floats = truth + common + rng.normal(size=(5, 300))
    errors = values - truth
    told = find_independence(values, truth, values.mean(axis=0), list("abcde"))
    assert told.votes == pytest.approx(errors.var(axis=1).mean() / errors.mean(axis=0).var())
    with_outputs = find_independence(
        values[:, :, None], truth[:, None], values.mean(axis=0)[:, None], list("abcde")
    )
    assert with_outputs.votes == pytest.approx(told.votes)


def test_nothing_is_told_where_nothing_can_be() -> None:
    ones = np.ones((4, 50), dtype=np.int64)
    assert found(ones, ones[0]).votes is None  # nobody errs
    assert found(ones).votes is None
    votes, truth = crowd(0, 5, 10, 3)
    assert found(votes, truth).votes is None  # ten inputs
    assert found(votes[:1], truth).in_words() == []


def test_many_participants_and_classes_are_sampled() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 5000, (2100, 30))
    told = found(np.where(rng.random(votes.shape) < 0.5, 3, votes), np.full(30, 3))
    assert told.participants == 2100
    assert told.votes is not None


def test_few_names() -> None:
    assert few(["a"]) == "a"
    assert few(["a", "b", "c", "d"]) == "a, b, c and d"
    assert few(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
