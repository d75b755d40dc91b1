"""Plans from votes that were cast: resampled tasks, by all choices in fractions and by simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from folkmoot import deliberate, plan
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.planning.crowd import Observed
from support.oracles import planning as oracle

# Five vote on four tasks; they err together on the last two.
VOTES = np.array([[1, 0, 0, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]])
TRUTH = np.array([1, 0, 1, 1])


def by_all_choices(honest: int) -> list[list[Fraction]]:
    """A law for each task, over every choice of honest participants among the five; or every draw of more."""
    laws = []
    for task in range(4):
        right = [int(vote == TRUTH[task]) for vote in VOTES[:, task]]
        draws = list(combinations(right, honest) if honest <= 5 else product(right, repeat=honest))
        laws.append([Fraction(sum(sum(d) == b for d in draws), len(draws)) for b in range(honest + 1)])
    return laws


@pytest.mark.parametrize(("n", "f"), [(5, 0), (5, 1), (4, 1), (6, 0)])
def test_settings_from_votes_are_the_mean_over_tasks_in_fractions(n: int, f: int) -> None:
    found = plan(n, votes=VOTES, truth=TRUTH, byzantine=f, rounds=5, protocol="slush")
    laws = by_all_choices(n - f)
    for each in found.settings:
        tasks = [
            oracle.judged(oracle.after_rounds(n, each.k, each.alpha, f, law, each.rounds)) for law in laws
        ]
        right = [float(task.accuracy) for task in tasks]
        assert each.accuracy == pytest.approx(np.mean(right), abs=1e-12)
        assert each.in_time == pytest.approx(float(sum(task.in_time for task in tasks) / 4), abs=1e-12)
        # What resampling the four tasks would spread: the bootstrap's error of a mean.
        assert each.standard_error == pytest.approx(np.std(right, ddof=1) / 2, abs=1e-9)
        assert not each.exact
    assert found.mean_participant == pytest.approx(np.mean(VOTES == TRUTH))


def test_models_that_err_together_are_worse_than_independent_ones() -> None:
    """On half of the tasks all are right, on the others four of ten: mean 0.7, majority right on half."""
    rng = np.random.default_rng(0)
    easy = np.ones((21, 300), dtype=np.int64)
    hard = (rng.random((21, 300)) < 0.4).astype(np.int64)
    votes = np.concatenate((easy, hard), axis=1)
    real = plan(votes=votes, truth=np.ones(600, dtype=np.int64), protocol="slush")
    independent = plan(21, real.mean_participant, protocol="slush")
    assert independent.settings[0].accuracy > 0.95
    assert real.settings[0].accuracy < 0.75
    target = plan(votes=votes, truth=np.ones(600, dtype=np.int64), target=0.95, protocol="slush").target
    assert target is not None
    assert target.n is None
    assert "no number of participants reaches 0.95" in target.reason


def test_votes_on_three_labels_are_simulated() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 200)
    votes = np.where(rng.random((9, 200)) < 0.6, truth, rng.integers(0, 3, (9, 200)))
    first = plan(votes=votes, truth=truth, byzantine=1, protocol="slush").settings[0]
    accuracies = []
    for liar in range(9):  # each of the nine as the liar
        outcome = deliberate(
            votes, first.rule, adversaries={liar: PerfectlyMalicious()}, truth=truth, rounds=first.rounds
        )
        accuracies.append(outcome.accuracy(truth))
    assert first.standard_error is not None
    assert abs(np.mean(accuracies) - first.accuracy) < 4 * first.standard_error


def test_sparse_votes_are_drawn_from_those_who_voted() -> None:
    votes = np.full((30, 60), -1)
    rng = np.random.default_rng(2)
    for task in range(60):
        votes[rng.choice(30, 5, replace=False), task] = rng.random(5) < 0.8
    found = plan(votes=votes, truth=np.ones(60, dtype=np.int64), protocol="slush")
    assert found.n == 5  # as many as vote on a task
    majority = np.mean((votes == 1).sum(axis=0) > (votes == 0).sum(axis=0))
    assert found.majority == pytest.approx(majority)
    assert "again and again" not in str(found)
    assert "again and again" in str(plan(9, votes=votes, truth=np.ones(60, dtype=np.int64), protocol="slush"))


def test_tasks_without_truth_or_votes_are_left_out() -> None:
    votes = np.column_stack((VOTES, np.zeros((5, 1), dtype=np.int64), np.full((5, 1), -1)))
    truth = np.append(TRUTH, [-1, 1])
    ours, whole = (
        plan(votes=votes, truth=truth, protocol="slush"),
        plan(votes=VOTES, truth=TRUTH, protocol="slush"),
    )
    assert ours == whole


def test_without_truth_labels_are_as_likely_as_the_votes_make_them() -> None:
    """Five of five and one more spread over both labels: (5 + 1/2) / 6."""
    votes = np.ones((5, 3), dtype=np.int64)
    found = plan(votes=votes, protocol="slush", labels=2)
    assert found.settings[0].accuracy == pytest.approx(5.5 / 6)
    assert "no right labels are given" in str(found)


def test_soft_truth_in_what_is_drawn() -> None:
    crowd = Observed.checked(np.ones((5, 2), dtype=np.int64), None, 3)
    drawn = crowd.draw(3, 6000, np.random.default_rng(0))
    shares = np.bincount(drawn.truth, minlength=3) / drawn.truth.size
    assert shares == pytest.approx([1 / 18, 16 / 18, 1 / 18], abs=0.02)
