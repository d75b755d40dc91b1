from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.baselines import DawidSkene, dawid_skene, majority
from folkmoot.votes import Votes
from support.strategies import Renamed, renamed_tables, vote_tables

SMOOTHING = 0.01  # as the docstring states

Reals = npt.NDArray[np.float64]
Table = tuple[list[list[float]], list[list[list[float]]], list[float]]


def textbook(votes: Votes, classes: int, rounds: int) -> Table:
    """(posterior, confusion, prior) by formulas 2.3 to 2.5 of the 1979 paper, with loops and products."""
    n, inputs = votes.shape
    table = votes.tolist()
    colours = range(classes)
    heard = [i for i in range(inputs) if any(table[k][i] >= 0 for k in range(n))]
    truth = [[math.nan] * classes for _ in range(inputs)]
    for i in heard:
        cast = [table[k][i] for k in range(n) if table[k][i] >= 0]
        truth[i] = [cast.count(j) / len(cast) for j in colours]
    for _ in range(rounds):
        prior = [
            (SMOOTHING + sum(truth[i][j] for i in heard)) / (classes * SMOOTHING + len(heard))
            for j in colours
        ]
        confusion = []
        for k in range(n):
            matrix = []
            for j in colours:
                row = [SMOOTHING + sum(truth[i][j] for i in heard if table[k][i] == m) for m in colours]
                matrix.append([cell / sum(row) for cell in row])
            confusion.append(matrix)
        for i in heard:
            chance = []
            for j in colours:
                product = prior[j]
                for k in range(n):
                    if table[k][i] >= 0:
                        product *= confusion[k][j][table[k][i]]
                chance.append(product)
            truth[i] = [c / sum(chance) for c in chance]
    for i in set(range(inputs)) - set(heard):
        truth[i] = prior
    return truth, confusion, prior


@given(vote_tables(), st.integers(1, 12))
def test_equals_the_textbook(table: tuple[Votes, int], rounds: int) -> None:
    votes, classes = table
    ours = dawid_skene(votes, classes, iterations=rounds, tolerance=0)
    posterior, confusion, prior = textbook(votes, classes, rounds)
    np.testing.assert_allclose(ours.posterior, posterior, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.confusion, confusion, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.prior, prior, rtol=0, atol=1e-8)
    assert ours.iterations <= rounds
    for k, row in enumerate(votes.tolist()):
        right = [posterior[i][vote] for i, vote in enumerate(row) if vote >= 0]
        share = sum(right) / len(right) if right else math.nan
        assert ours.accuracies[k] == pytest.approx(share, abs=1e-8, nan_ok=True)


@given(vote_tables(most_participants=6))
def test_labels_are_the_unique_likeliest_colours(table: tuple[Votes, int]) -> None:
    votes, classes = table
    answer = dawid_skene(votes, classes)
    for i, (label, chances) in enumerate(
        zip(answer.decision.tolist(), answer.posterior.tolist(), strict=True)
    ):
        best = [colour for colour, chance in enumerate(chances) if chance > max(chances) - 1e-9]
        lost = len(best) > 1 or (votes[:, i] == -1).all()
        assert label == (-1 if lost else best[0])


def objective(votes: Votes, found: DawidSkene) -> float:
    """What EM climbs: log-likelihood of the votes plus the log density of the Dirichlet priors."""
    total = SMOOTHING * (np.log(found.prior).sum() + np.log(found.confusion).sum())
    for column in votes.T.tolist():
        joint = found.prior.copy()
        for k, vote in enumerate(column):
            if vote >= 0:
                joint *= found.confusion[k, :, vote]
        total += math.log(joint.sum())
    return float(total)


@given(vote_tables())
@settings(max_examples=40)
def test_every_iteration_climbs(table: tuple[Votes, int]) -> None:
    votes, classes = table
    heights = [objective(votes, dawid_skene(votes, classes, iterations=m, tolerance=0)) for m in range(1, 9)]
    assert all(after >= before - 1e-9 for before, after in itertools.pairwise(heights))


@given(renamed_tables())
def test_names_of_participants_inputs_and_colours_do_not_matter(table: Renamed) -> None:
    votes, classes, who, where, name = table
    renamed = table.colours
    base = dawid_skene(votes, classes)

    shuffled = dawid_skene(votes[who], classes)
    assert shuffled.decision.tolist() == base.decision.tolist()
    np.testing.assert_allclose(shuffled.confusion, base.confusion[who], atol=1e-6)
    np.testing.assert_allclose(shuffled.accuracies, base.accuracies[who], atol=1e-6)

    shuffled = dawid_skene(votes[:, where], classes)
    assert shuffled.decision.tolist() == base.decision[where].tolist()
    np.testing.assert_allclose(shuffled.posterior, base.posterior[where], atol=1e-6)

    shuffled = dawid_skene(renamed[votes], classes)
    assert shuffled.decision.tolist() == renamed[base.decision].tolist()
    np.testing.assert_allclose(shuffled.posterior[:, name], base.posterior, atol=1e-6)
    np.testing.assert_allclose(shuffled.prior[name], base.prior, atol=1e-6)
    np.testing.assert_allclose(shuffled.confusion[:, name][:, :, name], base.confusion, atol=1e-6)


