"""Sparse crowds are answered, about as well as by a majority that breaks its ties by lot."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot import Slush, Snowball, compare
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.comparison import OpenInputsWarning
from support.crowds import sparse_crowd
from support.oracles.ties import fair_accuracy

# workers, tasks, fewest and most votes a task, classes, how far from the majority at the most
CROWDS = {
    "3 of 176": (176, 2000, 3, 3, 2, 0.01),
    "10 of 109": (109, 2000, 10, 10, 2, 0.01),
    "3 to 10 of 109": (109, 2000, 3, 10, 2, 0.01),
    "5 of 80, four labels": (80, 2000, 5, 5, 4, 0.04),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("crowd", CROWDS)
def test_level_with_the_majority(crowd: str, seed: int) -> None:
    workers, tasks, least, most, classes, margin = CROWDS[crowd]
    votes, truth = sparse_crowd(workers, tasks, least, most, classes=classes, seed=seed)
    # 2, 2 and 1 votes do not give three like answers of four, so with four labels fewer are asked.
    slush = Slush(10, 6) if classes == 2 else Slush(3, 2)
    report = compare(votes, slush, truth=truth, rules=["majority"], seed=seed)
    accuracy = report.accuracy()
    assert accuracy is not None
    assert report.undecided < 0.02 * tasks
    fair = float(fair_accuracy(votes, truth))
    assert report.accuracy("majority") == pytest.approx(fair)
    assert accuracy > fair - margin
    assert report.agreement > 0.98


def test_uncoloured_they_stay_open() -> None:
    votes, truth = sparse_crowd(109, 500, 3, 5)
    for protocol in (Slush(10, 6), Snowball(10, 6, 5)):
        with pytest.warns(OpenInputsWarning, match=r"^500 of 500 inputs stay open: .* \(--missing absent\)$"):
            report = compare(votes, protocol, truth=truth, missing="uncoloured", repeats=1)
        assert report.undecided == 500


def test_a_liar_does_no_harm_where_it_has_no_vote() -> None:
    votes, truth = sparse_crowd(109, 500, 3, 5)
    liars = {i: PerfectlyMalicious() for i in range(30)}
    report = compare(votes, Slush(10, 6), truth=truth, adversaries=liars, repeats=2)
    plain = compare(votes, Slush(10, 6), truth=truth, repeats=2)
    spared = ~(votes[:30] >= 0).any(axis=0)
    assert 50 < spared.sum() < 450
    np.testing.assert_array_equal(report.outcome.decision[:, spared], plain.outcome.decision[:, spared])
    seen = [r.line("majority").decisions for r in (report, plain)]
    assert seen[0] is not None
    assert seen[1] is not None
    np.testing.assert_array_equal(seen[0][:, spared], seen[1][:, spared])