def draw_votes(rng: np.random.Generator, truth: npt.NDArray[np.int64], confusion: Reals) -> Votes:
    """Participant k votes l on an input of colour j with the chance confusion[k, j, l]."""
    below = confusion.cumsum(axis=2)[:, truth]
    return np.asarray((rng.random((*below.shape[:2], 1)) > below[..., :-1]).sum(axis=2), dtype=np.int64)


def test_recovers_known_confusion_matrices() -> None:
    rng = np.random.default_rng(1979)
    n, inputs = 25, 4000
    prior = np.array([0.6, 0.3, 0.1])
    truth = rng.choice(3, inputs, p=prior)
    skill = rng.uniform(0.45, 0.85, (n, 1, 1))
    confusion = skill * np.eye(3) + (1 - skill) * rng.dirichlet([1.0] * 3, (n, 3))
    votes = draw_votes(rng, truth, confusion)
    votes[rng.random(votes.shape) < 0.2] = -1

    found = dawid_skene(votes, 3)

    assert found.converged
    # Five standard errors of a share, were the truth known: about 0.8 * n_j of the votes are on class j.
    seen = 0.8 * np.bincount(truth)
    assert (np.abs(found.confusion - confusion) <= 5 * np.sqrt(0.25 / seen)[:, None]).all()
    assert (np.abs(found.prior - prior) <= 5 * np.sqrt(0.25 / inputs)).all()
    right = np.where(votes >= 0, votes == truth, np.nan)
    assert np.abs(found.accuracies - np.nanmean(right, axis=1)).max() <= 0.01
    # No rule beats Bayes with the true matrices; estimated ones may lose half a percent to it.
    logs = np.log(prior) + sum(
        np.where(row[:, None] >= 0, np.log(matrix).T[row], 0.0)
        for row, matrix in zip(votes, confusion, strict=True)
    )
    assert np.mean(found.decision == truth) >= np.mean(logs.argmax(axis=1) == truth) - 0.005


def test_sees_through_participants_who_always_say_the_same() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 1000)
    expert, parrot = [[0.9, 0.1], [0.1, 0.9]], [[1.0, 0.0], [1.0, 0.0]]
    votes = draw_votes(rng, truth, np.array([expert] * 5 + [parrot] * 6))
    assert (majority(votes, 2) == 0).all()
    found = dawid_skene(votes, 2)
    best = majority(votes[:5], 2)  # what one does who knows who the experts are
    assert np.mean(found.decision == best) >= 0.99
    assert found.confusion[5:, 1, 0].min() > 0.99


def test_thousands_of_participants_do_not_underflow() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 50)
    votes = np.where(rng.random((4000, 50)) < 0.6, truth, 1 - truth)
    found = dawid_skene(votes, 2)
    assert found.decision.tolist() == truth.tolist()
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1.0, atol=1e-9)


def test_without_votes_there_is_no_answer() -> None:
    found = dawid_skene([[0, 1, -1, 0], [0, 1, -1, 0], [-1, -1, -1, -1]], 2)
    assert found.decision.tolist() == [0, 1, -1, 0]
    assert found.posterior[2].tolist() == found.prior.tolist()
    assert math.isnan(found.accuracies[2])
    assert found.accuracies[:2] == pytest.approx([1.0, 1.0], abs=1e-3)
    assert found.confusion[2].tolist() == [[0.5, 0.5], [0.5, 0.5]]

    silent = dawid_skene([[-1, -1]], 3)
    assert silent.decision.tolist() == [-1, -1]
    assert silent.posterior == pytest.approx(np.full((2, 3), 1 / 3))
    assert silent.converged


def test_a_tie_stays_a_tie() -> None:
    found = dawid_skene([[0, 1, 0, 1], [1, 0, 0, 1]], 2)
    assert found.decision.tolist() == [-1, -1, 0, 1]
    # Swapping the colours, the first two participants and the last two inputs gives the same table, so
    # the first input is a tie. It is an unstable one: rounding errors alone would end at 0.99995.
    found = dawid_skene([[0, 1, 1], [1, 0, 0], [-1, 1, 0]], 2, iterations=1000)
    assert found.decision[0] == -1
    assert found.posterior[0] == pytest.approx([0.5, 0.5], abs=1e-9)


def test_says_whether_it_converged() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 2, 200)
    votes = np.where(rng.random((9, 200)) < 0.7, truth, 1 - truth)
    short = dawid_skene(votes, 2, iterations=2)
    assert (short.iterations, short.converged) == (2, False)
    long = dawid_skene(votes, 2, iterations=1000)
    assert long.converged
    assert 2 < long.iterations < 1000
    again = dawid_skene(votes, 2, iterations=long.iterations + 1, tolerance=0)
    assert np.abs(again.posterior - long.posterior).max() <= 1e-6


@pytest.mark.parametrize(
    ("votes", "options", "message"),
    [
        ([[0, 3]], {}, r"votes\[0, 1\] must satisfy -1 <= class < 2: got 3"),
        ([[0, 1]], {"iterations": 0}, "iterations >= 1: got iterations=0"),
        ([[0, 1]], {"tolerance": -1e-3}, "0 <= tolerance <= 1: got tolerance=-0.001"),
        ([[0, 1]], {"tolerance": math.nan}, "got tolerance=nan"),
    ],
)
def test_bad_input(votes: list[list[int]], options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dawid_skene(votes, 2, **options)  # type: ignore[arg-type]
